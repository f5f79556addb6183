"""What goes wrong for people who write rules: one table for each kind of trap."""

from __future__ import annotations

import itertools

import pytest

from gpu_pipeline.rules import RuleError, RuleSyntaxError, decide, evaluate

HOLDS = '"x" == "x"'


@pytest.mark.parametrize(
    ("job", "when", "allow_failure"),
    [
        pytest.param({"rules": [{"when": "manual"}]}, "manual", False, id="in a rule: it blocks"),
        pytest.param({"when": "manual"}, "manual", True, id="on the job: it does not"),
        pytest.param(
            {"when": "manual", "rules": [{"if": HOLDS}]},
            "manual",
            True,
            id="job, no when",
        ),
        pytest.param(
            {"when": "manual", "rules": [{"when": "always"}]}, "always", True, id="job, other when"
        ),
        pytest.param(
            {"rules": [{"when": "manual", "allow_failure": True}]}, "manual", True, id="explicit"
        ),
    ],
)
def test_manual_jobs_that_block(job: dict[str, object], when: str, allow_failure: bool) -> None:
    decision = decide(job)
    assert (decision.when, decision.allow_failure) == (when, allow_failure)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("$E", False),
        (f"$E && {HOLDS}", True),
        (f"{HOLDS} && $E", False),
        (f"$E || {HOLDS}", False),
        (f"$U || {HOLDS}", True),
        ("$E == null", False),
        ('$U == ""', False),
        ('$U != ""', True),
        ("$U == null", True),
        ("!$E", True),
        ("$BLANK", False),
        ("$LITERAL", True),
        ("$LITERAL == null", False),
        ('$LITERAL == ""', False),
    ],
)
def test_empty_is_not_undefined_is_not_false(expression: str, expected: bool) -> None:
    variables = {"E": "", "BLANK": " \t", "LITERAL": "$UNDEFINED"}
    assert evaluate(expression, variables) is expected


@pytest.mark.parametrize(("a", "b", "c"), list(itertools.product("01", repeat=3)))
def test_and_binds_tighter_than_or(a: str, b: str, c: str) -> None:
    expected = a == "1" or (b == "1" and c == "1")
    variables = {"A": a, "B": b, "C": c}
    assert evaluate('$A == "1" || $B == "1" && $C == "1"', variables) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('!$F == "true"', True),
        ('!$F == "bar"', False),
        ('!($F == "true")', True),
        ('!$F == !($F == "x")', True),
        ('(!$F) == ("x" == "x")', True),
    ],
)
def test_not_binds_tighter_than_a_comparison(expression: str, expected: bool) -> None:
    assert evaluate(expression, {}) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('$X =~ "xabcx"', True),
        ('$X =~ "a"', False),
        ('$U =~ "zz"', True),
        ('$EMPTY =~ "zz"', True),
        ("$X =~ $P", True),
        ('$X =~ "/^ab/"', True),
        ('$X =~ "/$X/"', False),
        ("$X =~ /${X}/", False),
    ],
)
def test_a_pattern_that_is_no_regex_is_searched_the_other_way(
    expression: str, expected: bool
) -> None:
    assert evaluate(expression, {"X": "abc", "P": "/^ab/", "EMPTY": ""}) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"x" =~ $U', False),
        ('"x" !~ $U', True),
        ("$U =~ /xx/", False),
        ("$U !~ /xx/", True),
        ("true && $U =~ /11/", False),
        ("$U =~ $V", False),
        ("$U !~ $V", True),
    ],
)
def test_undefined_around_a_match(expression: str, expected: bool) -> None:
    assert evaluate(expression, {}) is expected


@pytest.mark.parametrize(
    "expression",
    [
        "$X =~ /a/",
        "$X =~ /1/",
        "$X =~ /(?!x)y/",
        "$X =~ /(?=xy)/",
        r"$X =~ /(a)\1/",
        "$X =~ /ab++/",
        "$X =~ /[a/]/",
        '${A} == "x"',
        "$A == 1",
        '$A > "1"',
        '$A >= "1"',
        '$A & "1"',
        "$A and $B",
        "$A == x",
    ],
)
def test_what_is_refused(expression: str) -> None:
    with pytest.raises(RuleSyntaxError):
        evaluate(expression, {})


@pytest.mark.parametrize(
    "expression",
    [
        '"ab" =~ /ab/i',
        r'"deploy/x" =~ /^deploy\/.+$/',
        r'"a/b" =~ /[\/x]b/',
        "'x' == \"x\"",
        "$A == $B",
    ],
)
def test_what_is_accepted(expression: str) -> None:
    assert evaluate(expression, {})


@pytest.mark.parametrize(
    ("definitions", "matches", "origin"),
    [
        ({"job": "no", "pipeline": "yes"}, True, "pipeline variable"),
        ({"job": "yes", "child": "no"}, True, "job variable"),
        ({"child": "yes", "predefined": "no"}, True, "child variable"),
        ({"predefined": "yes"}, True, "predefined"),
        ({}, False, "undefined"),
    ],
)
def test_which_definition_wins(definitions: dict[str, str], matches: bool, origin: str) -> None:
    layers = {layer: {"S": value} for layer, value in definitions.items()}
    decision = decide(
        {"variables": layers.get("job", {}), "rules": [{"if": '$S == "yes"'}]},
        global_variables=layers.get("child", {}),
        pipeline_variables=layers.get("pipeline", {}),
        predefined=layers.get("predefined", {}),
    )
    assert decision.included is matches
    assert decision.rules[0].reads[0].origin == origin


@pytest.mark.parametrize(
    ("rules", "when", "rule"),
    [
        ([{"if": HOLDS}, {"when": "never"}], "on_success", 0),
        ([{"if": HOLDS}, {"if": HOLDS, "when": "never"}], "on_success", 0),
        ([{"when": "never"}, {"when": "always"}], "never", 0),
        ([{"if": "$U"}, {"if": "$U"}], "never", None),
    ],
)
def test_the_first_match_wins(rules: list[object], when: str, rule: int | None) -> None:
    decision = decide({"rules": rules})
    assert (decision.when, decision.rule) == (when, rule)


@pytest.mark.parametrize("rules", [[], [{"changes": {"paths": ["a"], "compare_to": 1}}]], ids=str)
def test_a_wrong_rule_never_drops_a_job_silently(rules: list[object]) -> None:
    with pytest.raises(RuleError):
        decide({"rules": rules})
