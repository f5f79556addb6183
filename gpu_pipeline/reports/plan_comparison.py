"""Tables that set one plan beside another. A difference is ours less theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.model import Run, Stuck
from gpu_pipeline.plan.summary import Plan, PoolUse
from gpu_pipeline.record import Record
from gpu_pipeline.reports import plan_words as words
from gpu_pipeline.reports.plan_tables import (
    Cell,
    Column,
    Row,
    Table,
    number,
    numbers,
    texts,
    wide,
)

T = TypeVar("T")
_NONE = Cell(text="–")


class _Measure(Record, Generic[T]):
    """A number that two things have; it may be unknown. Each plan may write it in its own way."""

    of: Callable[[T], float | None]
    texts: tuple[Callable[[float | None], str], Callable[[float | None], str]]
    difference: Callable[[float | None, float | None], str]

    def beside(self, ours: T | None, theirs: T | None) -> tuple[Cell, Cell, Cell]:
        """Ours, theirs and the difference; a thing that one side lacks has none."""
        values = [None if each is None else self.of(each) for each in (ours, theirs)]
        mine, other = (
            _NONE if each is None else number(value, text(value))
            for each, value, text in zip((ours, theirs), values, self.texts, strict=True)
        )
        if ours is None or theirs is None:
            return mine, other, _NONE
        a, b = values
        change = None if a is None or b is None else a - b
        return mine, other, number(change, self.difference(a, b))


def _known(write: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda value: words.UNKNOWN if value is None else write(value)


def _measure(
    of: Callable[[T], float | None],
    write: Callable[[float], str],
    difference: Callable[[float, float], str],
) -> _Measure[T]:
    return _Measure(
        of=of,
        texts=(_known(write), _known(write)),
        difference=lambda a, b: words.UNKNOWN if a is None or b is None else difference(a, b),
    )


def _time(of: Callable[[T], float]) -> _Measure[T]:
    return _measure(of, format_duration, words.time_difference)


def _amount(of: Callable[[T], int]) -> _Measure[T]:
    return _measure(of, lambda value: f"{value:.0f}", words.amount_difference)


def _cost(of: Callable[[T], float | None], ours: Plan, theirs: Plan) -> _Measure[T]:
    mine, other = (plan.schedule.workload.currency for plan in (ours, theirs))
    return _Measure(
        of=of,
        texts=(lambda value: words.money(value, mine), lambda value: words.money(value, other)),
        difference=lambda a, b: (
            words.money_difference(a, b, mine) if mine == other else "other currency"
        ),
    )


def cost_difference(ours: Plan, theirs: Plan) -> str:
    """The difference in cost; unknown if a price is, or if the currencies differ."""
    measure: _Measure[Plan] = _cost(lambda plan: plan.cost, ours, theirs)
    return measure.difference(ours.cost, theirs.cost)


def compared(ours: Plan, theirs: Plan, names: tuple[str, str]) -> tuple[Table, ...]:
    """The runs as a whole, their pools, and their jobs, which are matched by name."""
    return _runs(ours, theirs, names), _pools(ours, theirs, names), _jobs(ours, theirs, names)


def _beside(names: tuple[str, str]) -> tuple[Column, ...]:
    return numbers(*names, "Difference")


def _groups(first: int, *names: str) -> tuple[tuple[str, int], ...]:
    return (("", first), *((name, 3) for name in names))


def _runs(ours: Plan, theirs: Plan, names: tuple[str, str]) -> Table:
    measures: dict[str, _Measure[Plan]] = {
        "Makespan": _time(lambda plan: plan.makespan),
        "Cost": _cost(lambda plan: plan.cost, ours, theirs),
        "Mean wait": _time(lambda plan: plan.mean_wait),
        "Node hours": _measure(lambda plan: plan.paid, words.node_hours, words.hours_difference),
        "GPU of paid time": _measure(
            lambda plan: plan.gpu_paid, words.share, words.share_difference
        ),
        "Jobs that run": _amount(lambda plan: len(plan.schedule.runs)),
        "Jobs that their timeout ends": _amount(lambda plan: len(plan.late)),
        "Jobs given up while Pending": _amount(lambda plan: len(plan.hopeless)),
        "Jobs that never start": _amount(lambda plan: len(plan.schedule.stuck)),
    }
    return Table(
        caption="The run",
        columns=(*texts("Figure"), *_beside(names)),
        rows=tuple(
            Row(cells=(Cell(text=what), *measure.beside(ours, theirs)))
            for what, measure in measures.items()
        ),
        is_sortable=False,
    )


def _pools(ours: Plan, theirs: Plan, names: tuple[str, str]) -> Table:
    measures: dict[str, _Measure[PoolUse]] = {
        "Jobs": _amount(lambda use: use.jobs),
        "Node hours": _measure(lambda use: use.paid, words.node_hours, words.hours_difference),
        "GPU of paid time": _measure(lambda use: use.gpu_paid, words.share, words.share_difference),
        "Cost": _cost(lambda use: use.cost, ours, theirs),
        "Done after": _time(lambda use: use.end),
    }
    mine, others = ({use.pool.name: use for use in plan.pools} for plan in (ours, theirs))

    def row(name: str) -> Row:
        a, b = mine.get(name), others.get(name)
        found = [cell for measure in measures.values() for cell in measure.beside(a, b)]
        return Row(cells=(Cell(text=name), _place(a, b, names), *found))

    return Table(
        caption="By pool",
        groups=_groups(2, *measures),
        columns=(*texts("Pool", "Used by"), *_beside(names) * len(measures)),
        rows=tuple(row(name) for name in dict.fromkeys([*mine, *others])),
    )


def _jobs(ours: Plan, theirs: Plan, names: tuple[str, str]) -> Table:
    measures: dict[str, _Measure[Run]] = {
        "Waits": _time(lambda run: run.waiting),
        "Takes": _time(lambda run: run.end - run.start),
        "Ends": _time(lambda run: run.end),
    }
    mine, others = ({run.job.name: run for run in plan.schedule.runs} for plan in (ours, theirs))
    stuck = [{each.job.name: each for each in plan.schedule.stuck} for plan in (ours, theirs)]
    every = dict.fromkeys(
        job.name for plan in (ours, theirs) for job in plan.schedule.workload.jobs
    )

    def row(name: str) -> Row:
        a, b = mine.get(name), others.get(name)
        found = [cell for measure in measures.values() for cell in measure.beside(a, b)]
        places = (a or stuck[0].get(name), b or stuck[1].get(name))
        return Row(cells=(Cell(text=name), _move(places, names), *found))

    return Table(
        caption="By job",
        groups=_groups(2, *measures),
        columns=(*texts("Job"), *wide("Pool"), *_beside(names) * len(measures)),
        rows=tuple(row(name) for name in every),
    )


def _place(ours: object, theirs: object, names: tuple[str, str]) -> Cell:
    if ours is not None and theirs is not None:
        return Cell(text="both")
    return Cell(text=f"only {names[0] if theirs is None else names[1]}")


def _move(places: Sequence[Run | Stuck | None], names: tuple[str, str]) -> Cell:
    """Where a job is: one pool, a move from theirs to ours, or that one side lacks it."""
    ours, theirs = places
    said = [each and f"{each.job.pool}{_never(each)}" for each in places]
    if ours is None or theirs is None:
        return Cell(text=f"{said[0] or said[1]}, only {names[theirs is not None]}", warns=True)
    moved = ours.job.pool != theirs.job.pool or type(ours) is not type(theirs)
    return Cell(text=f"{said[1]} → {said[0]}" if moved else f"{said[0]}")


def _never(place: Run | Stuck) -> str:
    return " (never starts)" if isinstance(place, Stuck) else ""
