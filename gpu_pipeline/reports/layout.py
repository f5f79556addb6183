"""What all reports are made of: tables and texts for 80 columns, Markdown, and JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence

import tabulate as tables

# The library would widen each header by two blanks, which a terminal has no room for.
tables.MIN_PADDING = 0

WIDTH = 80
_GAP = 2  # blanks between two columns
_NARROWEST = 10  # a column is not made narrower than this
_TABLE_FORMAT = {"text": "simple", "markdown": "github"}


def table(
    rows: Sequence[Mapping[str, object]], output_format: str, *, whole: Sequence[str] = ()
) -> str:
    """A table whose numbers stay as written; in Markdown a bar in a cell is escaped.

    In a text that would be too wide, cells are wrapped; those of the first column and of the
    columns in `whole` never: they are names that somebody looks for.
    """
    cells = [
        {name: _cell(str(value), output_format) for name, value in row.items()} for row in rows
    ]
    if output_format == "text":
        cells = _fitted(cells, whole)
    return tables.tabulate(
        cells, headers="keys", tablefmt=_TABLE_FORMAT[output_format], disable_numparse=True
    )


def listed(lines: Sequence[str], output_format: str) -> list[str]:
    """The lines, as items of a list in Markdown."""
    return [f"- {line}" for line in lines] if output_format == "markdown" else list(lines)


def fill(text: str, *, indent: str = "", further: str | None = None) -> str:
    """A text in lines that a terminal has room for; what follows the first is indented further."""
    if further is None:
        further = indent and indent + "  "
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
    )


def code(text: str) -> str:
    """A text as a code span of Markdown, whatever it contains: nothing in it means anything.

    Line breaks and runs of blanks are one blank.
    """
    text = " ".join(text.split()) or " "
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def as_json(facts: object) -> str:
    """Facts as all commands print them for scripts."""
    return json.dumps(facts, indent=2, ensure_ascii=False)


def _fitted(rows: list[dict[str, str]], whole: Sequence[str]) -> list[dict[str, str]]:
    """The rows with the widest columns wrapped, as far as that is needed and possible."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    widths = {name: _width([name, *(row.get(name, "") for row in rows)]) for name in names}
    breakable = [name for name in names[1:] if name not in whole]
    for name in sorted(breakable, key=lambda name: -widths[name]):
        excess = sum(widths.values()) + _GAP * (len(names) - 1) - WIDTH
        room = max(widths[name] - excess, _NARROWEST)
        if excess <= 0 or room >= widths[name]:
            continue
        rows = [{**row, name: _broken(row[name], room)} if name in row else row for row in rows]
        widths[name] = _width([name, *(row.get(name, "") for row in rows)])
    return rows


def _width(texts: Sequence[str]) -> int:
    return max(len(line) for text in texts for line in (text.splitlines() or [""]))


def _broken(text: str, width: int) -> str:
    """A cell in lines of that width, also within names where a person would break them."""
    lines = [""]
    for piece in re.findall(r".+?(?:[-_/.:]+|\s+|$)", text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _cell(text: str, output_format: str) -> str:
    text = text.replace("\n", " ")
    return text.replace("|", "\\|") if output_format == "markdown" else text
