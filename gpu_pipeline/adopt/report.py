"""What became of a hand-written file, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import tabulate as tables

from gpu_pipeline.adopt.adoption import Adopted
from gpu_pipeline.adopt.comparison import Change, Difference
from gpu_pipeline.adopt.notes import Kind, Note
from gpu_pipeline.words import count

tables.MIN_PADDING = 0
_WIDTH = 80
_CELL = 24
_NAMED = 4  # jobs that are named before the rest is counted


def summary(adopted: Adopted, source: str) -> str:
    """The whole report: what was noted, then job by job what is not as it was."""
    parts = []
    for kind in Kind:
        notes = adopted.notes.of(kind)
        if notes:
            parts.append(f"{kind[0].upper()}{kind[1:]}:\n" + "\n".join(_notes(notes, source)))
    if adopted.renamed:
        rows = "\n".join(f"  {_one_line(old)} is now {new}" for old, new in adopted.renamed.items())
        parts.append(f"Renamed:\n{rows}")
    parts.append(_compared(adopted))
    return "\n\n".join(parts)


def _notes(notes: Sequence[Note], source: str) -> Iterator[str]:
    """Each message once, with the first place it is about and how many more there are."""
    groups: dict[str, list[Note]] = {}
    for note in notes:
        groups.setdefault(note.message, []).append(note)
    for message, members in groups.items():
        abouts = list(dict.fromkeys(_one_line(note.about) for note in members))
        more = f" and {len(abouts) - _NAMED} more" if len(abouts) > _NAMED else ""
        place = f"{source}:{members[0].line}: {', '.join(abouts[:_NAMED])}{more}"
        yield _filled(place, "  ", "    ")
        yield _filled(_one_line(message), "      ", "      ")


def _filled(text: str, first: str, rest: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=first, subsequent_indent=rest,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _compared(adopted: Adopted) -> str:
    jobs, differing = adopted.jobs, {each.job for each in adopted.differences}
    same = len(jobs) - len(differing)
    head = f"{count(len(jobs), 'job')} rendered and compared with the file: {same} the same"
    if differing:
        head += f", {len(differing)} not"
    lines = [head + "."]
    if adopted.differences:
        rows = [
            [change, key, _some(names, len(jobs)), _cut(before), _cut(after)]
            for (change, key, before, after), names in _grouped(adopted.differences).items()
        ]
        headers = ["", "value", "jobs", "before", "after"]
        lines += [
            "",
            tables.tabulate(rows, headers=headers, tablefmt="simple", disable_numparse=True),
        ]
    lines += ["", "Added to every job: the marker line and the check of the GPU."]
    return "\n".join(lines)


def _grouped(
    differences: Sequence[Difference],
) -> dict[tuple[Change, str, str, str], list[str]]:
    order = list(Change)
    groups: dict[tuple[Change, str, str, str], list[str]] = {}
    for each in sorted(differences, key=lambda each: order.index(each.change)):
        groups.setdefault((each.change, each.key, each.before, each.after), []).append(each.job)
    return groups


def _some(names: Sequence[str], total: int) -> str:
    if len(names) == total > 1:
        return f"all {total}"
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _cut(text: str) -> str:
    text = _one_line(text)
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
