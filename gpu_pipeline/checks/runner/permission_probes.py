"""Values that a permission might let through although nobody emits them.

A regex cannot be compared with a list of values, so it is tried on values close to those that jobs
emit, and on texts that it spells out itself.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable, Iterator, Sequence

_MOST = 1000  # texts that are tried of a regex, or of a part of it
_LONGEST = 1000  # characters
_OTHER_NAMES = ("other", "prod-h100")
_CLASSES = {"d": "50", "w": "w5", "s": " ", "D": "x", "W": "-", "S": "x", "n": "\n", "t": "\t"}
_ANCHORS = "AzZbB"
_COUNTS = {"*": (0, 1), "?": (1, 0), "+": (1, 2)}


def near(value: str) -> Iterator[str]:
    """Texts that differ little from `value`: longer ones, other case, one character changed."""
    yield from (f"{value}5", f"{value}x", f"{value}-x", f"x{value}", f"x-{value}")
    label, sign, name = value.partition("=")
    yield from (value.upper(), f"{label}{sign}{name.upper()}")
    for index, char in enumerate(value):
        if char == "=":
            continue
        for other in ("x", "5", char.swapcase(), ""):
            if other != char:
                yield value[:index] + other + value[index + 1 :]
    yield from (f"{value}\nx", f"x\n{value}")


def other_names(value: str) -> Iterator[str]:
    """The same label with the names of other pools."""
    label, sign, _ = value.partition("=")
    if sign:
        yield from (f"{label}={name}" for name in _OTHER_NAMES)


def spelt_out(pattern: str) -> list[str]:
    """Texts that a regex spells out: each of its alternatives, with something for wildcards.

    Not every one matches, as not all of Go's syntax is understood; try them.
    """
    try:
        return _Expander(pattern).alternatives()
    except (IndexError, ValueError, RecursionError):
        return []


class _Expander:
    """A reader of the regex that gives, for each part, a few texts it may stand for."""

    def __init__(self, pattern: str) -> None:
        self._text, self._at = pattern, 0

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._text[self._at - 1]

    def alternatives(self) -> list[str]:
        found = self._sequence()
        while self._peek() == "|":
            self._take()
            found += self._sequence()
        return list(dict.fromkeys(found))[:_MOST]

    def _sequence(self) -> list[str]:
        parts = []
        while self._peek() not in ("", "|", ")"):
            choices = self._atom()
            while self._peek() and self._peek() in "*?+{":
                choices = self._repeated(choices)
            parts.append(choices or [""])
        return _combined(parts)

    def _repeated(self, choices: list[str]) -> list[str]:
        sign = self._take()
        if sign == "{":
            end = self._text.index("}", self._at)
            bounds = self._text[self._at : end].split(",")
            self._at = end + 1
            least = int(bounds[0] or 0)
            counts: Iterable[int] = (least,) if len(bounds) == 1 else (least, least + 1)
        else:
            counts = _COUNTS[sign]
        return [(choice * min(count, 64))[:_LONGEST] for count in counts for choice in choices]

    def _atom(self) -> list[str]:
        char = self._take()
        if char == "(":
            return self._group()
        if char == "[":
            return self._set()
        if char == "\\":
            escaped = self._take()
            return [""] if escaped in _ANCHORS else list(_CLASSES.get(escaped, escaped))
        if char in "^$":
            return [""]
        return ["x", "5"] if char == "." else [char]

    def _group(self) -> list[str]:
        if self._peek() == "?":
            while self._peek() not in (":", ">", ")"):
                self._take()
            if self._take() == ")":
                return [""]  # only flags
        found = self.alternatives()
        if self._take() != ")":
            raise ValueError("a group has no end")
        return found

    def _set(self) -> list[str]:
        start, self._at = self._at, self._text.index("]", self._at + 1) + 1
        inside = self._text[start : self._at - 1]
        if inside.startswith("^"):
            return [char for char in "x5-" if char not in inside]
        if "\\" in inside or "[:" in inside:
            return ["x", "5"]
        return [char for char in inside if char != "-" or inside == "-"] or list(string.digits)


def _combined(parts: Sequence[list[str]]) -> list[str]:
    """Texts of a sequence: one part varied at a time, then as many combinations as are fair."""
    first = [part[0] for part in parts]
    varied = (
        "".join([*first[:index], choice, *first[index + 1 :]])
        for index, part in enumerate(parts)
        for choice in part
    )
    products = ("".join(each) for each in itertools.product(*parts))
    found = itertools.chain(itertools.islice(varied, _MOST), itertools.islice(products, _MOST))
    return list(dict.fromkeys(found)) or [""]
