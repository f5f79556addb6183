"""Line numbers for the keys and array items of a TOML document.

`tomllib` gives values without positions, and an error message without a line helps nobody. This
scanner walks a text that `tomllib` has already accepted, so it only has to find where each key
stands, never to judge the syntax. The tests hold its paths against those of `tomllib`.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def key_lines(text: str) -> dict[Path, int]:
    """The line (from 1) at which each key path, table and array item of `text` first stands.

    `text` is valid TOML with LF line ends. Array items carry their index in the path.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._line_ends = [match.start() for match in re.finditer("\n", text)]
        self._table_counts: dict[Path, int] = {}

    def document(self) -> None:
        table: Path = ()
        while self._skip_blank() < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        start = self.at
        is_array = self.text.startswith("[[", start)
        self.at += 2 if is_array else 1
        path = self._resolve(self._key(), into_last_item=not is_array)
        self.at += 2 if is_array else 1
        if is_array:
            index = self._table_counts.get(path, 0)
            self._table_counts[path] = index + 1
            self._mark(path, start)
            path = (*path, index)
        for depth in range(1, len(path) + 1):
            self._mark(path[:depth], start)
        return path

    def _resolve(self, key: list[str], *, into_last_item: bool) -> Path:
        """The full path of a header: a name that is an array of tables means its last item."""
        path: Path = ()
        for depth, part in enumerate(key):
            path = (*path, part)
            is_last = depth == len(key) - 1
            if path in self._table_counts and (into_last_item or not is_last):
                path = (*path, self._table_counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        start = self.at
        path: Path = (*table, *self._key())
        for depth in range(len(table) + 1, len(path) + 1):
            self._mark(path[:depth], start)
        self.at += 1  # the equals sign
        self._value(path)

    def _key(self) -> list[str]:
        """Read a dotted key and the blanks behind it."""
        parts = []
        while True:
            self._skip_blank()
            word = self._take(_BARE_KEY, _STRING)
            parts.append(_unquote(word) if word[0] in "\"'" else word)
            self._skip_blank()
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _value(self, path: Path) -> None:
        self._skip_blank()
        opening = self.text[self.at]
        if opening in "[{":
            self._items(path, closing="]" if opening == "[" else "}")
        else:
            self._take(_STRING, _SCALAR)

    def _items(self, path: Path, *, closing: str) -> None:
        self.at += 1
        index = 0
        while self.text[self._skip_blank()] != closing:
            if closing == "]":
                self._mark((*path, index), self.at)
                self._value((*path, index))
                index += 1
            else:
                self._pair(path)
            if self.text[self._skip_blank()] == ",":
                self.at += 1
        self.at += 1

    def _take(self, *patterns: re.Pattern[str]) -> str:
        for pattern in patterns:
            if match := pattern.match(self.text, self.at):
                self.at = match.end()
                return match[0]
        raise ValueError(f"not valid TOML at offset {self.at}")

    def _skip_blank(self) -> int:
        match = _BLANK.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _mark(self, path: Path, offset: int) -> None:
        self.lines.setdefault(path, bisect_right(self._line_ends, offset - 1) + 1)


def _unquote(key: str) -> str:
    """The text of a quoted key, read by `tomllib` itself so that escapes mean the same."""
    return str(tomllib.loads(f"key = {key}")["key"])
