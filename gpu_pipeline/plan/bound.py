"""How short a run can be at best, and what keeps it from being shorter.

Every bound holds for any order and any placement of the jobs. A pool's bounds begin when its first
node can be ready.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.plan.model import PlannedJob, PlannedPool, Workload
from gpu_pipeline.record import Record


class Limit(enum.StrEnum):
    """What a run cannot be shorter than."""

    LONGEST = "the longest job"
    CHAIN = "jobs that need each other"
    SLOTS = "slots"
    PAIR = "two long jobs in one slot"
    GPU = "the GPU"
    CPU = "CPU"
    CPU_REQUESTS = "CPU requests"
    MEMORY_REQUESTS = "memory requests"
    DISK_REQUESTS = "disk requests"
    RUNNER = "the runner's limit"


_REQUESTS = (Limit.CPU_REQUESTS, Limit.MEMORY_REQUESTS, Limit.DISK_REQUESTS)


class Bound(Record):
    """The run, or a pool's part of it, takes at least `seconds`, because of `limit`."""

    seconds: float
    limit: Limit
    pool: str


def lower_bound(workload: Workload) -> Bound | None:
    """The highest of all bounds; None without jobs."""
    found = [*pool_bounds(workload).values(), *_chains(workload), *_runner(workload)]
    return max(found, key=lambda bound: bound.seconds, default=None)


def pool_bounds(workload: Workload) -> dict[str, Bound]:
    """For each pool that has jobs, the highest of the bounds that concern it alone."""
    members: dict[str, list[PlannedJob]] = {}
    for job in workload.jobs:
        members.setdefault(job.pool, []).append(job)
    return {
        name: max(_of_pool(workload.pools[name], jobs), key=lambda bound: bound.seconds)
        for name, jobs in members.items()
    }


def _of_pool(pool: PlannedPool, jobs: Sequence[PlannedJob]) -> Iterator[Bound]:
    def bound(limit: Limit, seconds: float) -> Bound:
        return Bound(seconds=pool.first_start + seconds, limit=limit, pool=pool.name)

    lengths = sorted((job.seconds.value for job in jobs), reverse=True)
    slots, nodes = pool.slots, pool.max_nodes
    late = [max(job.delay - pool.first_start, 0.0) + job.seconds.value for job in jobs]
    yield bound(Limit.LONGEST, max(late))
    yield bound(Limit.SLOTS, sum(lengths) / slots)
    if len(lengths) > slots:
        yield bound(Limit.PAIR, lengths[slots - 1] + lengths[slots])
    gpu_work = sum(job.seconds.value * job.gpu.value for job in jobs)
    yield bound(Limit.GPU, gpu_work / (nodes * pool.gpus))
    cores = pool.allocatable[0]
    if cores:
        cpu_work = sum(job.seconds.value * job.cpu.value for job in jobs)
        yield bound(Limit.CPU, cpu_work * 1000 / (nodes * cores))
    for i, (limit, amount) in enumerate(zip(_REQUESTS, pool.allocatable, strict=True)):
        if amount:
            asked = sum(job.seconds.value * job.requests[i] for job in jobs)
            yield bound(limit, asked / (nodes * amount))


def _chains(workload: Workload) -> Iterator[Bound]:
    """The longest chain of jobs that need each other."""
    if not any(job.needs for job in workload.jobs):
        return
    jobs = {job.name: job for job in workload.jobs}
    ends: dict[str, float] = {}
    for job in workload.jobs:
        _end_at_best(job.name, jobs, workload.pools, ends)
    last = max(ends, key=ends.__getitem__)
    yield Bound(seconds=ends[last], limit=Limit.CHAIN, pool=jobs[last].pool)


def _end_at_best(
    name: str,
    jobs: Mapping[str, PlannedJob],
    pools: Mapping[str, PlannedPool],
    ends: dict[str, float],
) -> None:
    """Note when a job ends at best; without recursion, for a chain may be long."""
    open_jobs = [name]
    while open_jobs:
        job = jobs[open_jobs[-1]]
        missing = [needed for needed in job.needs if needed not in ends]
        if missing:
            open_jobs += missing
            continue
        open_jobs.pop()
        ready = max((ends[needed] for needed in job.needs), default=0.0) + job.delay
        ends[job.name] = max(ready, pools[job.pool].first_start) + job.seconds.value


def _runner(workload: Workload) -> Iterator[Bound]:
    """Each runner's limit, and `concurrent` of all together."""
    for name, limit in workload.limits.items():
        mine = [job for job in workload.jobs if name in ("", job.runner)]
        if mine and limit:
            start = min(workload.pools[job.pool].first_start for job in mine)
            work = sum(job.seconds.value for job in mine) / limit
            yield Bound(seconds=start + work, limit=Limit.RUNNER, pool=mine[0].pool)
