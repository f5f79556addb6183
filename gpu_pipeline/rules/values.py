"""The values an expression works on, and Ruby's idea of them.

GitLab: lib/gitlab/ci/pipeline/expression/lexeme/*.rb
"""

from __future__ import annotations

from gpu_pipeline.rules.regex import InvalidRegexError, Regex

Value = str | bool | Regex | None
"""None is Ruby's nil: an undefined variable, or `null`."""

# Unicode's White_Space, which is what [[:space:]] means to Ruby; str.isspace() accepts more.
_SPACES = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


class UnsupportedValueError(TypeError):
    """GitLab's code fails on these operands (NoMethodError), and with it the whole pipeline."""


def is_true(value: Value) -> bool:
    """What `&&` and `||` take for true: all but nil and false, so also an empty text."""
    return value is not None and value is not False


def is_present(value: Value) -> bool:
    """What `!` and the final result take for true: blank texts are not."""
    return bool(value.strip(_SPACES)) if isinstance(value, str) else is_true(value)


def are_equal(left: Value, right: Value) -> bool:
    """`left == right`. A boolean and a text are compared as texts.

    Raises UnsupportedValueError for a regex on the left of anything but a regex.
    """
    if isinstance(left, Regex) and not isinstance(right, Regex):
        raise UnsupportedValueError("a regex is compared with something else")
    if isinstance(left, str) and isinstance(right, bool):
        return left == as_text(right)
    if isinstance(left, bool) and isinstance(right, str):
        return as_text(left) == right
    return left == right


def matches(left: Value, right: Value) -> bool:
    """`left =~ right`.

    A text on the right is a regex if it reads as one; otherwise the test is whether *it contains*
    the left text. Raises UnsupportedValueError for `true` on the right.
    """
    if right is None or right is False:
        return False
    if right is True:
        raise UnsupportedValueError("the pattern is a boolean")
    text = as_text(left)
    if isinstance(right, Regex):
        return right.is_found_in(text)
    try:
        return Regex.from_slashed(right).is_found_in(text)
    except InvalidRegexError:
        return text in right


def as_text(value: Value) -> str:
    """Ruby's `to_s`."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # The real text ends in a memory address, which nobody can foresee.
    return "#<Gitlab::UntrustedRegexp:0x0000000000000000>" if isinstance(value, Regex) else value
