"""Every expression that GitLab has judged comes out as it did there."""

from __future__ import annotations

import pytest

from gpu_pipeline.rules import Read, RuleSyntaxError, evaluate, explain_if
from tests.rules.cases import IfCase, if_cases


@pytest.mark.parametrize("case", [pytest.param(case, id=case["if"]) for case in if_cases()])
def test_agrees_with_gitlab(case: IfCase) -> None:
    expression, variables, expected = case["if"], case["vars"], case["expect"]
    if expected == "error":
        with pytest.raises(RuleSyntaxError):
            evaluate(expression, variables)
    else:
        assert evaluate(expression, variables) is expected, case["why"]
        assert explain_if(expression, variables).value is expected


def test_reads_are_in_order_of_appearance_and_include_skipped_parts() -> None:
    evaluation = explain_if('$B == "1" || $A && $B || $C', {"A": "x", "B": "1"})
    assert evaluation.value
    assert evaluation.reads == (
        Read(name="B", value="1"),
        Read(name="A", value="x"),
        Read(name="C", value=None),
    )


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param('$A "x" ==', True, id="postfix"),
        pytest.param('== $A "x"', True, id="prefix"),
        pytest.param("$A ()", True, id="empty parentheses disappear"),
        pytest.param('$A != !$A == "x"', False, id="comparisons go from left to right"),
        pytest.param("nulltrue ==", False, id="words need no blank between them"),
        pytest.param("$[[ inputs.size ]]", False, id="an input without a value is null"),
        pytest.param("$[[ inputs.size ]] == null", True, id="an input equals null"),
        pytest.param("/ab/", True, id="a regex alone is true"),
        pytest.param("/ab/ =~ /Untrusted/", True, id="a regex as a text is Ruby's to_s"),
        pytest.param("!/ab/", False, id="a regex is present"),
        pytest.param("$A == /ab/", False, id="a text never equals a regex"),
        pytest.param('$A =~ ($A == "y")', False, id="false as a pattern"),
        pytest.param("$A !~ false", True, id="not matching false"),
        pytest.param("/ab/i == /ab/", False, id="flags are part of a regex's source"),
        pytest.param("$A =~ /ab\n\\/x+/", True, id="one line of a literal is enough"),
        pytest.param("/ab//", True, id="a slash may precede the last one"),
    ],
)
def test_corners_of_gitlabs_code(expression: str, expected: bool) -> None:
    assert evaluate(expression, {"A": "x"}) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('true == "true"', True),
        ('"false" == false', True),
        ('true == "false"', False),
        ('true != "true"', False),
        ('($A == "x") == "true"', True),
        ('$U == "x" == "false"', True),
        ("$U == false", False),
        ('true == "TRUE"', False),
    ],
)
def test_a_boolean_and_a_text_are_compared_as_texts(expression: str, expected: bool) -> None:
    assert evaluate(expression, {"A": "x"}) is expected


@pytest.mark.parametrize("expression", ["$A =~ true", "$A !~ !$A", '/ab/ == "ab"', "/ab/ != $A"])
def test_operands_that_break_gitlab_are_refused(expression: str) -> None:
    with pytest.raises(RuleSyntaxError, match="GitLab cannot evaluate this"):
        evaluate(expression, {})


def test_operands_that_break_gitlab_only_with_these_variables_are_refused() -> None:
    expression = '$A =~ ($B == "1")'
    assert not evaluate(expression, {})
    with pytest.raises(RuleSyntaxError) as caught:
        evaluate(expression, {"B": "1"})
    assert caught.value.position == 3


@pytest.mark.parametrize("space", "\t\n\v\f\r \x85\xa0\u1680\u2000\u200a\u2028\u202f\u205f\u3000")
def test_unicode_white_space_is_blank(space: str) -> None:
    assert not evaluate("$A", {"A": space})


@pytest.mark.parametrize("character", "\x1c\x1f\u180e\u200b\ufeff\0")
def test_other_invisible_characters_are_not_blank(character: str) -> None:
    assert evaluate("$A", {"A": character})


def test_a_value_that_is_no_utf8_is_no_accident() -> None:
    variables = {"A": "a\udcffb", "PATTERN": "/\udcff/"}
    assert evaluate("$A =~ /^a/", variables)
    assert evaluate("$A =~ $PATTERN", variables)


def test_re2_keeps_quiet_about_invalid_patterns(capfd: pytest.CaptureFixture[str]) -> None:
    assert not evaluate("$A =~ $PATTERN", {"A": "x", "PATTERN": "/(?=quiet)/"})
    assert capfd.readouterr() == ("", "")
