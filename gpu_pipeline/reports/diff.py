"""A comparison of two routings as text, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_pipeline.plan_diff import Figures, PlanDiff
from gpu_pipeline.problems import Origin
from gpu_pipeline.reports.diff_markdown import as_markdown
from gpu_pipeline.reports.diff_text import as_text
from gpu_pipeline.reports.layout import as_json
from gpu_pipeline.reports.plan_data import troubles
from gpu_pipeline.routing_diff import Change, Changed, OneSided, RoutingDiff
from gpu_pipeline.routing_facts import Fact

# What the figures are called in JSON, where a name carries its unit.
_NAMES = {
    "jobs": "jobs",
    "end": "end_seconds",
    "wait": "mean_wait_seconds",
    "paid": "paid_node_hours",
    "gpu": "gpu_share_of_paid_time",
    "cost": "cost",
}


def diff(found: RoutingDiff, plan: PlanDiff, output_format: str) -> str:
    """What moves between two routings, and what it costs or saves."""
    if output_format == "json":
        return as_json(_facts(found, plan))
    return as_markdown(found, plan) if output_format == "markdown" else as_text(found, plan)


def _facts(found: RoutingDiff, plan: PlanDiff) -> dict[str, Any]:
    return {
        "before": found.before,
        "after": found.after,
        "differs": not found.is_empty,
        "before_exists": not found.is_new,
        "jobs": {
            "added": _one_sided(found.added),
            "removed": _one_sided(found.removed),
            "moved": [each.name for each in found.moved],
            "changed": _changed(found.changed),
            "another_slot": found.redealt,
        },
        "pools": {
            "added": _one_sided(found.pools_added),
            "removed": _one_sided(found.pools_removed),
            "changed": _changed(found.pools_changed),
        },
        "pipeline": [_change(each) for each in found.settings],
        "templates": list(found.templates),
        "plan": {
            "currency": {
                "before": plan.before.schedule.workload.currency if plan.before else None,
                "after": plan.currency,
            },
            "total": _figures(plan.total, plan),
            "pools": {name: _figures(each, plan) for name, each in plan.pools.items()},
            "durations": {source.value: number for source, number in plan.reliability.items()},
            "before": troubles(plan.before) if plan.before else None,
            "after": troubles(plan.after),
        },
    }


def _one_sided(found: Sequence[OneSided]) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "pool": each.pool,
            "gpu": each.gpu,
            **_place(each.origin),
            "left_out": _place(each.left_out) if each.left_out else None,
        }
        for each in found
    ]


def _changed(found: Sequence[Changed]) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "changes": [_change(change) for change in each.changes]}
        for each in found
    ]


def _change(change: Change) -> dict[str, Any]:
    return {"key": change.key, "before": _side(change.before), "after": _side(change.after)}


def _side(fact: Fact | None) -> dict[str, Any] | None:
    if fact is None:
        return None
    return {"value": fact.value, **(_place(fact.origin) if fact.origin else {})}


def _place(origin: Origin) -> dict[str, Any]:
    return {"file": origin.file, "line": origin.line, "key": origin.path}


def _figures(figures: Figures, plan: PlanDiff) -> dict[str, Any]:
    found = {}
    for name in figures.__struct_fields__:
        pair = getattr(figures, name)
        known = name != "cost" or plan.same_currency
        found[_NAMES[name]] = {
            "before": pair.before,
            "after": pair.after,
            "difference": pair.difference if known else None,
            "percent": pair.share * 100 if known and pair.share is not None else None,
        }
    return found
