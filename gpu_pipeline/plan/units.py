"""What can be moved to another pool as one, and what fits there."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from gpu_pipeline.plan.model import PlannedJob, PlannedPool, Workload
from gpu_pipeline.plan.variants import moved
from gpu_pipeline.record import Record
from gpu_pipeline.words import count

# With more models than this, families move as a whole: nobody reads a hundred single moves.
_MANY = 40


class Unit(Record):
    """Models that move together: one, or a family. `family` is set when it moves as a whole.

    `held` says why it stays where it is, or, by pool, why it does not go there.
    """

    name: str
    family: str | None
    home: str
    jobs: tuple[str, ...]
    targets: tuple[str, ...]
    held: Mapping[str, str]


def units_of(workload: Workload) -> tuple[Unit, ...]:
    """All units in the order of the jobs. A job that trains several models keeps a family whole."""
    families: dict[str, list[PlannedJob]] = {}
    for job in workload.jobs:
        families.setdefault(job.family, []).append(job)
    whole = {name for name, jobs in families.items() if any(len(job.models) > 1 for job in jobs)}
    models = {job.models[0] for job in workload.jobs if job.family not in whole}
    if len(models) > _MANY:
        whole = set(families)
    found: list[Unit] = []
    for family, jobs in families.items():
        parts: dict[str, list[PlannedJob]] = {}
        for job in jobs:
            parts.setdefault(family if family in whole else job.models[0], []).append(job)
        for name, mine in parts.items():
            found.append(_unit(name, family if family in whole else None, mine, workload.pools))
    return tuple(found)


def _unit(
    name: str, family: str | None, jobs: Sequence[PlannedJob], pools: Mapping[str, PlannedPool]
) -> Unit:
    homes = {job.pool for job in jobs}
    held: dict[str, str] = {}
    targets = []
    if len(homes) > 1:
        held[""] = "its jobs are on several pools"
    elif any(job.pinned for job in jobs):
        held[""] = "pin = true"
    else:
        for target, pool in pools.items():
            why = _why_not(jobs, pool, pools) if target not in homes else ""
            if why:
                held[target] = why
            elif target not in homes:
                targets.append(target)
    return Unit(
        name=name,
        family=family,
        home=jobs[0].pool,
        jobs=tuple(job.name for job in jobs),
        targets=tuple(targets),
        held=held,
    )


def _why_not(
    jobs: Sequence[PlannedJob], pool: PlannedPool, pools: Mapping[str, PlannedPool]
) -> str:
    """Why the jobs cannot run on a pool; empty if they can."""
    home = pools[jobs[0].pool]
    if any(moved(job, pools, pool.name) is None for job in jobs):
        unknown = " and ".join(each.name for each in (home, pool) if each.speed is None)
        return f"how fast it would be is not known: gpu_speed is not set in {unknown}"
    if pool.gpu != home.gpu:
        if any(job.gpu_memory is None for job in jobs):
            return "whether it fits the card is not known: gpu_memory of the model is not set"
        if pool.gpu_memory is None:
            return f"whether it fits the card is not known: gpu_memory of {pool.name} is not set"
        if any((job.gpu_memory or 0) > pool.gpu_memory for job in jobs):
            return f"it does not fit the memory of an {pool.gpu}"
    return ""


def cards_unknown(workload: Workload) -> dict[str, str]:
    """Why no more jobs at once are tried on a pool: whether they fit its card is not known."""
    found = {}
    for name, pool in workload.pools.items():
        if pool.gpu_memory is None:
            found[name] = f"gpu_memory of {name} is not set"
        unknown = [job.name for job in workload.jobs if job.pool == name and job.gpu_memory is None]
        if unknown:
            more = ", …" if len(unknown) > 1 else ""
            jobs = f"{count(len(unknown), 'job')}: {unknown[0]}{more}"
            found[name] = f"gpu_memory is not set for {jobs}"
    return found


def fits(workload: Workload, changed: Collection[str], raised: Collection[str]) -> bool:
    """Whether on the `changed` pools as many of the largest jobs as run at once fit.

    They must fit a node by their requests, and its cards by their memory, which must be known where
    more run at once than before: on the `raised` pools.
    """
    for name in changed:
        pool = workload.pools[name]
        jobs = [job for job in workload.jobs if job.pool == name]
        if pool.concurrency > max(len(jobs), 1):
            return False  # slots that nobody uses
        if not _fit_node(pool, jobs) or not _fit_card(pool, jobs, must_know=name in raised):
            return False
    return True


def _fit_node(pool: PlannedPool, jobs: Sequence[PlannedJob]) -> bool:
    for i, amount in enumerate(pool.allocatable):
        if amount is not None:
            largest = sorted((job.requests[i] for job in jobs), reverse=True)[: pool.concurrency]
            if sum(largest) > amount:
                return False
    return True


def _fit_card(pool: PlannedPool, jobs: Sequence[PlannedJob], *, must_know: bool) -> bool:
    """Time-slicing shares time, not memory; under MPS each job has an equal share of it."""
    at_once = math.ceil(pool.concurrency / pool.gpus)
    if not jobs:
        return True
    if pool.gpu_memory is None or any(job.gpu_memory is None for job in jobs):
        return not must_know
    needs = sorted((job.gpu_memory or 0 for job in jobs), reverse=True)
    if pool.sharing == "mps":
        return needs[0] * at_once <= pool.gpu_memory
    return sum(needs[:at_once]) <= pool.gpu_memory
