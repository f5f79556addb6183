"""Who waits for whom: the order of the jobs, and the resource groups that bound concurrency.

A resource group lets one job run at a time, so a pool that can run N jobs at once gets N groups,
and its jobs are dealt out over them. A job then waits in GitLab, where waiting is free, and not as
a Pending pod, which the runner gives up on after its `poll_timeout`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_pipeline.dealing import deal
from gpu_pipeline.demand import training_times
from gpu_pipeline.jobs import Job, Sourced
from gpu_pipeline.levelling import Load, deal_level
from gpu_pipeline.record import Record
from gpu_pipeline.refining import (
    FEW,
    VERY_FEW,
    Slots,
    best_of_all,
    least_time,
    refine,
    time_of,
    time_placed,
)

# As good as the best: the figures are not as exact.
_NEAR = 1.0001


class Queued(Record):
    """A job and its resource group; None for a pool that is queued by Kubernetes."""

    job: Job
    group: str | None


def queue_up(jobs: Sequence[Job], pipeline_queue: str | None) -> list[Queued]:
    """The jobs in the order of creation, pools in that of the file, each with its resource group.

    Runners take pending jobs in the order of creation, so within a pool the longest come first,
    and jobs of equal length keep their order. The groups of a pool get work for about the same
    time. Where jobs keep the GPU busy to different degrees, those that run side by side should
    together ask for about as much as any others do; then the order is the one that sees to it.
    """
    times = {name: time.seconds for name, time in training_times(jobs).items()}
    pools: dict[str, list[Job]] = {}
    for job in sorted(jobs, key=lambda job: -times[job.name]):
        pools.setdefault(job.pool.value, []).append(job)
    queue = []
    for pool in dict.fromkeys(job.pool.value for job in jobs):
        members = pools[pool]
        settings = members[0].pool_settings
        if (settings.queue or pipeline_queue) == "kubernetes":
            queue += [Queued(job=job, group=None) for job in members]
            continue
        dealt = deal_pool(
            [
                Load(seconds=times[job.name], share=known_share(job.gpu_utilization))
                for job in members
            ],
            concurrency=settings.concurrency or 1,
            max_nodes=settings.max_nodes or 1,
            gpus=settings.gpus or 1,
        )
        queue += [Queued(job=members[n], group=group_name(pool, slot)) for n, slot in dealt]
    return queue


def known_share(utilization: Sourced[float] | None) -> float:
    """A share to deal by. One that nobody stated must not decide who stands behind whom."""
    return utilization.value if utilization else 0.0


def group_name(pool: str, slot: int) -> str:
    """The resource group of a pool's slot, which counts from 0."""
    return f"{pool}/{slot + 1}"


def deal_pool(
    loads: Sequence[Load], *, concurrency: int, max_nodes: int, gpus: int
) -> list[tuple[int, int]]:
    """The jobs of a pool in the order of creation, each its number and its slot.

    `loads` stand longest first; `concurrency` and `gpus` are those of one node.
    """
    # GPUs that do not divide a node's jobs evenly are looked at as one larger GPU.
    apart, together = (gpus, 1) if concurrency % gpus == 0 else (1, gpus)
    loads = [Load(seconds=load.seconds, share=load.share / together) for load in loads]
    # More GPUs or slots than jobs change nothing, but would be looked at one by one.
    cards, count = min(max_nodes * apart, len(loads)), min(concurrency * max_nodes, len(loads))
    dealt = deal([load.seconds for load in loads], count)
    slots = [[job for job, where in enumerate(dealt) if where == slot] for slot in range(count)]
    least = least_time(loads, slots=count, gpus=cards)
    judge = time_placed if len(loads) <= FEW else time_of
    plain = judge(loads, slots, cards)
    if plain <= least * _NEAR:
        return list(enumerate(dealt))
    candidates = [slots]
    if len({load.share for load in loads}) > 1:
        per_gpu = min(concurrency // apart, len(loads))
        candidates.append(deal_level(loads, gpus=cards, per_gpu=per_gpu))
    if len(loads) <= FEW:
        candidates += [refine(loads, each, cards) for each in candidates]
    best = min(candidates, key=lambda each: judge(loads, each, cards))
    if len(loads) <= VERY_FEW:
        best = best_of_all(loads, count, cards, judge(loads, best, cards)) or best
    if judge(loads, best, cards) * _NEAR >= plain:  # what depends on least is preferred
        return list(enumerate(dealt))
    return _by_start(loads, best)


def _by_start(loads: Sequence[Load], slots: Slots) -> list[tuple[int, int]]:
    """Jobs and slots in the order in which they would start if none slowed another down."""
    started = []
    for slot, jobs in enumerate(slots):
        before = 0.0
        for job in jobs:
            started.append((before, slot, job))
            before += loads[job].seconds
    return [(job, slot) for _, slot, job in sorted(started)]
