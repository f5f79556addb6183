"""A plan as JSON: seconds, node seconds, and money in the routing's currency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_pipeline.plan.model import Figure, NodeLife, Run
from gpu_pipeline.plan.summary import Plan, PoolUse
from gpu_pipeline.plan.whatif import Change
from gpu_pipeline.reports.layout import as_json


def plan_json(plan: Plan, changes: Sequence[Change]) -> str:
    """The whole plan."""
    facts = plan_facts(plan)
    facts["changes"] = [
        {"pool": each.pool, "what": each.what, "why": each.why, **totals(each.plan)}
        for each in changes
    ]
    return as_json(facts)


def totals(plan: Plan) -> dict[str, Any]:
    """What a plan comes to."""
    bound = plan.bound
    return {
        "makespan": plan.makespan,
        "cost": plan.cost,
        "mean_wait_seconds": plan.mean_wait,
        "lower_bound": bound.seconds if bound else None,
        "bound_by": {"limit": bound.limit.value, "pool": bound.pool} if bound else None,
        "above_bound": plan.above_bound,
        **troubles(plan),
    }


def troubles(plan: Plan) -> dict[str, list[str]]:
    """The names of the jobs that do not run to their end, by what keeps them from it."""
    return {
        "never_start": [each.job.name for each in plan.schedule.stuck],
        "ended_by_timeout": [run.job.name for run in plan.late],
        "given_up_while_pending": [run.job.name for run in plan.hopeless],
    }


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Totals, pools, nodes and jobs of a plan."""
    return {
        "currency": plan.schedule.workload.currency,
        **totals(plan),
        "pools": [_pool(use) for use in plan.pools],
        "nodes": [_node(node) for node in plan.schedule.nodes],
        "jobs": [_run(run) for run in plan.schedule.runs],
        "why_never_start": {each.job.name: each.why for each in plan.schedule.stuck},
    }


def _pool(use: PoolUse) -> dict[str, Any]:
    pool = use.pool
    return {
        "name": pool.name,
        "gpu": pool.gpu,
        "jobs": use.jobs,
        "nodes": use.nodes,
        "slots": pool.slots,
        "end": use.end,
        "mean_wait_seconds": use.mean_wait,
        "node_seconds": {"boot": use.booting, "busy": use.busy, "idle": use.idle},
        "gpu_utilization": {"busy": use.gpu_busy, "paid": use.gpu_paid},
        "cost": use.cost,
        "lower_bound": use.bound.seconds,
        "bound_by": use.bound.limit.value,
        "boot_time": _figure(pool.boot),
        "image_pull_time": _figure(pool.pull),
        "idle_time": _figure(pool.idle),
    }


def _node(node: NodeLife) -> dict[str, Any]:
    return {
        "pool": node.pool,
        "number": node.number,
        "created": node.created,
        "ready": node.ready,
        "removed": node.removed,
        "stretches": [
            {"start": each.start, "end": each.end, "gpu": each.gpu, "jobs": each.jobs}
            for each in node.stretches
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    job = run.job
    return {
        "name": job.name,
        "pool": job.pool,
        "node": run.node,
        "slot": run.slot,
        "resource_group": job.group,
        "picked": run.picked,
        "start": run.start,
        "end": run.end,
        "slowdown": run.slowdown,
        "waits": [
            {"reason": wait.reason.value, "start": wait.start, "end": wait.end}
            for wait in run.waits
        ],
        "seconds_alone": _figure(job.seconds),
        "gpu_utilization": _figure(job.gpu),
        "cpu_usage": _figure(job.cpu),
        "ended_by_timeout": run.is_late,
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {"value": figure.value, "source": figure.source.value, "origin": figure.origin}
