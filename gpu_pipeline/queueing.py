"""Who waits for whom: the order of the jobs, and the resource groups that bound concurrency.

A resource group lets one job run at a time, so a pool that can run N jobs at once gets N groups,
and its jobs are dealt out over them. A job then waits in GitLab, where waiting is free, and not as
a Pending pod, which the runner gives up on after its `poll_timeout`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_pipeline.dealing import deal
from gpu_pipeline.demand import gpu_share, training_times
from gpu_pipeline.jobs import Job
from gpu_pipeline.levelling import Load, deal_level


@dataclass(frozen=True, kw_only=True)
class Queued:
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
            [Load(seconds=times[job.name], share=gpu_share(job)) for job in members],
            concurrency=settings.concurrency or 1,
            max_nodes=settings.max_nodes or 1,
            gpus=settings.gpus or 1,
        )
        queue += [Queued(job=members[n], group=group_name(pool, slot)) for n, slot in dealt]
    return queue


def group_name(pool: str, slot: int) -> str:
    """The resource group of a pool's slot, which counts from 0."""
    return f"{pool}/{slot + 1}"


def deal_pool(
    loads: Sequence[Load], *, concurrency: int, max_nodes: int, gpus: int
) -> list[tuple[int, int]]:
    """The jobs of a pool in the order of creation, each its number and its slot.

    `loads` stand longest first; `concurrency` and `gpus` are those of one node.
    """
    if len({load.share for load in loads}) == 1:
        slots = min(concurrency * max_nodes, len(loads))
        return list(enumerate(deal([load.seconds for load in loads], slots)))
    # GPUs that do not divide a node's jobs evenly are looked at as one larger GPU.
    apart, together = (gpus, 1) if concurrency % gpus == 0 else (1, gpus)
    places = deal_level(
        [Load(seconds=load.seconds, share=load.share / together) for load in loads],
        gpus=max_nodes * apart,
        per_gpu=concurrency // apart,
    )
    started = sorted(enumerate(places), key=lambda each: (each[1].before, each[1].slot))
    return [(number, place.slot) for number, place in started]
