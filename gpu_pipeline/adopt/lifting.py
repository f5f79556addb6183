"""In which table of routing.toml a value is said: as far up as it holds, exceptions below."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence

from gpu_pipeline.record import Record

Path = tuple[str, ...]


class Cell(Record):
    """One model of a job, or a place in the grid of tasks and models where there is none.

    `model` is None for the one job of a whole family. `shared` says that a job of the whole family
    trains the model too: then what the model sets for all its tasks would have to suit that job.
    """

    task: str
    family: str
    model: str | None
    pool: str
    shared: bool = False


_Level = Callable[[Cell], Path | None]
LEVELS: Mapping[str, _Level] = {
    "pipeline": lambda _: ("pipeline",),
    "pool": lambda cell: ("pools", cell.pool),
    "task": lambda cell: ("tasks", cell.task),
    "family": lambda cell: ("families", cell.family),
    "family task": lambda cell: ("families", cell.family, "tasks", cell.task),
    "model": lambda cell: None if not cell.model or cell.shared else ("models", cell.model),
    "own": lambda cell: (
        ("models", cell.model, "tasks", cell.task)
        if cell.model
        else ("families", cell.family, "tasks", cell.task)
    ),
}


def lift(
    cells: Sequence[Cell],
    values: Sequence[object],
    *,
    homes: Sequence[str],
    chain: Sequence[str],
    start: object = None,
) -> dict[Path, object]:
    """The tables that say the value of each cell; None is a cell that must be given none.

    One of the levels `homes` says it for all, if one can: that with the fewest tables, of equal
    ones the first. Otherwise the levels of `chain`, weakest first, each override the one before
    where that leaves fewer exceptions. `start` is what a cell has that nothing is said of.
    """
    best: dict[Path, object] | None = None
    for level in homes:
        found = _alone(cells, values, LEVELS[level])
        if found is not None and (best is None or len(found) < len(best)):
            best = found
    return best if best is not None else _in_turn(cells, values, chain, start)


def _alone(
    cells: Sequence[Cell], values: Sequence[object], level: _Level
) -> dict[Path, object] | None:
    """The tables of one level that say everything, None if they cannot."""
    found: dict[Path, object] = {}
    for cell, value in zip(cells, values, strict=True):
        path = level(cell)
        if path is None or _key(found.setdefault(path, value)) != _key(value):
            return None
    return {path: value for path, value in found.items() if value is not None}


def _in_turn(
    cells: Sequence[Cell], values: Sequence[object], chain: Sequence[str], start: object
) -> dict[Path, object]:
    said: dict[Path, object] = {}
    has = [_key(start)] * len(cells)
    wants = [_key(value) for value in values]
    for name in chain:
        groups: dict[Path, list[int]] = {}
        for index, cell in enumerate(cells):
            if (path := LEVELS[name](cell)) is not None:
                groups.setdefault(path, []).append(index)
        for path, members in groups.items():
            if any(values[index] is None for index in members):
                continue  # what is once said cannot be unsaid further down
            usual = Counter(wants[index] for index in members).most_common(1)[0][0]
            gain = sum((wants[i] == usual) - (wants[i] == has[i]) for i in members)
            agree = all(wants[index] == usual for index in members)
            first = start is None and all(has[index] == _key(None) for index in members)
            must = name == "family" and chain[0] == "family"
            if gain > 1 or (gain == 1 and (agree or first)) or must:
                said[path] = next(values[i] for i in members if wants[i] == usual)
                for index in members:
                    has[index] = usual
    return said


def _key(value: object) -> Hashable:
    return json.dumps(value, sort_keys=True, default=str)
