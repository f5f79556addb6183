"""The same objects as text, JSON or Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabulate import tabulate

from gpu_pipeline.context import Context
from gpu_pipeline.durations import format_duration
from gpu_pipeline.jobs import Job, Sourced
from gpu_pipeline.routing_model import Rule

FORMATS = ("text", "json", "markdown")
_TABLE_FORMAT = {"text": "simple", "markdown": "github"}


def preview(
    jobs: Sequence[Job], groups: Mapping[str, str], context: Context, output_format: str
) -> str:
    """All jobs with where they run and what they get, and a line of totals for each pool."""
    if output_format == "json":
        return _json(
            {
                "context": {"source": context.source, "branch": context.branch},
                "jobs": [_job_facts(job, groups) for job in jobs],
            }
        )
    rows = [
        {
            "job": job.name,
            "family": job.family,
            "pool": job.pool.value,
            "GPU": job.pool_settings.gpu,
            "CPU": _pair(job, "cpu"),
            "memory": _pair(job, "memory"),
            "epochs": job.epochs,
            "timeout": job.timeout,
            "resource group": groups.get(job.name, "-"),
        }
        for job in jobs
    ]
    branch = f" on {context.branch}" if context.branch else ""
    totals = [f"{count(len(jobs), 'job')} for a parent pipeline from {context.source}{branch}"]
    for pool in dict.fromkeys(job.pool.value for job in jobs):
        totals.append(_pool_total(pool, jobs))
    return "\n".join([_table(rows, output_format), "", *_listed(totals, output_format)])


def explain(job: Job, groups: Mapping[str, str], output_format: str) -> str:
    """Each value of one job, with the line of routing.toml that set it."""
    rows = list(_explained(job, groups))
    if output_format == "json":
        return _json(
            {
                "job": job.name,
                "reason": job.reason.value if job.reason else None,
                "values": [
                    {"name": name, "value": value, "file": o.file, "line": o.line, "key": o.path}
                    if (o := sourced.origin if sourced else None)
                    else {"name": name, "value": value}
                    for name, value, sourced in rows
                ],
            }
        )
    table = [
        {
            "value of": name,
            "is": value,
            "from": str(sourced.origin) if sourced else "computed",
            "key": sourced.origin.path if sourced else "",
        }
        for name, value, sourced in rows
    ]
    reason = f"{job.reason.value} ({job.reason.origin})" if job.reason else "no reason is given"
    heading = f"{job.name}: trains {', '.join(job.models)} on {job.pool_settings.gpu}"
    return "\n".join([heading, f"Why {job.pool.value}: {reason}", "", _table(table, output_format)])


def _explained(
    job: Job, groups: Mapping[str, str]
) -> Iterable[tuple[str, str, Sourced[Any] | None]]:
    values = job.values
    single: list[tuple[str, Sourced[Any] | None]] = [
        ("pool", job.pool),
        ("base", job.base),
        ("stage", job.stage),
        ("image", values.image),
        ("tags", values.tags),
        *((f"requests.{name}", value) for name, value in values.requests.items()),
        *((f"limits.{name}", value) for name, value in values.limits.items()),
        ("epochs", values.epochs),
        ("timeout", values.timeout),
        ("gpu_memory", job.gpu_memory),
        *((f"seconds_per_epoch ({m})", value) for m, value in job.seconds_per_epoch.items()),
        *((f"variables.{name}", value) for name, value in values.variables.items()),
    ]
    for name, sourced in single:
        if sourced is not None:
            yield name, _shown(sourced.value), sourced
    if values.rules:
        for i, (rule, origin) in enumerate(
            zip(values.rules.value, values.rules.items, strict=True)
        ):
            yield f"rules[{i}]", _rule(rule), Sourced(value=rule, origin=origin)
    yield "resource group", groups.get(job.name, "none: queued by Kubernetes"), None
    if job.needs:
        yield "needs", ", ".join(job.needs), None
    if job.expected_seconds is not None:
        yield "expected training time", format_duration(job.expected_seconds), None


def _job_facts(job: Job, groups: Mapping[str, str]) -> dict[str, Any]:
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
        "resource_group": groups.get(job.name),
        "needs": job.needs,
        "expected_seconds": job.expected_seconds,
    }


def _pool_total(pool: str, jobs: Sequence[Job]) -> str:
    mine = [job for job in jobs if job.pool.value == pool]
    settings = mine[0].pool_settings
    nodes = settings.max_nodes or 1
    price = (
        f", {settings.price_per_hour:.2f} an hour and node from its creation"
        if settings.price_per_hour is not None
        else ""
    )
    return (
        f"{pool} ({settings.gpu}): {count(len(mine), 'job')}, {settings.concurrency} at once "
        f"on each of at most {count(nodes, 'node')}{price}"
    )


def _pair(job: Job, resource: str) -> str:
    request, limit = job.values.requests.get(resource), job.values.limits.get(resource)
    return f"{request.value if request else '-'} / {limit.value if limit else '-'}"


def _rule(rule: Rule) -> str:
    keys = rule.model_dump(by_alias=True, exclude_none=True)
    return ", ".join(f"{key}: {_shown(value)}" for key, value in keys.items())


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple | list):
        return ", ".join(str(item) for item in value)
    return str(value)


def _table(rows: Sequence[Mapping[str, object]], output_format: str) -> str:
    """A table whose numbers stay as written; in Markdown a bar in a cell is escaped."""
    cells = [
        {name: _cell(str(value), output_format) for name, value in row.items()} for row in rows
    ]
    return tabulate(
        cells, headers="keys", tablefmt=_TABLE_FORMAT[output_format], disable_numparse=True
    )


def _cell(text: str, output_format: str) -> str:
    text = text.replace("\n", " ")
    return text.replace("|", "\\|") if output_format == "markdown" else text


def _listed(lines: Sequence[str], output_format: str) -> list[str]:
    return [f"- {line}" for line in lines] if output_format == "markdown" else list(lines)


def _json(data: object) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def count(number: int, noun: str) -> str:
    """A number with its noun: "1 job", "19 jobs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
