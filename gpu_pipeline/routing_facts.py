"""What two routings are compared by: each value of a job or a pool, and what it means.

Two spellings of one meaning are equal: "60m" is "1h", "1000m" of CPU is "1", tags have no order,
and what is left out is its default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gpu_pipeline.cluster.pool_start import BOOT_ESTIMATE, PULL_ESTIMATE
from gpu_pipeline.durations import parse_duration
from gpu_pipeline.jobs import Job, Sourced
from gpu_pipeline.plan.workload import IDLE_ESTIMATE
from gpu_pipeline.problems import Origin
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pipeline, Pool, Resources, Settings

_DURATIONS = {"timeout", "expected", "boot_time", "image_pull_time", "idle_time"}
_QUANTITIES = {
    "requests", "limits", "gpu_memory", "cpu_usage", "allocatable", "capacity", "daemonsets",
}  # fmt: skip
_WITHOUT_ORDER = {"tags", "needs", "taints", "capture", "models"}
_DEFAULTS: Mapping[str, Any] = {
    "trials": 1,
    "gpus": 1,
    "min_nodes": 0,
    "max_nodes": 1,
    "queue": "gitlab",
    "runner_default": False,
    "sharing": "none",
    "boot_time": BOOT_ESTIMATE,
    "image_pull_time": PULL_ESTIMATE,
    "idle_time": IDLE_ESTIMATE,
}


class Fact(Record):
    """A value as the file gives it, and the place that set it; None where none does."""

    value: Any
    origin: Origin | None


Facts = dict[str, Fact]


def meaning(key: str, fact: Fact | None) -> object:
    """What is equal for equal meanings; `key` such as "requests.cpu" says how to read the value."""
    kind = key.partition(".")[0]
    value: Any = _DEFAULTS.get(kind) if fact is None else fact.value
    if value is None:
        return None
    if kind in _DURATIONS:
        return parse_duration(value)
    if kind in _QUANTITIES:
        return parse_quantity(value)
    if kind in _WITHOUT_ORDER:
        return frozenset(value)
    return value


def job_facts(job: Job, models_origin: Origin) -> Facts:
    """Everything that a job is given, but its rules."""
    values = job.values
    named: dict[str, Sourced[Any] | None] = {
        "pool": job.pool,
        "base": job.base,
        "stage": job.stage,
        "image": values.image,
        "tags": values.tags,
        "timeout": values.timeout,
        "epochs": values.epochs,
        "trials": job.trials,
        **{f"requests.{name}": value for name, value in values.requests.items()},
        **{f"limits.{name}": value for name, value in values.limits.items()},
        "gpu_memory": job.gpu_memory,
        "gpu_utilization": job.gpu_utilization,
        "cpu_usage": job.cpu_usage,
        **{f"seconds_per_epoch.{model}": each for model, each in job.seconds_per_epoch.items()},
        **{f"expected.{model}": each for model, each in job.expected.items()},
        **{f"variables.{name}": value for name, value in values.variables.items()},
    }
    facts = {
        key: Fact(value=each.value, origin=each.origin)
        for key, each in named.items()
        if each is not None
    }
    if job.pool_settings.gpu:
        facts["gpu"] = Fact(value=job.pool_settings.gpu, origin=job.pool_origins["gpu"])
    facts["models"] = Fact(value=job.models, origin=models_origin)
    if job.needs:
        facts["needs"] = Fact(value=job.needs, origin=job.needs_origin)
    return facts


def rule_facts(job: Job) -> list[Fact]:
    """The rules of a job in order, in GitLab's keys."""
    rules = job.values.rules
    if rules is None:
        return []
    return [
        Fact(value=rule.as_yaml, origin=origin)
        for rule, origin in zip(rules.value, rules.items, strict=True)
    ]


def pool_facts(pool: Pool, origin_of: Mapping[str, Origin], pipeline: Pipeline) -> Facts:
    """What a pool is; what it sets for its jobs shows in the jobs."""
    return dict(_pool_facts(pool, origin_of, pipeline))


def _pool_facts(
    pool: Pool, origin_of: Mapping[str, Origin], pipeline: Pipeline
) -> Iterator[tuple[str, Fact]]:
    for key in pool.__struct_fields__:
        value = getattr(pool, key)
        if key == "queue":
            value = value or pipeline.queue
        if value is None or key in Settings.__struct_fields__:
            continue
        if isinstance(value, Resources):
            for resource, amount in value.amounts.items():
                yield f"{key}.{resource}", Fact(value=amount, origin=origin_of[key])
        else:
            yield key, Fact(value=value, origin=origin_of[key])
