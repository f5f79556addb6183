"""What one more slot, one more node or smaller requests would change, pool by pool."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gpu_pipeline.plan.model import RESOURCES, PlannedJob, PlannedPool, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.variants import regrouped, with_pool
from gpu_pipeline.record import Record
from gpu_pipeline.words import ordinal, percent

_LEAST_SHARE = 1e-9
_RESOURCE_WORDS = dict(zip(RESOURCES, ("CPU", "memory", "disk"), strict=True))


class Change(Record):
    """One thing that could be otherwise in a pool, with the plan it gives and why it matters."""

    pool: str
    what: str
    plan: Plan
    why: str


def changes(plan: Plan) -> list[Change]:
    """For each pool: a slot more and one less, a node more, requests that let more jobs fit."""
    workload = plan.schedule.workload
    found = []
    for use in plan.pools:
        jobs = [job for job in workload.jobs if job.pool == use.pool.name]
        found += list(_of_pool(workload, use.pool, jobs))
    return found


def _of_pool(workload: Workload, pool: PlannedPool, jobs: Sequence[PlannedJob]) -> Iterator[Change]:
    fit = _fit(pool, jobs)
    more = pool.concurrency + 1
    if fit is None or fit[0] >= more:
        what = f"a {ordinal(more)} job at once on a node"
        yield _with(workload, replace(pool, concurrency=more), what, _saturation(pool, jobs, more))
    if fit is not None and fit[0] < more and len(jobs) > 1:
        yield from _smaller(workload, pool, jobs, fit[1])
    if pool.concurrency > 1:
        fewer = pool.concurrency - 1
        what = f"only {fewer} at once on a node"
        why = _saturation(pool, jobs, fewer)
        yield _with(workload, replace(pool, concurrency=fewer), what, why)
    if len(jobs) > 1:
        nodes = pool.max_nodes + 1
        what = f"a {ordinal(nodes)} node"
        yield _with(workload, replace(pool, max_nodes=nodes), what, "")


def _with(workload: Workload, pool: PlannedPool, what: str, why: str) -> Change:
    plan = summarise(simulate(with_pool(workload, pool)))
    return Change(pool=pool.name, what=what, plan=plan, why=why)


def _fit(pool: PlannedPool, jobs: Sequence[PlannedJob]) -> tuple[int, int] | None:
    """How many of the largest jobs fit on a node by their requests, and which resource binds."""
    counts = [
        (amount // request, i)
        for i, amount in enumerate(pool.allocatable)
        for request in [max(job.requests[i] for job in jobs)]
        if amount is not None and request
    ]
    return min(counts, default=None)


def _smaller(
    workload: Workload, pool: PlannedPool, jobs: Sequence[PlannedJob], resource: int
) -> Iterator[Change]:
    """The largest request of the binding resource with which one more job would fit."""
    amount = pool.allocatable[resource]
    most = max(job.requests[resource] for job in jobs)
    count = (amount or 0) // most + 1
    request = (amount or 0) // count
    if not request:
        return

    def capped(job: PlannedJob) -> PlannedJob:
        if job.pool != pool.name:
            return job
        cpu, memory, disk = (
            min(each, request) if i == resource else each for i, each in enumerate(job.requests)
        )
        return replace(job, requests=(cpu, memory, disk))

    smaller = replace(
        workload,
        jobs=tuple(map(capped, workload.jobs)),
        pools={
            **workload.pools,
            pool.name: replace(pool, concurrency=max(count, pool.concurrency)),
        },
    )
    word = _RESOURCE_WORDS[RESOURCES[resource]]
    shown = f"{request}m" if resource == 0 else f"{request / 2**30:.1f}Gi"
    yield Change(
        pool=pool.name,
        what=f"{word} requests of {shown} a pod, so that {count} fit on a node",
        plan=summarise(simulate(regrouped(smaller))),
        why=_saturation(pool, jobs, count),
    )


def _saturation(pool: PlannedPool, jobs: Sequence[PlannedJob], at_once: int) -> str:
    """How full so many jobs at once make a GPU, and from how many on it is full."""
    share = mean_share(jobs)
    each = math.ceil(at_once / pool.gpus)
    full = full_with(share)
    asked = f"{each} × {percent(share)} of the GPU"
    if each < full:
        return f"{asked}: it is full with {full}"
    if each == full:
        return f"{asked} fill it"
    return f"{asked}: it is full with {full} already"


def mean_share(jobs: Sequence[PlannedJob]) -> float:
    """The mean share of a GPU that the jobs keep busy, by time."""
    seconds = sum(job.seconds.value for job in jobs)
    return sum(job.seconds.value * job.gpu.value for job in jobs) / seconds


def full_with(share: float) -> int:
    """With how many jobs of that share at once a GPU is full; a share of nothing ends somewhere."""
    return math.ceil(1 / max(share, _LEAST_SHARE) - 1e-9)
