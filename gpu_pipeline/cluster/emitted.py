"""Every variable by which a job asks the runner for something, with the line that causes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpu_pipeline.child import runner_variables
from gpu_pipeline.cluster.runner_keys import Kind, is_for_the_runner, permission_for
from gpu_pipeline.jobs import Job
from gpu_pipeline.problems import Origin
from gpu_pipeline.record import Record
from gpu_pipeline.toml_lines import Path

Locate = Callable[[Path], Origin]
"""Where a key of routing.toml stands."""


class Emission(Record):
    """One KUBERNETES_… variable of one job."""

    job: Job
    name: str
    value: str
    origin: Origin


def emissions(jobs: Iterable[Job], locate: Locate) -> list[Emission]:
    """What `jobs` emit, in the order of the jobs; a rule's variables count as well."""
    return [
        Emission(job=job, name=name, value=value, origin=_origin(job, name, locate))
        for job in jobs
        for name, value in _all_variables(job)
        if is_for_the_runner(name) and (value or not _is_size(name))
    ]


def _is_size(name: str) -> bool:
    """Whether an empty value asks for nothing: overwrites.go passes over an empty size only."""
    permission = permission_for(name)
    return permission is not None and permission.kind is Kind.MAXIMUM


def _all_variables(job: Job) -> Iterator[tuple[str, str]]:
    yield from runner_variables(job).items()
    for rule in job.values.rules.value if job.values.rules else ():
        yield from (rule.variables or {}).items()


def _origin(job: Job, name: str, locate: Locate) -> Origin:
    pool = job.pool.value
    if name in job.values.variables:
        return job.values.variables[name].origin
    if name == "KUBERNETES_NODE_SELECTOR_POOL":
        return locate(("pools", pool, "node_selector"))
    if name.startswith("KUBERNETES_NODE_TOLERATIONS_"):
        return locate(("pools", pool, "taints"))
    resource, _, side = name.removeprefix("KUBERNETES_").lower().rpartition("_")
    sizes = job.values.requests if side == "request" else job.values.limits
    if resource in sizes:
        return sizes[resource].origin
    return job.values.rules.origin if job.values.rules else job.pool.origin
