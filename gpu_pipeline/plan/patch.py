"""A choice of pools and slots as changes of routing.toml."""

from __future__ import annotations

import difflib
import re
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

    `jobs` are all of the routing, of which the workload may hold some only. A key is set where the
    pool was chosen, or in the model's own table, which is stronger than its family's.
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
        scaled = [
            (by_name[job.name], job, there)
            for job in workload.jobs
            if job.name in step.unit.jobs
            and (there := moved(job, workload.pools, step.pool)) is not None
        ]
        edits |= _shares([(job, there) for job, here, there in scaled if there.gpu != here.gpu])
        for job, here, there in scaled:
            edits |= _seconds(job, there.seconds.value / here.seconds.value)
    return _without_empty_pools(edits, jobs)


def _pool_keys(unit: Unit, jobs: Mapping[str, Job]) -> list[Path]:
    """Where to write the pool of a unit."""
    chosen = [jobs[name].pool.origin.key for name in unit.jobs]
    if unit.family is None:
        own: Path = ("models", unit.name, "pool")
        chosen = [key if key[0] == "models" else own for key in chosen]
    return list(dict.fromkeys(chosen))


def _shares(moved_jobs: Sequence[tuple[Job, PlannedJob]]) -> dict[Path, object]:
    """The shares of the GPU that the routing states, as they will be on the other pool.

    A model has one for all its tasks where they agree, unless a task of its own says otherwise.
    What was assumed stays unsaid.
    """
    edits: dict[Path, object] = {}
    models: dict[str, dict[Path, float]] = {}
    for job, there in moved_jobs:
        for model in job.models if job.gpu_utilization else ():
            own: Path = ("models", model, "tasks", job.task, "gpu_utilization")
            models.setdefault(model, {})[own] = round(there.gpu.value, 3)
    stated = {job.gpu_utilization.origin.key for job, _ in moved_jobs if job.gpu_utilization}
    for model, shares in models.items():
        if len(set(shares.values())) == 1 and not stated & shares.keys():
            edits["models", model, "gpu_utilization"] = next(iter(shares.values()))
        else:
            edits |= shares
    return edits


def _seconds(job: Job, longer: float) -> dict[Path, object]:
    """What the routing says of a job's training time, that many times as long."""
    edits: dict[Path, object] = {}
    for model in job.models if longer != 1 else ():
        seconds = job.seconds_of(model)
        if seconds is not None:
            task: Path = ("models", model, "tasks", job.task)
            edits[(*task, "seconds_per_epoch")] = round(seconds * longer / job.epochs_in_all, 1)
            if model in job.expected and job.expected[model].origin.key[:-1] == task:
                edits[(*task, "expected")] = None
    return edits


def _without_empty_pools(edits: Mapping[Path, object], jobs: Sequence[Job]) -> dict[Path, object]:
    """The edits, and those that remove the pools which no job uses any more: a routing has none."""
    chosen = {job.name: _chosen(job, edits) for job in jobs}
    used = {edits.get(chosen[job.name], job.pool.value) for job in jobs}
    empty = {job.pool.value for job in jobs} - used
    kept = {
        path: value for path, value in edits.items() if path[0] != "pools" or path[1] not in empty
    }
    for job in jobs:
        # A family may still name the pool that all its models have left, each for itself.
        there, here = chosen[job.name], job.pool.origin.key
        if job.pool.value in empty and here not in kept:
            kept[here] = edits[there]
            kept[*here[:-1], "reason"] = edits[*there[:-1], "reason"]
    return kept | {("pools", name): None for name in sorted(empty)}


def _chosen(job: Job, edits: Mapping[Path, object]) -> Path:
    """The key that chooses the pool of a job once the edits are made."""
    here = job.pool.origin.key
    own: Path = ("models", job.model, "pool") if job.model and here[0] != "models" else here
    return own if own in edits else here


def unified_diff(before: bytes, after: bytes, name: str) -> str:
    """What `git apply` takes to make a text `after` of `before`; both are UTF-8.

    Only a line feed ends a line, and a last line without one is marked, as git does both.
    """
    old, new = (re.findall(r"[^\n]*\n|[^\n]+", data.decode("utf-8")) for data in (before, after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    )
