"""The lines of a check-up as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpu_pipeline.reports.layout import as_json
from gpu_pipeline.words import count

if TYPE_CHECKING:
    from gpu_pipeline.gitlab.checkups.line import Line

_FACTS = ("level", "subject", "message", "fix")


def doctor(lines: Sequence[Line], output_format: str) -> str:
    """All lines in the order in which they were looked at; text ends with how many are bad."""
    if output_format == "json":
        facts = [{name: getattr(line, name) for name in _FACTS} for line in lines]
        return as_json(facts)
    numbers = Counter(str(line.level) for line in lines)
    bad = [count(numbers[kind], kind) for kind in ("error", "warning") if numbers[kind]]
    return "\n".join([*map(_text, lines), "", ", ".join(bad) or "ready"])


def _text(line: Line) -> str:
    subject, message, fix = (
        text.replace("\r", "\\r").replace("\n", "\\n")
        for text in (line.subject, line.message, line.fix)
    )
    return f"{line.level:<7}  {subject}: {message}" + (f"\n         fix: {fix}" if fix else "")
