"""The jobs of a child as a table, and the values of one job, as text, JSON or Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from gpu_pipeline.durations import format_duration
from gpu_pipeline.jobs import Job, Sourced
from gpu_pipeline.outcomes import Mode, Outcome
from gpu_pipeline.problems import Origin
from gpu_pipeline.queueing import Queued
from gpu_pipeline.reports.layout import as_json, fill, listed, table
from gpu_pipeline.routing_model import Pipeline, Rule
from gpu_pipeline.words import count


def preview(
    queue: Sequence[Queued],
    outcome: Outcome,
    pipeline: Pipeline,
    output_format: str,
) -> str:
    """All jobs with where they run, what they get and whether they run by themselves; totals."""
    context, modes = outcome.context, outcome.modes
    if output_format == "json":
        return as_json(
            {
                "context": {
                    "source": context.source,
                    "branch": context.branch,
                    "tag": context.tag,
                },
                "jobs": [{**_job_facts(each), "mode": modes[each.job.name]} for each in queue],
            }
        )
    pools = list(dict.fromkeys(each.job.pool.value for each in queue))
    numbers = Counter(modes.values())
    how = ", ".join(f"{numbers[mode]} {mode}" for mode in Mode if numbers[mode])
    parent = f"a parent pipeline from {context.source}{context.place}"
    total = f"{count(len(queue), 'job')} for {parent}: {how}"
    of_pools = {pool: _pool_total(pool, [each.job for each in queue], pipeline) for pool in pools}
    rows = _rows(queue, outcome)
    if output_format == "markdown":
        lines = listed([total, *of_pools.values()], output_format)
        return "\n".join([table(rows, output_format), "", *lines])
    blocks = []
    for pool, text in of_pools.items():  # each in a table of its own: so 80 columns have room
        mine = [_narrow(row, pool) for row in rows if row["pool"] == pool]
        blocks.append(f"{fill(text)}\n\n{table(mine, output_format)}")
    return "\n\n".join([*blocks, fill(total)])


def _narrow(row: dict[str, object], pool: str) -> dict[str, object]:
    """A row without what stands above its table."""
    return {
        "job": row["job"],
        "slot": str(row["resource group"]).removeprefix(f"{pool}/"),
        "CPU": row["CPU"],
        "memory": row["memory"],
        "epochs": row["epochs"],
        "time-\nout": row["timeout"],
        "starts": row["starts"],
    }


def _rows(queue: Sequence[Queued], outcome: Outcome) -> list[dict[str, object]]:
    return [
        {
            "job": each.job.name,
            "family": each.job.family,
            "pool": each.job.pool.value,
            "GPU": (each.job.pool_settings.gpu or "").removeprefix("NVIDIA "),
            "CPU": _pair(each.job, "cpu"),
            "memory": _pair(each.job, "memory"),
            "epochs": each.job.epochs,
            "timeout": each.job.timeout,
            "resource group": each.group or "-",
            "starts": outcome.modes[each.job.name],
        }
        for each in queue
    ]


def explain(job: Job, group: str | None, output_format: str) -> str:
    """Each value of one job, with the line of routing.toml that set it."""
    rows = list(_explained(job, group))
    rules = list(_explained_rules(job))
    if output_format == "json":
        return as_json(
            {
                "job": job.name,
                "models": job.models,
                "reason": job.reason.value if job.reason else None,
                "values": [_value_facts(*row) for row in [*rows, *rules]],
            }
        )
    values = [
        {
            "value of": name.removeprefix("the ") if output_format == "text" else name,
            "is": _shown(value),
            "from": str(origin) if origin else "computed",
            **({"key": origin.path if origin else ""} if output_format != "text" else {}),
        }
        for name, value, origin in rows
    ]
    why = (
        f"{job.reason.value} ({job.reason.origin})"
        if job.reason
        else "no reason is given where the pool is chosen"
    )
    rules_told = [
        f"rule {n} ({origin}): {_shown(rule)}" for n, (_, rule, origin) in enumerate(rules, 1)
    ]
    shown = fill if output_format == "text" else str
    blocks = [
        shown(f"{job.name}: trains {', '.join(job.models)} on {job.pool_settings.gpu}"),
        shown(f"Why {job.pool.value}: {why}"),
        table(values, output_format, whole=["from"]),
        "Rules, the first that matches decides:",
        "\n".join(listed([shown(rule) for rule in rules_told], output_format)),
    ]
    return "\n\n".join(blocks)


_Explained = tuple[str, object, Origin | None]


def _explained(job: Job, group: str | None) -> Iterator[_Explained]:
    """Every value of a job: its name, the value and its origin, None for a computed one."""
    values, pool = job.values, job.pool_settings
    named: list[tuple[str, Sourced[Any] | None]] = [
        ("pool", job.pool),
        ("base", job.base),
        ("stage", job.stage),
        ("image", values.image),
        ("tags", values.tags),
        *((f"requests.{name}", value) for name, value in values.requests.items()),
        *((f"limits.{name}", value) for name, value in values.limits.items()),
        ("epochs", values.epochs),
        ("timeout", values.timeout),
        ("trials", job.trials),
        ("gpu_memory", job.gpu_memory),
        ("gpu_utilization", job.gpu_utilization),
        ("cpu_usage", job.cpu_usage),
        *((f"seconds_per_epoch ({m})", value) for m, value in job.seconds_per_epoch.items()),
        *((f"expected ({m})", value) for m, value in job.expected.items()),
        *((f"variables.{name}", value) for name, value in values.variables.items()),
    ]
    yield from ((name, value.value, value.origin) for name, value in named if value is not None)
    for key in ("gpu", "node_selector", "runner_default", "taints", "concurrency", "max_nodes"):
        value = getattr(pool, key)
        if value is not None:
            yield f"the pool's {key}", value, job.pool_origins[key]
    yield "resource group", group or "none: queued by Kubernetes", None
    if job.needs:
        yield "needs", job.needs, job.needs_origin
    if job.expected_seconds is not None:
        yield "expected training time", format_duration(job.expected_seconds), None


def _explained_rules(job: Job) -> Iterator[_Explained]:
    rules = job.values.rules
    for i, (rule, origin) in enumerate(zip(rules.value, rules.items, strict=True) if rules else ()):
        yield f"rules[{i}]", rule, origin


def _value_facts(name: str, value: object, origin: Origin | None) -> dict[str, object]:
    facts = {"name": name, "value": value.as_yaml if isinstance(value, Rule) else value}
    if origin is None:
        return facts
    return {**facts, "file": origin.file, "line": origin.line, "key": origin.path}


def _job_facts(queued: Queued) -> dict[str, Any]:
    job = queued.job
    return {
        "name": job.name,
        "task": job.task,
        "family": job.family,
        "models": job.models,
        "pool": job.pool.value,
        "gpu": job.pool_settings.gpu,
        "requests": {name: each.value for name, each in job.values.requests.items()},
        "limits": {name: each.value for name, each in job.values.limits.items()},
        "epochs": job.epochs,
        "timeout": job.timeout,
        "resource_group": queued.group,
        "needs": job.needs,
        "expected_seconds": job.expected_seconds,
    }


def _pool_total(pool: str, jobs: Sequence[Job], pipeline: Pipeline) -> str:
    mine = [job for job in jobs if job.pool.value == pool]
    families = ", ".join(dict.fromkeys(job.family for job in mine))
    settings = mine[0].pool_settings
    queue = settings.queue or pipeline.queue
    per_node = "as many as fit" if queue == "kubernetes" else f"{settings.concurrency} at once"
    price = ""
    if settings.price_per_hour is not None:
        amount = f"{settings.price_per_hour:.2f} {pipeline.currency or ''}".rstrip()
        price = f"; {amount} per node and hour, billed from the node's creation"
    return (
        f"{pool} ({settings.gpu}): {count(len(mine), 'job')} ({families}), {per_node} on each of "
        f"at most {count(settings.max_nodes or 1, 'node')}{price}"
    )


def _pair(job: Job, resource: str) -> str:
    request, limit = job.values.requests.get(resource), job.values.limits.get(resource)
    return f"{request.value if request else '-'}/{limit.value if limit else '-'}"


def _shown(value: object) -> str:
    if isinstance(value, Rule):
        return ", ".join(f"{key}: {_shown(item)}" for key, item in value.as_yaml.items())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return ", ".join(str(item) for item in value)
    return str(value)
