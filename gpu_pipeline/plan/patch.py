"""A choice of pools and slots as changes of routing.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gpu_pipeline.jobs import Job
from gpu_pipeline.plan.model import PlannedJob, Workload
from gpu_pipeline.plan.suggest import Choice, Step, steps_of
from gpu_pipeline.plan.units import Unit
from gpu_pipeline.plan.variants import moved
from gpu_pipeline.toml_lines import Path


def routing_edits(
    choice: Choice,
    workload: Workload,
    units: Sequence[Unit],
    jobs: Sequence[Job],
    reason: Callable[[Step], str],
) -> dict[Path, object]:
    """The keys to set, and those to remove (None); `reason` is written beside a new pool.

    A key is set where the pool was chosen, or in the model's own table, which is stronger than its
    family's.
    """
    by_name = {job.name: job for job in jobs}
    named = {unit.name: unit for unit in units}
    edits: dict[Path, object] = {}
    for step in steps_of(choice, named):
        if step.unit is None:
            pool = workload.pools[step.pool]
            edits["pools", pool.name, "concurrency"] = step.concurrency
            if pool.sharing == "none" and (step.concurrency or 0) > pool.gpus:
                edits["pools", pool.name, "sharing"] = "time-slicing"
            continue
        for path in _pool_keys(step.unit, by_name):
            edits[path] = step.pool
            edits[(*path[:-1], "reason")] = reason(step)
        planned = [job for job in workload.jobs if job.name in step.unit.jobs]
        for each in planned:
            there = moved(each, workload.pools, step.pool)
            if there is not None:
                edits |= _figures(by_name[each.name], each, there)
    for name in _left_empty(choice, workload, named):
        edits = {path: value for path, value in edits.items() if path[:2] != ("pools", name)}
        edits["pools", name] = None
    return edits


def _pool_keys(unit: Unit, jobs: Mapping[str, Job]) -> list[Path]:
    """Where to write the pool of a unit."""
    chosen = [jobs[name].pool.origin.key for name in unit.jobs]
    if unit.family is None:
        own: Path = ("models", unit.name, "pool")
        chosen = [key if key[0] == "models" else own for key in chosen]
    return list(dict.fromkeys(chosen))


def _figures(job: Job, here: PlannedJob, there: PlannedJob) -> dict[Path, object]:
    """What the routing says of a job's use of its pool, as it will be on the other one.

    What was assumed stays unsaid.
    """
    edits: dict[Path, object] = {}
    longer = there.seconds.value / here.seconds.value
    for model in job.models:
        own: Path = ("models", model)
        if job.gpu_utilization is not None and there.gpu.value != here.gpu.value:
            edits[(*own, "gpu_utilization")] = round(there.gpu.value, 3)
        seconds = job.seconds_of(model)
        if seconds is not None and longer != 1:
            task: Path = (*own, "tasks", job.task)
            edits[(*task, "seconds_per_epoch")] = round(seconds * longer / job.epochs_in_all, 1)
            if model in job.expected and job.expected[model].origin.key[:-1] == task:
                edits[(*task, "expected")] = None
    return edits


def _left_empty(choice: Choice, workload: Workload, units: Mapping[str, Unit]) -> list[str]:
    """Pools that no job uses any more, which a routing may not have."""
    homes = {job: home for name, home in choice.homes.items() for job in units[name].jobs}
    used = {homes.get(job.name, job.pool) for job in workload.jobs}
    return [name for name in workload.pools if name not in used]
