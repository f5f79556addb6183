"""What became of a hand-written file, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import tabulate as tables

from gpu_pipeline.adopt.adoption import Adopted
from gpu_pipeline.adopt.comparison import Change, Difference
from gpu_pipeline.adopt.notes import Kind, Note
from gpu_pipeline.reports.layout import fill
from gpu_pipeline.words import count

_CELL = 24
_LEAD = 6  # characters of a cell that are the same before two texts differ
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
        yield fill(place, indent="  ")
        yield fill(_one_line(message), indent="      ", further="      ")


def _compared(adopted: Adopted) -> str:
    jobs, differing = adopted.jobs, {each.job for each in adopted.differences}
    same = len(jobs) - len(differing)
    head = f"{count(len(jobs), 'job')} rendered and compared with the file: {same} the same"
    if differing:
        head += f", {len(differing)} not"
    lines = [head + "."]
    if adopted.differences:
        rows = [
            [change, key, _some(names, len(jobs)), *_cut(before, after)]
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


def _cut(before: str, after: str) -> tuple[str, str]:
    """Both texts in the width of a cell, from where they begin to differ if that is further on."""
    texts = (_one_line(before), _one_line(after))
    pairs = enumerate(zip(*texts, strict=False))
    shared = next((at for at, pair in pairs if pair[0] != pair[1]), min(map(len, texts)))
    start = shared - _LEAD if all(texts) and shared > _CELL - _LEAD else 0
    begun = [f"…{text[start:]}" if start else text for text in texts]
    first, second = (each if len(each) <= _CELL else f"{each[: _CELL - 1]}…" for each in begun)
    return first, second


def _one_line(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")
