"""How many jobs fit on a node, as the scheduler counts: requests only, equality fits.

Kubernetes: NodeResourcesFit and component-helpers `resource/helpers.go`, PodRequests. The pod is
more than the build container: the runner adds a helper and each service.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from gpu_pipeline.child import runner_variables
from gpu_pipeline.jobs import Job
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pool, Resources

if TYPE_CHECKING:  # rendering looks at sizes and never at a runner's configuration
    from gpu_pipeline.cluster.runner_config import Runner

RESOURCES = ("cpu", "memory", "ephemeral_storage")
Amounts = Mapping[str, Decimal]
RunnerOf = Callable[[Job], "Runner | None"]
"""The runner that takes a job, as far as its configuration is known."""


class NodeSize(Record):
    """What a node has for jobs; `measured` are the resources that are more than an upper bound."""

    amounts: Amounts
    measured: frozenset[str]

    def says(self, resource: str) -> str:
        """What kind of number it is, for a message."""
        return "allocatable" if resource in self.measured else "in the instance, an upper bound"


class Fit(Record):
    """Jobs of equal size, and how many fit on a node: `binding` is what a further one would lack.

    `per_node` is None where nothing is known of the node.
    """

    pool: str
    jobs: tuple[Job, ...]
    request: Amounts
    per_node: int | None
    binding: str | None


def node_size(pool: Pool) -> NodeSize:
    """What a node of `pool` has, less its DaemonSets; the instance's size where not measured."""
    capacity, measured = _amounts(pool.capacity), _amounts(pool.allocatable)
    taken = _amounts(pool.daemonsets)
    return NodeSize(
        amounts={
            resource: max(amount - taken.get(resource, Decimal(0)), Decimal(0))
            for resource, amount in (capacity | measured).items()
        },
        measured=frozenset(measured),
    )


def pod_request(job: Job, runner: Runner | None) -> dict[str, Decimal]:
    """What the pod of `job` requests: build, helper and services; cores and bytes.

    Without a runner's configuration, what the job itself says of its helper is all that is known.
    """
    variables = runner_variables(job)
    return {resource: _pod_amount(variables, runner, resource) for resource in RESOURCES}


def pool_fits(jobs: Iterable[Job], runner_of: RunnerOf) -> list[Fit]:
    """For each pool and each size of pod, how many fit on a node."""
    groups: dict[tuple[str, tuple[Decimal, ...]], list[Job]] = {}
    for job in jobs:
        request = pod_request(job, runner_of(job))
        groups.setdefault((job.pool.value, tuple(request.values())), []).append(job)
    fits = []
    for (pool, amounts), members in groups.items():
        request = dict(zip(RESOURCES, amounts, strict=True))
        size = node_size(members[0].pool_settings)
        per_node, binding = how_many(request, size)
        fits.append(
            Fit(
                pool=pool,
                jobs=tuple(members),
                request=request,
                per_node=per_node,
                binding=binding,
            )
        )
    return fits


def how_many(request: Amounts, size: NodeSize) -> tuple[int | None, str | None]:
    """How many pods of one size fit on a node, and the resource that binds."""
    counts = {
        resource: int(amount // request[resource])
        for resource, amount in size.amounts.items()
        if request.get(resource)
    }
    if not counts:
        return None, None
    binding = min(counts, key=lambda resource: counts[resource])
    return counts[binding], binding


def jobs_per_gpu(pool: Pool) -> int:
    """How many jobs at once share each GPU of a node."""
    return -(-(pool.concurrency or 1) // (pool.gpus or 1))


def heaviest(amounts: Sequence[Decimal], count: int) -> Decimal:
    """What the `count` largest of some jobs need together."""
    return sum(sorted(amounts, reverse=True)[:count], Decimal(0))


def shown(resource: str, amount: Decimal) -> str:
    """An amount for people: `7800m` or `8` CPU, `68.7 GB`."""
    if resource != "cpu":
        return f"{amount / 10**9:.1f} GB"
    return f"{amount:f}" if amount == int(amount) else f"{(amount * 1000).normalize():f}m"


def _amounts(resources: Resources | None) -> dict[str, Decimal]:
    given = resources.amounts if resources else {}
    return {name: parse_quantity(text) for name, text in given.items()}


def _pod_amount(variables: Mapping[str, str], runner: Runner | None, resource: str) -> Decimal:
    """Pod-level requests replace the sum over the containers."""
    whole = _request(variables, runner, f"pod_{resource}")
    if whole is not None:
        return whole
    services = runner.services if runner else 0
    parts = {"": 1, "helper_": 1, "service_": services}
    return sum(
        (
            (_request(variables, runner, f"{container}{resource}") or Decimal(0)) * count
            for container, count in parts.items()
        ),
        Decimal(0),
    )


def _request(variables: Mapping[str, str], runner: Runner | None, name: str) -> Decimal | None:
    """A request as the job or the runner gives it; a limit alone is the request as well."""
    for side in ("request", "limit"):
        own = variables.get(f"KUBERNETES_{name.upper()}_{side.upper()}")
        default = runner.resources.get(f"{name}_{side}") if runner else None
        text = own or (default.value if default else "")
        if text:
            try:
                return parse_quantity(text)
            except QuantityError:
                return None  # a finding of its own, RUN107
    return None
