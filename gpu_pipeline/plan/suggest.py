"""A better routing: which pool for each model, and how many jobs at once.

A local search over the plans: from what is, always the best single step, as long as one helps; then
every step that turns out not to matter is taken back. Small enough to try everything around a plan,
and each step can be explained by what the plan loses without it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping

from msgspec import field
from msgspec.structs import replace

from gpu_pipeline.plan.model import PlannedJob, PlannedPool, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.units import Unit, fits
from gpu_pipeline.plan.variants import moved, regrouped
from gpu_pipeline.record import Record

# A gain below this share is noise: the figures are not as exact.
_LEAST_GAIN = 0.005
_MAX_CONCURRENCY = 16
_MAX_STEPS = 40


class Goal(enum.StrEnum):
    """What a suggestion is better in. The last two are worse in the other respect."""

    CHEAPER = "cheaper"
    FASTER = "faster"
    CHEAPEST = "cheapest"
    FASTEST = "fastest"

    @property
    def is_trade(self) -> bool:
        """Whether money is traded for time."""
        return self in (Goal.CHEAPEST, Goal.FASTEST)


class Step(Record):
    """One change: a unit to another pool, and the number of jobs at once on a pool's nodes."""

    pool: str
    unit: Unit | None = None
    concurrency: int | None = None


class Choice(Record):
    """Where the units run that are moved, by name, and how many jobs at once, by pool."""

    homes: Mapping[str, str] = field(default_factory=dict)
    concurrency: Mapping[str, int] = field(default_factory=dict)


class Suggestion(Record):
    """A routing that is better, the plan it gives, and each step with what is lost without it."""

    goal: Goal
    choice: Choice
    plan: Plan
    steps: tuple[tuple[Step, Plan], ...]


class Search:
    """Looks for better plans of one workload. Plans are kept: neighbours come up again.

    `realise` gives the plan of a routing that is edited by a choice, or why it must not be edited
    so. The search goes by the workload, where a moved job stands elsewhere in the order than it
    will in the file; what is suggested, and told of its steps, is what the edited routing gives.
    """

    def __init__(
        self, workload: Workload, units: tuple[Unit, ...], realise: Callable[[Choice], Plan | str]
    ) -> None:
        self.refused: dict[Goal, str] = {}
        """Why what was found towards a goal is not suggested, where it was refused."""
        self._workload = workload
        self._units = {unit.name: unit for unit in units}
        self._realise = realise
        self._plans: dict[tuple[frozenset[tuple[str, str | int]], ...], Plan | None] = {}
        self._now = self._plan(Choice())

    def suggestions(self) -> list[Suggestion]:
        """The best plan towards each goal, as far as there is one better than what is."""
        found: list[Suggestion] = []
        for goal in Goal:
            suggestion = self._towards(goal)
            if suggestion and all(each.choice != suggestion.choice for each in found):
                found.append(suggestion)
        return found

    @property
    def looked_at(self) -> int:
        """How many plans were compared."""
        return sum(plan is not None for plan in self._plans.values())

    def _towards(self, goal: Goal) -> Suggestion | None:
        choice = Choice()
        best = self._score(goal, choice)
        if best is None:
            return None
        start = best
        for _ in range(_MAX_STEPS):
            scored = [
                (score, n, each)
                for n, each in enumerate(self._neighbours(choice))
                if (score := self._score(goal, each)) is not None
            ]
            score, _, nearest = min(scored, default=(best, 0, choice), key=lambda each: each[:2])
            if score >= best * (1 - _LEAST_GAIN / 10):
                break
            best, choice = score, nearest
        choice = self._pruned(goal, choice, best)
        if best > start * (1 - _LEAST_GAIN):
            return None
        plan = self._realise(choice)
        if isinstance(plan, str):
            self.refused[goal] = plan
            return None
        score = self._score_of(goal, plan)
        if score is None or score > start * (1 - _LEAST_GAIN):
            return None
        return Suggestion(goal=goal, choice=choice, plan=plan, steps=tuple(self._steps(choice)))

    def _score(self, goal: Goal, choice: Choice) -> float | None:
        """What is to be small; None where the plan is not possible, or worse than it may be."""
        return self._score_of(goal, self._plan(choice))

    def _score_of(self, goal: Goal, plan: Plan | None) -> float | None:
        now = self._now
        if plan is None or now is None:
            return None
        slack = 1 + 1e-9
        if goal is Goal.CHEAPER and plan.makespan > now.makespan * slack:
            return None
        if goal is Goal.FASTER and (plan.cost or 0) > (now.cost or 0) * slack:
            return None
        return plan.cost if goal in (Goal.CHEAPER, Goal.CHEAPEST) else plan.makespan

    def _neighbours(self, choice: Choice) -> Iterator[Choice]:
        """Everything one step away: a move, other jobs at once, or a move with the latter."""
        counts = [
            replace(choice, concurrency={**choice.concurrency, pool.name: count})
            for pool in self._workload.pools.values()
            for count in range(1, _MAX_CONCURRENCY + 1)
        ]
        yield from counts
        for unit in self._units.values():
            for target in self._workload.pools:
                if target == choice.homes.get(unit.name, unit.home) or target not in unit.targets:
                    continue
                homes = {**choice.homes, unit.name: target}
                yield replace(choice, homes=homes)
                for count in counts:
                    yield replace(count, homes=homes)

    def _pruned(self, goal: Goal, choice: Choice, best: float) -> Choice:
        """The choice without the steps that do not matter."""
        for step in list(steps_of(choice, self._units)):
            without = _without(choice, step)
            score = self._score(goal, without)
            if score is not None and score <= best * (1 + _LEAST_GAIN / 10):
                choice = without
        return choice

    def _steps(self, choice: Choice) -> Iterator[tuple[Step, Plan]]:
        for step in steps_of(choice, self._units):
            plan = self._realise(_without(choice, step))
            # Taken back alone, a step may leave what is not possible; then all of it is the reason.
            without = self._now if isinstance(plan, str) else plan
            if without is not None:
                yield step, without

    def _plan(self, choice: Choice) -> Plan | None:
        """The plan of a choice; None for one that is not possible."""
        homes = {
            name: home for name, home in choice.homes.items() if home != self._units[name].home
        }
        counts = {
            name: count
            for name, count in choice.concurrency.items()
            if count != self._workload.pools[name].concurrency
        }
        key = (frozenset(homes.items()), frozenset(counts.items()))
        if key not in self._plans:
            workload = chosen(self._workload, self._units, Choice(homes=homes, concurrency=counts))
            raised = [
                name for name, n in counts.items() if n > self._workload.pools[name].concurrency
            ]
            if workload is not None and not fits(workload, {*counts, *homes.values()}, raised):
                workload = None
            self._plans[key] = summarise(simulate(workload)) if workload else None
        return self._plans[key]


def chosen(workload: Workload, units: Mapping[str, Unit], choice: Choice) -> Workload | None:
    """The workload with units moved and pools changed; None where nobody knows what a job does."""
    pools: dict[str, PlannedPool] = {
        name: replace(pool, concurrency=choice.concurrency.get(name, pool.concurrency))
        for name, pool in workload.pools.items()
    }
    targets = {job: home for name, home in choice.homes.items() for job in units[name].jobs}
    jobs: list[PlannedJob] = []
    for job in workload.jobs:
        there = job if job.name not in targets else moved(job, pools, targets[job.name])
        if there is None:
            return None
        jobs.append(there)
    if not (targets or choice.concurrency):
        return workload
    return regrouped(replace(workload, jobs=tuple(jobs), pools=pools))


def steps_of(choice: Choice, units: Mapping[str, Unit]) -> Iterator[Step]:
    """The changes that a choice makes, one by one."""
    for name, home in choice.homes.items():
        if home != units[name].home:
            yield Step(unit=units[name], pool=home)
    for pool, count in choice.concurrency.items():
        yield Step(pool=pool, concurrency=count)


def _without(choice: Choice, step: Step) -> Choice:
    if step.unit is not None:
        homes = {name: home for name, home in choice.homes.items() if name != step.unit.name}
        return replace(choice, homes=homes)
    counts = {name: count for name, count in choice.concurrency.items() if name != step.pool}
    return replace(choice, concurrency=counts)
