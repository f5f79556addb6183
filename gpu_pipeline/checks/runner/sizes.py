"""Does Kubernetes accept the pod, once the jobs' sizes and the runner's own are put together?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.checks.runner.contract import Contract
from gpu_pipeline.cluster.emitted import Emission
from gpu_pipeline.cluster.runner_keys import RESOURCE_KEYS
from gpu_pipeline.jobs import Job
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.record import Record

_LEAST_HELPER_MEMORY = 512 * 2**20


class _Size(Record):
    """A request or limit of a container, and where it comes from; `line` is the runner's."""

    text: str
    amount: Decimal
    source: str
    line: int | None


def check_sizes(contract: Contract) -> Iterator[Finding]:
    """Requests above limits where they come from two sides, and sizes that are none."""
    for key, setting in contract.runner.resources.items():
        try:
            parse_quantity(setting.value)
        except QuantityError as error:
            yield contract.finding(
                "RUN107", setting.line, key, f"{error}; no pod starts with it",
                fix="correct the quantity",
            )  # fmt: skip
    yield from _check_helper(contract)
    pairs = [key.removesuffix("_request") for key in RESOURCE_KEYS if key.endswith("_request")]
    emitted = {(each.job.name, each.name): each for each in contract.emitted}
    for name in pairs:
        clashes: dict[tuple[_Size, _Size], list[Job]] = {}
        for job in contract.jobs:
            request = _size(contract, emitted, job, f"{name}_request")
            limit = _size(contract, emitted, job, f"{name}_limit")
            if request and limit and request.amount > limit.amount:
                clashes.setdefault((request, limit), []).append(job)
        for (request, limit), jobs in clashes.items():
            yield contract.finding(
                "RUN119",
                limit.line or request.line or contract.runner.kubernetes_line,
                f"{name}_limit" if limit.line or not request.line else f"{name}_request",
                f"request {request.text} ({request.source}) is above limit {limit.text} "
                f"({limit.source}): Kubernetes refuses the pod of {contract.named(jobs)}",
                fix="let the job set both, and permit both",
            )


def _check_helper(contract: Contract) -> Iterator[Finding]:
    """A helper with little memory; a request alone bounds nothing, but is what the node keeps."""
    emitted = {(each.job.name, each.name): each for each in contract.emitted}
    small: dict[tuple[str, _Size], list[Job]] = {}
    for job in contract.jobs:
        for key in ("helper_memory_limit", "helper_memory_request"):
            size = _size(contract, emitted, job, key)
            if size:
                if size.amount < _LEAST_HELPER_MEMORY:
                    small.setdefault((key, size), []).append(job)
                break
    for (key, size), jobs in small.items():
        yield contract.finding(
            "RUN127", size.line or contract.runner.kubernetes_line, key,
            f"{size.text} ({size.source}) is little for the helper, which clones, and packs and "
            "uploads artifacts such as checkpoints: without memory it is killed, and the job fails "
            f'with `container not found ("helper")`: {contract.named(jobs)}',
            fix=f'set {key} = "512Mi" or more',
        )  # fmt: skip


def _size(
    contract: Contract, emitted: dict[tuple[str, str], Emission], job: Job, key: str
) -> _Size | None:
    own = emitted.get((job.name, f"KUBERNETES_{key.upper()}"))
    default = contract.runner.resources.get(key)
    if own and own.value and f"{key}_overwrite_max_allowed" in contract.runner.permissions:
        text, source, line = own.value, str(own.origin), None
    elif default:
        text, source, line = default.value, f"{contract.file.file}:{default.line}", default.line
    else:
        return None
    try:
        return _Size(text=text, amount=parse_quantity(text), source=source, line=line)
    except QuantityError:
        return None
