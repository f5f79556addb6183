"""What two plans amount to, figure by figure, and how far they are apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from gpu_pipeline.plan.model import Source
from gpu_pipeline.plan.summary import Plan, PoolUse
from gpu_pipeline.record import Record

_HOUR = 3600.0


class Pair(Record):
    """A figure of both plans; None where it is not known, or means nothing."""

    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        """How much more it is after."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def share(self) -> float | None:
        """The difference as a share of the figure before."""
        if self.difference is None or not self.before:
            return None
        return self.difference / self.before


class Figures(Record):
    """Figures of a plan, or of one pool in it.

    `end` is the makespan or the end of the pool's last job, `wait` the mean of the jobs, both in
    seconds; `paid` are node hours; `gpu` is the share of the paid time that GPUs work.
    """

    jobs: Pair
    end: Pair
    wait: Pair
    paid: Pair
    gpu: Pair
    cost: Pair


class PlanDiff(Record):
    """Two plans side by side: in total and for each pool of either, those of `after` first.

    `currency` is that of the costs; where the two differ, costs are not compared. `reliability`
    counts the durations of the plan after by where they come from.
    """

    before: Plan | None
    after: Plan
    total: Figures
    pools: dict[str, Figures]
    currency: str
    same_currency: bool
    reliability: Counter[Source]


def compare_plans(before: Plan | None, after: Plan) -> PlanDiff:
    """Two plans side by side; None before is a routing that did not exist."""
    uses = [{use.pool.name: use for use in plan.pools} if plan else {} for plan in (before, after)]
    old, new = uses
    currencies = {plan.schedule.workload.currency for plan in (before, after) if plan}
    return PlanDiff(
        before=before,
        after=after,
        total=_total(before, after),
        pools={name: _pool(old.get(name), new.get(name)) for name in {**new, **old}},
        currency=after.schedule.workload.currency,
        same_currency=len(currencies) == 1,
        reliability=Counter(job.seconds.source for job in after.schedule.workload.jobs),
    )


def _total(before: Plan | None, after: Plan) -> Figures:
    def pair(read: Callable[[Plan], float | None]) -> Pair:
        return Pair(before=read(before) if before else None, after=read(after))

    return Figures(
        jobs=pair(lambda plan: len(plan.schedule.workload.jobs)),
        end=pair(lambda plan: plan.makespan),
        wait=pair(lambda plan: plan.mean_wait),
        paid=pair(lambda plan: plan.paid / _HOUR),
        gpu=pair(lambda plan: plan.gpu_paid if plan.paid else None),
        cost=pair(lambda plan: plan.cost),
    )


def _pool(before: PoolUse | None, after: PoolUse | None) -> Figures:
    def pair(read: Callable[[PoolUse], float | None]) -> Pair:
        return Pair(before=read(before) if before else None, after=read(after) if after else None)

    return Figures(
        jobs=pair(lambda use: use.jobs),
        end=pair(lambda use: use.end),
        wait=pair(lambda use: use.mean_wait),
        paid=pair(lambda use: use.paid / _HOUR),
        gpu=pair(lambda use: use.gpu_paid if use.paid else None),
        cost=pair(lambda use: use.cost),
    )
