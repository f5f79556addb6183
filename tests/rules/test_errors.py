"""An expression that is refused says where, and what to write instead."""

from __future__ import annotations

import pytest

from gpu_pipeline.rules import RuleError, RuleSyntaxError, evaluate


def refusal(expression: str) -> RuleSyntaxError:
    with pytest.raises(RuleSyntaxError) as caught:
        evaluate(expression, {})
    return caught.value


def test_the_error_is_a_value_error() -> None:
    error = refusal('$A = "x"')
    assert isinstance(error, RuleError)
    assert isinstance(error, ValueError)
    assert (error.expression, error.position) == ('$A = "x"', 3)
    assert error.reason == "'=' begins nothing that GitLab knows"


@pytest.mark.parametrize(
    ("expression", "position", "hint"),
    [
        ('"x" == ${POOL}', 7, "a variable is written without braces: $POOL"),
        ("%POOL%", 0, "write $POOL"),
        ('$env:POOL == "x"', 4, "write $POOL"),
        ('$ == "x"', 0, "a variable is $ and letters, digits or _"),
        ("$X =~ /a/", 6, 'a regex needs two characters: write /a{1}/, or == "a" for the whole te'),
        ("$X =~ /./", 6, "a regex needs two characters: write /.{1}/"),
        ("$X =~ //", 6, 'an empty regex is not possible: to test for an empty text write == ""'),
        (r"$X =~ /a\\/", 6, "a regex ends with / and flags from i, s, m, U"),
        ("$X =~ /ab/g", 10, "the flags of a regex are i, s, m and U"),
        ("$X =~ /(?!x)y/", 7, "RE2 has no look-around"),
        ("$X =~ /ab(?<=x)/", 9, "RE2 has no look-around"),
        (r"$X =~ /(a)\1/", 10, "RE2 has no back-references"),
        ("$X =~ /ab++/", 9, "RE2 has no atomic groups and no possessive repetition"),
        (r"$X =~ /ab\Z/", 9, r"write \z for the end of the text"),
        ("$X =~ /ab\ncd/", 9, r"a regex stays on one line: write \n for a line break"),
        ("$A == 3", 6, 'numbers are texts: write "3"'),
        ("$A == -1.5", 6, 'numbers are texts: write "-1.5"'),
        ('$A = "x"', 3, "write == to compare"),
        ('$A === "x"', 5, "write == to compare"),
        ("$A and $B", 3, "write &&"),
        ("$A or $B", 3, "write ||"),
        ("not $A", 0, "write !"),
        ("$A & $B", 3, "write &&"),
        ("$A | $B", 3, "write ||"),
        ("$A ~ /ab/", 3, "write =~"),
        ('$A >= "1"', 3, "GitLab cannot compare by size"),
        ('$A in ["x"]', 3, "there are no lists"),
        ('$A + "x"', 3, "texts cannot be joined"),
        ("$A == main", 6, 'write "main" for a text, $main for a variable'),
        ("$A == True", 6, 'write "True" to compare with the text'),
        ("$A == NULL", 6, "write null"),
        ("nullable", 4, "this word is no text unless it is quoted"),
        ('$A == "x', 6, 'the closing " is missing'),
        (r'$A == "a\"b"', 10, "a text has no escapes"),
        ("$A # why", 3, "there are no comments"),
        ("$A\xa0== $B", 2, "only plain blanks are allowed"),
        ("$PÖOL", 2, "a name has only ASCII letters, digits and _"),
        ("$A.b", 2, "a name has only ASCII letters, digits and _"),
    ],
)
def test_a_known_mistake_has_a_hint(expression: str, position: int, hint: str) -> None:
    error = refusal(expression)
    assert error.position == position
    assert error.hint is not None
    assert error.hint.startswith(hint)
    assert str(error).endswith(f"\nhint: {error.hint}")


@pytest.mark.parametrize(
    ("expression", "position", "reason"),
    [
        ("", 0, "there is nothing to evaluate"),
        (" \n ", 0, "there is nothing to evaluate"),
        ("()", 0, "there is nothing to evaluate"),
        ("$A ;", 3, "';' begins nothing that GitLab knows"),
        ('$A == "x")', 9, "this parenthesis was never opened"),
        ("$A && ($B", 6, "this parenthesis is never closed"),
        ("$A &&", 3, "there is no value on the right of &&"),
        ('== "x"', 0, "there is no value on the left of =="),
        ("||", 0, "there is no value on the left of ||"),
        ("!", 0, "there is no value on the right of !"),
        ('$A "x"', 3, "two values without an operator between them"),
        ('$A ($B == "x")', 4, "two values without an operator between them"),
        ("$A !$B", 3, "two values without an operator between them"),
        ("$X =~ /ab(/", 6, "invalid regular expression: missing ): ab("),
        (" ".join(["$A ||"] * 49 + ["$A", "||"]), 297, "more than 99 tokens"),
        ("$A =~ true", 3, "GitLab cannot evaluate this: the pattern is a boolean"),
        ('/ab/ == "x"', 5, "GitLab cannot evaluate this: a regex is compared with something else"),
    ],
)
def test_other_mistakes_have_a_reason(expression: str, position: int, reason: str) -> None:
    error = refusal(expression)
    assert (error.position, error.reason) == (position, reason)
    assert "hint" not in str(error)


@pytest.mark.parametrize(
    ("expression", "lines"),
    [
        ("$A = $B", ["$A = $B", "   ^"]),
        ("", ["", "^"]),
        ("$A &&\n  $B = $C ||\n  $D", ["$A &&", "  $B = $C ||", "     ^", "  $D"]),
        ("\n\n= ", ["", "", "= ", "^"]),
        ("\t$A\t= $B", ["\t$A\t= $B", "\t  \t^"]),
        ("$A ||\r\n\t$B = $C", ["$A || ", "\t$B = $C", "\t   ^"]),
        ('"漢" = $C', ['"漢" = $C', "     ^"]),
        ('"e\u0301" = $C', ['"e\u0301" = $C', "    ^"]),
        ('"a\u2028b\x1b[0m" = $C', ['"a b [0m" = $C', "          ^"]),
    ],
)
def test_the_caret_is_under_the_position(expression: str, lines: list[str]) -> None:
    shown = str(refusal(expression)).split("\n")
    assert shown[0].startswith("invalid expression syntax: ")
    assert shown[1 : 1 + len(lines)] == ["    " + line for line in lines]
