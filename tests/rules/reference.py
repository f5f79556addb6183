"""`rules:if` once more, written down another way: slow, by hand, straight from its meaning.

A character scanner instead of a token regex, recursive descent instead of two stacks, closures
instead of a tree, tagged pairs instead of Python values, Python's `re` instead of RE2. It knows the
infix grammar only, and regexes that mean the same to both engines:

    or      = and { "||" and }          compare = unary { ("==" | "!=" | "=~" | "!~") unary }
    and     = compare { "&&" compare }  unary   = "!" unary | "(" or ")" | value
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Value = tuple[str, str]
Thunk = Callable[[Mapping[str, str]], Value]

NIL, TRUE, FALSE = ("nil", ""), ("bool", "true"), ("bool", "false")
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_SIGNS = ("==", "=~", "!=", "!~", "&&", "||", "!", "(", ")")


class Refused(Exception):  # noqa: N818 - it is a verdict, not a fault
    """The expression is not in the infix grammar, or GitLab would fail on it."""


def value_of(expression: str, variables: Mapping[str, str]) -> bool:
    """The expression's value. Raises Refused; as GitLab does, it tries without variables first."""
    reader = _Reader(_split(expression))
    thunk = reader.alternatives()
    if reader.rest:
        raise Refused(reader.rest)
    thunk({})
    return _filled(thunk(variables))


def _split(text: str) -> list[str]:
    """The tokens, as texts."""
    tokens = []
    at = 0
    while at < len(text):
        if text[at] in " \t\r\n\f\v":
            at += 1
            continue
        token = _first_token(text[at:])
        tokens.append(token)
        at += len(token)
    if len(tokens) > 99:
        raise Refused("too many tokens")
    return tokens


def _first_token(text: str) -> str:
    if text[0] == "$":
        end = 1
        while end < len(text) and text[end] in _WORD:
            end += 1
        if end > 1:
            return text[:end]
    elif text[0] in "\"'":
        end = text.find(text[0], 1)
        if end > 0 and "\n" not in text[:end]:
            return text[: end + 1]
    elif text[0] == "/":
        return _first_regex(text)
    for sign in (*_SIGNS, "null", "true", "false"):
        word_goes_on = sign in ("true", "false") and text[len(sign) : len(sign) + 1] in [*_WORD]
        if text.startswith(sign) and not word_goes_on:
            return sign
    raise Refused(text)


def _first_regex(text: str) -> str:
    end = 1
    while end < len(text) and not (text[end] == "/" and text[end - 1] != "\\"):
        end += 1
    if end == len(text) or end < 3:
        raise Refused(text)
    end += 1
    while end < len(text) and text[end] in "ismU":
        end += 1
    return text[:end]


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.rest = tokens

    def alternatives(self) -> Thunk:
        left = self._conjunction()
        while self._next_is("||"):
            left = _either(left, self._conjunction())
        return left

    def _conjunction(self) -> Thunk:
        left = self._comparison()
        while self._next_is("&&"):
            left = _both(left, self._comparison())
        return left

    def _comparison(self) -> Thunk:
        left = self._unary()
        while self.rest and self.rest[0] in ("==", "!=", "=~", "!~"):
            sign = self.rest.pop(0)
            left = _compared(sign, left, self._unary())
        return left

    def _unary(self) -> Thunk:
        if self._next_is("!"):
            operand = self._unary()
            return lambda variables: FALSE if _filled(operand(variables)) else TRUE
        if self._next_is("("):
            inside = self.alternatives()
            if not self._next_is(")"):
                raise Refused("not closed")
            return inside
        if not self.rest or self.rest[0] in _SIGNS:
            raise Refused("no value")
        return _leaf(self.rest.pop(0))

    def _next_is(self, sign: str) -> bool:
        if self.rest[:1] != [sign]:
            return False
        self.rest.pop(0)
        return True


def _leaf(token: str) -> Thunk:
    if token[0] == "$":
        name = token[1:]
        return lambda variables: ("text", variables[name]) if name in variables else NIL
    constant = NIL if token == "null" else ("bool", token)
    if token[0] in "\"'":
        constant = ("text", token[1:-1])
    elif token[0] == "/":
        constant = ("regex", token.replace("\\/", "/"))
    return lambda variables: constant


def _either(left: Thunk, right: Thunk) -> Thunk:
    def thunk(variables: Mapping[str, str]) -> Value:
        first = left(variables)
        return right(variables) if first in (NIL, FALSE) else first

    return thunk


def _both(left: Thunk, right: Thunk) -> Thunk:
    def thunk(variables: Mapping[str, str]) -> Value:
        first = left(variables)
        return first if first in (NIL, FALSE) else right(variables)

    return thunk


def _compared(sign: str, left: Thunk, right: Thunk) -> Thunk:
    test = _same if sign in ("==", "!=") else _found
    negated = sign[0] == "!"

    def thunk(variables: Mapping[str, str]) -> Value:
        return TRUE if test(left(variables), right(variables)) != negated else FALSE

    return thunk


def _same(left: Value, right: Value) -> bool:
    if left[0] == "regex" != right[0]:
        raise Refused("a regex is compared")
    if {left[0], right[0]} == {"text", "bool"}:
        return left[1] == right[1]
    return left == right


def _found(left: Value, right: Value) -> bool:
    if right in (NIL, FALSE):
        return False
    if right == TRUE:
        raise Refused("true is no pattern")
    text = "#<Gitlab::UntrustedRegexp:0x0000000000000000>" if left[0] == "regex" else left[1]
    pattern = right[1]
    body, _, flags = pattern[1:].rpartition("/")
    if pattern.startswith("/") and "/" in pattern[1:] and set(flags) <= set("ismU"):
        ignored = re.IGNORECASE if "i" in flags else re.RegexFlag(0)
        return re.search(body, text, ignored) is not None
    return text in pattern


def _filled(value: Value) -> bool:
    kind, text = value
    return text.strip() != "" if kind == "text" else value not in (NIL, FALSE)
