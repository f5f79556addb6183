"""Where a shell leaves a text as it stands: in single quotes, after a backslash, in a heredoc."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

_PIECE = re.compile(
    r"""(?P<comment>(?<!\S)\#[^\n]*)
    |(?P<literal>\\. | '[^']*' | <<-?[ \t]*(?P<quote>["'])(?P<end>\w+)(?P=quote).*?\n\s*(?P=end)\b)
    |"(?P<inside>(?:\\.|[^"\\])*)" """,
    re.VERBOSE | re.DOTALL,
)


@functools.lru_cache(maxsize=1024)
def literal_spans(command: str) -> tuple[tuple[int, int], ...]:
    """Start and end of each part of a command in which `$NAME` is no reference."""
    return tuple(_spans(command))


def is_literal(command: str, at: int) -> bool:
    """Whether the character at this place of a command stands for itself."""
    return any(start <= at < end for start, end in literal_spans(command))


def _spans(command: str) -> Iterator[tuple[int, int]]:
    for piece in _PIECE.finditer(command):
        if piece["literal"]:
            yield piece.span()
        elif piece["inside"]:
            start = piece.start("inside")
            for escape in re.finditer(r"\\.", piece["inside"], re.DOTALL):
                yield start + escape.start(), start + escape.end()
