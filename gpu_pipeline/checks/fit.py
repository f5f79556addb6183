"""Do the jobs that a pool runs at once fit on its nodes and on their GPU?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from gpu_pipeline.checks.acceptance import is_accepted
from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place, Severity
from gpu_pipeline.checks.gpu_sharing import check_gpu_sharing
from gpu_pipeline.checks.wording import named, with_gpu
from gpu_pipeline.cluster.emitted import Locate
from gpu_pipeline.cluster.fit import (
    NodeSize,
    RunnerOf,
    heaviest,
    how_many,
    node_size,
    pod_request,
    shown,
)
from gpu_pipeline.cluster.labels import own_label
from gpu_pipeline.jobs import Job, Sourced
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.routing_model import Acceptance, Pool
from gpu_pipeline.words import count

_LEAST_MEMORY = 64 * 2**20
_CALLED = {"cpu": "CPU", "memory": "memory", "ephemeral_storage": "ephemeral storage"}


def check_fit(
    jobs: Sequence[Job], *, locate: Locate, runner_of: RunnerOf = lambda _: None
) -> list[Finding]:
    """Findings about sizes; without a runner its helper and services count as nothing."""
    found = list(_check_units(jobs))
    for name in dict.fromkeys(job.pool.value for job in jobs):
        mine = [job for job in jobs if job.pool.value == name]
        pool, size = mine[0].pool_settings, node_size(mine[0].pool_settings)
        place = _place(locate, name, "concurrency")
        requests = {job.name: pod_request(job, runner_of(job)) for job in mine}
        impossible = list(_check_each(mine, requests, size))
        found += impossible
        if not impossible:
            found += _check_at_once(name, mine, requests, size, place)
        found += _check_limits(name, mine, size, place)
        found += _check_measured(name, pool, size, _place(locate, name))
        found += check_gpu_sharing(name, mine, locate=locate)
    return sorted(found, key=lambda each: each.sort_key)


def refused_sizes(
    jobs: Sequence[Job], *, locate: Locate, acceptances: Sequence[Acceptance]
) -> list[Finding]:
    """The findings about sizes for which rendering stops."""
    found = check_fit(jobs, locate=locate)
    errors = [each for each in found if each.severity is Severity.ERROR]
    return [each for each in errors if not is_accepted(each, acceptances)]


def _place(locate: Locate, pool: str, *keys: str) -> Place:
    return Place.at(locate(("pools", pool, *keys)))


def _check_each(
    jobs: Sequence[Job], requests: dict[str, dict[str, Decimal]], size: NodeSize
) -> Iterator[Finding]:
    """Jobs that no node can ever take, together when one line is to blame."""
    blamed: dict[tuple[str, Place], list[Job]] = {}
    for job in jobs:
        per_node, binding = how_many(requests[job.name], size)
        if per_node == 0 and binding:
            origin = job.values.requests[binding].origin if binding in job.values.requests else None
            origin = origin or job.pool.origin
            place = Place.at(origin)
            blamed.setdefault((binding, place), []).append(job)
    for (binding, place), members in blamed.items():
        pool = members[0].pool
        largest = max(requests[job.name][binding] for job in members)
        yield finding(
            "FIT101", place,
            f"a pod requests {shown(binding, largest)} {_CALLED[binding]} with its helper and "
            f"services, and a node of {pool.value} has {shown(binding, size.amounts[binding])} "
            f"({size.says(binding)}): the autoscaler will never help {named(members)}",
            fix="lower the request, or route the jobs to a pool with larger nodes",
        )  # fmt: skip


def _check_at_once(
    name: str,
    jobs: Sequence[Job],
    requests: dict[str, dict[str, Decimal]],
    size: NodeSize,
    place: Place,
) -> Iterator[Finding]:
    """The largest jobs of the pool together, as many as may run at once."""
    planned = min(jobs[0].pool_settings.concurrency or 1, len(jobs))
    fitting, binding = planned, ""
    for resource, amount in size.amounts.items():
        each = [requests[job.name].get(resource, Decimal(0)) for job in jobs]
        while fitting and heaviest(each, fitting) > amount:
            fitting, binding = fitting - 1, resource
    if binding:
        needed = heaviest([requests[job.name][binding] for job in jobs], planned)
        yield finding(
            "FIT102", place,
            f"{planned} jobs at once may request {shown(binding, needed)} {_CALLED[binding]}, and "
            f"a node of {name} has {shown(binding, size.amounts[binding])} ({size.says(binding)}): "
            f"{fitting} fit, the next one waits as a Pending pod until the runner gives up",
            fix=f"set concurrency = {max(fitting, 1)}, or lower the requests",
        )  # fmt: skip


def _check_limits(
    name: str, jobs: Sequence[Job], size: NodeSize, place: Place
) -> Iterator[Finding]:
    """Memory and disk that jobs may use beyond the node; too little CPU only makes jobs slower."""
    planned = min(jobs[0].pool_settings.concurrency or 1, len(jobs))
    for resource in ("memory", "ephemeral_storage"):
        limits = [job.values.limits.get(resource) for job in jobs]
        known = [limit for limit in limits if limit]
        total = heaviest([parse_quantity(limit.value) for limit in known], planned)
        have = size.amounts.get(resource)
        if have is not None and total > have:
            largest = max(known, key=lambda limit: parse_quantity(limit.value))
            what = "kill" if resource == "memory" else "evict"
            yield finding(
                "FIT103", place,
                f"{planned} jobs may use up to {shown(resource, total)} {_CALLED[resource]} "
                f"({planned} × {largest.value} at most) on a node of {name} with "
                f"{shown(resource, have)}: {shown(resource, total - have)} too much. If they do, "
                f"the node will {what} one of them",
                fix="watch what jobs really use; lower the limits or the concurrency if it is much",
            )  # fmt: skip


def _check_measured(name: str, pool: Pool, size: NodeSize, place: Place) -> Iterator[Finding]:
    missing = [each for each in ("cpu", "memory") if each not in size.measured]
    if not missing:
        return
    unknown = [each for each in missing if each not in size.amounts]
    instead = (
        f"nothing is known of {' and '.join(_CALLED[each] for each in unknown)}, so fit is not "
        "checked there"
        if unknown
        else "the instance's size is taken for it, and a node has less than that for pods"
    )
    label = own_label(pool)
    yield finding(
        "FIT104", place,
        f"the allocatable {' and '.join(_CALLED[each] for each in missing)} of "
        f"{with_gpu(name, pool)} was not measured: {instead}",
        fix="put into allocatable what this prints: kubectl get nodes -l "
        f"{label or 'LABEL, with the label of the nodes,'} "
        "-o jsonpath='{.items[*].status.allocatable}'",
    )  # fmt: skip


def _check_units(jobs: Sequence[Job]) -> Iterator[Finding]:
    """Quantities that Kubernetes takes and nobody means."""
    blamed: dict[Place, tuple[str, list[Job]]] = {}
    for job in jobs:
        for sizes in (job.values.requests, job.values.limits):
            for resource, size in sizes.items():
                odd = _odd(resource, size)
                if odd:
                    origin = size.origin
                    place = Place.at(origin)
                    blamed.setdefault(place, (odd, []))[1].append(job)
    for place, (odd, members) in blamed.items():
        yield finding(
            "FIT108", place, f"{odd}; it is used by {count(len(members), 'job')}",
            fix='write for example "1500m" for CPU and "16Gi" for memory',
        )  # fmt: skip


def _odd(resource: str, size: Sourced[str]) -> str:
    """Why a quantity is surely not meant, though it could be; what cannot be is refused before."""
    amount = parse_quantity(size.value)
    if resource == "cpu" or amount >= _LEAST_MEMORY:
        return ""
    return f'"{size.value}" is {amount:f} bytes; was "Gi" meant?'
