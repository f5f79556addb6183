"""Who waits for whom: the order of the jobs, and the resource groups that bound concurrency.

A resource group lets one job run at a time, so a pool that can run N jobs at once gets N groups,
and its jobs are dealt out over them. A job then waits in GitLab, where waiting is free, and not as
a Pending pod, which the runner gives up on after its `poll_timeout`.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from statistics import fmean

from gpu_pipeline.jobs import Job


def longest_first(jobs: Sequence[Job]) -> list[Job]:
    """The jobs of each pool together, pools in the order of the file, longest first within one.

    Runners take pending jobs in the order of creation, which is the order of the file. Jobs of
    equal length keep their order.
    """
    pools = {pool: n for n, pool in enumerate(dict.fromkeys(job.pool.value for job in jobs))}
    weights = job_weights(jobs)
    return sorted(jobs, key=lambda job: (pools[job.pool.value], -weights[job.name]))


def job_weights(jobs: Sequence[Job]) -> dict[str, float]:
    """How long each job is, in seconds where measured, comparable within one pool.

    A model that was never measured counts as the mean of its pool's measured ones per epoch; in a
    pool without any measurement the number of epochs decides.
    """
    measured: dict[str, list[float]] = {}
    for job in jobs:
        for each in job.seconds_per_epoch.values():
            measured.setdefault(job.pool.value, []).append(each.value)
    means = {pool: fmean(values) for pool, values in measured.items()}
    weights = {}
    for job in jobs:
        assumed = means.get(job.pool.value, 1.0)
        own = job.seconds_per_epoch
        weights[job.name] = job.epochs * sum(
            own[model].value if model in own else assumed for model in job.models
        )
    return weights


def resource_groups(jobs: Sequence[Job], pipeline_queue: str | None) -> Mapping[str, str]:
    """The resource group of each job, by job name; jobs of a pool queued by Kubernetes have none.

    Jobs are dealt longest first to the group with the least work so far.
    """
    weights = job_weights(jobs)
    slots: dict[str, list[tuple[float, int]]] = {}
    groups = {}
    for job in longest_first(jobs):
        pool = job.pool_settings
        if (pool.queue or pipeline_queue) == "kubernetes":
            continue
        if job.pool.value not in slots:
            count = (pool.concurrency or 1) * (pool.max_nodes or 1)
            slots[job.pool.value] = [(0.0, n) for n in range(1, min(count, len(jobs)) + 1)]
        heap = slots[job.pool.value]
        load, number = heap[0]
        heapq.heapreplace(heap, (load + weights[job.name], number))
        groups[job.name] = f"{job.pool.value}/{number}"
    return groups
