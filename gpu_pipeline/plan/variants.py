"""The same workload under another routing: other pools, other places, its slots dealt anew."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from msgspec.structs import replace

from gpu_pipeline.levelling import Load
from gpu_pipeline.plan.model import Figure, PlannedJob, PlannedPool, Source, Workload
from gpu_pipeline.queueing import deal_pool, group_name


def with_pool(workload: Workload, pool: PlannedPool) -> Workload:
    """The workload with another pool in place of the one of the same name."""
    return regrouped(replace(workload, pools={**workload.pools, pool.name: pool}))


def regrouped(workload: Workload) -> Workload:
    """The workload with the slots of every pool dealt as the generator would deal them."""
    members: dict[str, list[PlannedJob]] = {}
    for job in sorted(workload.jobs, key=lambda job: -job.seconds.value):
        members.setdefault(job.pool, []).append(job)
    jobs: list[PlannedJob] = []
    for name in workload.pools:
        mine = members.get(name, [])
        pool = workload.pools[name]
        if pool.queue == "kubernetes":
            jobs += mine
            continue
        loads = tuple(Load(seconds=job.seconds.value, share=_known_share(job)) for job in mine)
        dealt = _dealt(loads, pool.concurrency, pool.max_nodes, pool.gpus) if mine else ()
        jobs += [replace(mine[n], group=group_name(name, slot)) for n, slot in dealt]
    return replace(workload, jobs=tuple(jobs))


@functools.lru_cache(maxsize=1024)
def _dealt(
    loads: tuple[Load, ...], concurrency: int, max_nodes: int, gpus: int
) -> tuple[tuple[int, int], ...]:
    """`deal_pool`, once for each pool: of a hundred variants most differ in another one."""
    return tuple(deal_pool(loads, concurrency=concurrency, max_nodes=max_nodes, gpus=gpus))


def _known_share(job: PlannedJob) -> float:
    """The share to deal by, as the generator does it."""
    return 0.0 if job.gpu.source is Source.ASSUMED else job.gpu.value


def moved(job: PlannedJob, pools: Mapping[str, PlannedPool], target: str) -> PlannedJob | None:
    """The job on another pool; None where nobody can tell what it would do there.

    On a slower GPU the share of the time in which the job keeps it busy becomes longer by as much,
    and the rest, which is the CPU's, stays as it is.
    """
    home, there = pools[job.pool], pools[target]
    if home.gpu == there.gpu:
        return replace(job, pool=target, group=None)
    if home.speed is None or there.speed is None:
        return None
    on_gpu = job.gpu.value * home.speed / there.speed
    longer = 1 - job.gpu.value + on_gpu
    return replace(
        job,
        pool=target,
        group=None,
        gpu=replace(job.gpu, value=on_gpu / longer),
        seconds=replace(job.seconds, value=job.seconds.value * longer),
    )


def timed(workload: Workload, model: Workload) -> Workload:
    """The workload with the times of `model`, which has the same jobs, where a file states none.

    What was measured or assumed is so for the pool at hand; after a move it is what `model` has.
    """
    times = {job.name: job.seconds for job in model.jobs}

    def seconds(job: PlannedJob) -> Figure:
        stated = {job.seconds.source, times[job.name].source} == {Source.CONFIGURED}
        return job.seconds if stated else times[job.name]

    jobs = tuple(replace(job, seconds=seconds(job)) for job in workload.jobs)
    return replace(workload, jobs=jobs)
