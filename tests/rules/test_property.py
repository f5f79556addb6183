"""Generated expressions: ours against the independent `reference`, and against any text at all.

Well-formed expressions must have the same value in both. In a soup of tokens the two need not
accept the same: GitLab, and so our parser, counts operands without looking where they stand, and
takes `$A "x" ==` or `$A ()`; the reference knows only the infix grammar. So what is compared there
is the infix subset: whatever the reference accepts ours accepts, with the same value, and whatever
ours refuses the reference refuses.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_pipeline.rules import RuleSyntaxError, evaluate
from tests.effort import examples
from tests.rules import reference

NAMES = st.sampled_from(["A", "B", "C", "1"])
TEXTS = st.sampled_from(["", " ", "a", "ab", "b.", "abc", "true", "false", "null", "$A", "A b"])
REGEXES = st.builds(
    "/{}/{}".format,
    st.sampled_from(["ab", "b.", "^a|c", "b$", "(ab)+", "[ab]c", ".*", r"a\/b", r"\w+", "Ab"]),
    st.sampled_from(["", "i", "ii"]),
)
# Regexes as values may have one character, and none.
VALUES = TEXTS | REGEXES | st.sampled_from(["/a/", "//", "/", "/a", "/a/x"])
VARIABLES = st.dictionaries(NAMES, VALUES)
LEAVES = st.one_of(
    NAMES.map("${}".format),
    TEXTS.map('"{}"'.format),
    TEXTS.map("'{}'".format),
    st.sampled_from(["null", "true", "false"]),
    REGEXES,
)
BLANKS = st.sampled_from(["", " ", "\n\t"])


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["==", "!=", "=~", "!~", "&&", "||"])
    return st.one_of(
        st.builds("{}{}{}{}{}".format, inner, BLANKS, operators, BLANKS, inner),
        st.builds("({}{}{})".format, BLANKS, inner, BLANKS),
        st.builds("!{}{}".format, BLANKS, inner),
    )


WELL_FORMED = st.recursive(LEAVES, compound, max_leaves=12)
SOUP = st.lists(
    LEAVES | st.sampled_from(["==", "!=", "=~", "!~", "&&", "||", "!", "(", ")"]), max_size=12
).map(" ".join)


def ours(expression: str, variables: dict[str, str]) -> bool | None:
    """The value, None if refused."""
    return None if refusal(expression, variables) else evaluate(expression, variables)


def refusal(expression: str, variables: dict[str, str]) -> RuleSyntaxError | None:
    """The error, None if there is none."""
    try:
        evaluate(expression, variables)
    except RuleSyntaxError as error:
        return error
    return None


def theirs(expression: str, variables: dict[str, str]) -> bool | None:
    """The reference's value, None if refused."""
    try:
        return reference.value_of(expression, variables)
    except reference.Refused:
        return None


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(WELL_FORMED, VARIABLES)
def test_well_formed_expressions_agree(expression: str, variables: dict[str, str]) -> None:
    assert ours(expression, variables) is theirs(expression, variables)


@settings(max_examples=examples(300), deadline=None, derandomize=True)
@given(SOUP, VARIABLES)
def test_token_soup_agrees_on_the_infix_subset(expression: str, variables: dict[str, str]) -> None:
    expected = theirs(expression, variables)
    if expected is not None:
        assert ours(expression, variables) is expected


@pytest.mark.parametrize("alphabet", [None, "$AB01 ==~!&|()\"'/\\truefalsn[]{}.+*?\n"])
def test_any_text_is_evaluated_or_refused(alphabet: str | None) -> None:
    @settings(max_examples=examples(300), deadline=None, derandomize=True)
    @given(st.text() if alphabet is None else st.text(alphabet=alphabet), st.text())
    def check(expression: str, value: str) -> None:
        error = refusal(expression, {"A": value, "B": expression})
        if error is not None:
            assert 0 <= error.position <= len(expression)
            assert re.search(r"^\s+\^$", str(error), re.MULTILINE)

    check()


@settings(max_examples=examples(200), deadline=None, derandomize=True)
@given(st.text(), st.text())
def test_any_variable_is_a_pattern(text: str, pattern: str) -> None:
    variables = {"A": text, "B": pattern}
    assert evaluate("$A =~ $B", variables) is not evaluate("$A !~ $B", variables)
