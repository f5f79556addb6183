"""Plans next to each other: two routings, the values of a sweep, a measured run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.measured import Comparison, RunComparison
from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.reports.layout import as_json, fill, table
from gpu_pipeline.reports.plan import figure_sources, listed_section, money, problems
from gpu_pipeline.reports.plan_data import plan_facts, totals
from gpu_pipeline.words import difference, percent

_SHOWN_JOBS = 60
Named = tuple[str, Plan]
"""A plan and the name of its routing."""


def against(now: Named, other: Named, output_format: str) -> str:
    """Two plans side by side, and what changes for each pool and each job."""
    if output_format == "json":
        sides = (("before", other), ("now", now))
        return as_json(
            {side: {"routing": name, **plan_facts(plan)} for side, (name, plan) in sides}
        )
    verdict = _verdict(now, other)
    blocks = [
        fill(verdict) if output_format == "text" else verdict,
        table(_totals_rows(now[1], other[1]), output_format),
        table(_pool_rows(now[1], other[1]), output_format),
        table(_job_rows(now[1], other[1]), output_format),
    ]
    for called, (name, plan) in (("before", other), ("now", now)):
        wrong = list(problems(plan))
        if wrong:
            title = f"Look at these first, {called} ({name})"
            blocks.insert(1, listed_section(title, wrong, output_format))
        title = f"Where the figures come from, {called} ({name})"
        blocks.append(listed_section(title, list(figure_sources(plan)), output_format))
    return "\n\n".join(blocks)


def _verdict(now: Named, other: Named) -> str:
    """How much sooner and cheaper, in a sentence."""
    (name, plan), (other_name, before) = now, other
    parts = [_times(before.makespan, plan.makespan, "the time")]
    if plan.cost is not None and before.cost is not None:
        parts.append(_times(before.cost, plan.cost, "the cost"))
    return (
        f"{name} (now) takes {' and '.join(parts)} of {other_name} (before): "
        f"{format_duration(plan.makespan)} instead of {format_duration(before.makespan)}, "
        f"{money(plan.cost, plan)} instead of {money(before.cost, before)}."
    )


def _times(before: float, after: float, what: str) -> str:
    return f"{percent(after / before)} of {what}" if before else f"as much of {what}"


def _totals_rows(plan: Plan, before: Plan) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [
        {"": what, "before": show(old), "now": show(new), "change": difference(old, new)}
        for what, old, new, show in (
            ("done after", before.makespan, plan.makespan, format_duration),
            ("mean wait", before.mean_wait, plan.mean_wait, format_duration),
            ("node hours", before.paid, plan.paid, _hours),
            ("GPU used of paid", before.gpu_paid, plan.gpu_paid, percent),
        )
    ]
    known = before.cost is not None and plan.cost is not None
    cost: dict[str, object] = {
        "": "cost",
        "before": money(before.cost, before),
        "now": money(plan.cost, plan),
        "change": difference(before.cost or 0.0, plan.cost or 0.0) if known else "",
    }
    jobs: dict[str, object] = {
        "": "jobs",
        "before": len(before.schedule.runs),
        "now": len(plan.schedule.runs),
    }
    return [rows[0], cost, *rows[1:], jobs]


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f}"


def _pool_rows(plan: Plan, before: Plan) -> list[dict[str, object]]:
    uses = {use.pool.name: use for use in plan.pools}
    old = {use.pool.name: use for use in before.pools}
    return [
        {
            "pool": pool,
            "": called,
            "jobs": use.jobs,
            "nodes": use.nodes,
            "done": format_duration(use.end),
            "node hours": _hours(use.paid),
            "GPU used": percent(use.gpu_busy),
            "cost": "unknown" if use.cost is None else money(use.cost, of),
        }
        for pool in dict.fromkeys([*old, *uses])
        for called, use, of in (("before", old.get(pool), before), ("now", uses.get(pool), plan))
        if use is not None
    ]


def _job_rows(plan: Plan, before: Plan) -> list[dict[str, object]]:
    new = {run.job.name: run for run in plan.schedule.runs}
    old = {run.job.name: run for run in before.schedule.runs}
    rows: list[dict[str, object]] = []
    names = list(dict.fromkeys([*new, *old]))
    for job in names[:_SHOWN_JOBS]:
        was, is_now = old.get(job), new.get(job)
        pools = dict.fromkeys(run.job.pool for run in (was, is_now) if run)
        rows.append(
            {
                "job": job,
                "pool": " → ".join(pools),
                "before": format_duration(was.end) if was else "-",
                "now": format_duration(is_now.end) if is_now else "-",
                "change": difference(was.end, is_now.end) if was and is_now else "",
            }
        )
    if len(names) > _SHOWN_JOBS:
        rows.append({"job": f"… {len(names) - _SHOWN_JOBS} more"})
    return rows


def sweep(
    curves: Sequence[tuple[str, Sequence[tuple[object, Plan | str]]]], output_format: str
) -> str:
    """For each key a table: its values, and what the plan comes to with each.

    A text in place of a plan is why the value is not possible.
    """
    if output_format == "json":
        return as_json(
            [
                {
                    "key": key,
                    "points": [
                        {"value": value, "error": plan}
                        if isinstance(plan, str)
                        else {"value": value, **totals(plan)}
                        for value, plan in points
                    ],
                }
                for key, points in curves
            ]
        )
    blocks = []
    for key, points in curves:
        blocks.append(f"**{key}**" if output_format == "markdown" else f"{key}:")
        blocks.append(table([_point(value, plan) for value, plan in points], output_format))
        wrong = [f"{value}: {why}" for value, why in points if isinstance(why, str)]
        wrong += [
            f"{value}: {next(problems(plan))}"
            for value, plan in points
            if not isinstance(plan, str) and not plan.is_sound
        ]
        if wrong:
            blocks.append(listed_section("Not possible", wrong, output_format))
    return "\n\n".join(blocks)


def _point(value: object, plan: Plan | str) -> dict[str, object]:
    if isinstance(plan, str):
        return {"value": value, "done after": "not possible"}
    bound = plan.bound
    return {
        "value": value,
        "done after": format_duration(plan.makespan) if plan.is_sound else "not possible",
        "cost": "unknown" if plan.cost is None else money(plan.cost, plan),
        "mean wait": format_duration(plan.mean_wait),
        "of paid": percent(plan.gpu_paid),
        "what binds": str(bound.limit) if bound else "-",
    }


def measured(jobs: Sequence[Comparison], runs: Sequence[RunComparison], output_format: str) -> str:
    """The routing's own figures next to the measured ones, and the plan next to measured runs."""
    if output_format == "json":
        return as_json(
            {
                "jobs": [_job_facts(each) for each in jobs],
                "runs": [_run_facts(each) for each in runs],
            }
        )
    job_rows = [
        {
            "job": each.run.job.name,
            "pool": each.run.job.pool,
            "planned": format_duration(each.planned),
            "from": str(each.run.job.seconds.source),
            "median": format_duration(each.measured.p50) if each.measured else "-",
            "90 %": format_duration(each.measured.p90) if each.measured else "-",
            "samples": each.measured.samples if each.measured else 0,
            "off": difference(each.measured.p50, each.planned) if each.measured else "",
        }
        for each in jobs
    ]
    run_rows = [
        {
            "pipeline": each.run.pipeline,
            "jobs": each.common,
            "took": format_duration(each.makespan),
            "planned": format_duration(each.planned_makespan),
            "off": difference(each.makespan, each.planned_makespan),
            "mean start": format_duration(each.mean_wait),
            "planned start": format_duration(each.planned_mean_wait),
        }
        for each in runs
    ]
    blocks = [
        "The plan from routing.toml alone, next to what was measured:",
        table(job_rows, output_format),
    ]
    if run_rows:
        blocks += [
            "The plan with the measured times, next to measured runs:",
            table(run_rows, output_format),
        ]
    return "\n\n".join(blocks)


def _job_facts(each: Comparison) -> dict[str, Any]:
    return {
        "name": each.run.job.name,
        "pool": each.run.job.pool,
        "planned": each.planned,
        "source": each.run.job.seconds.source.value,
        "median": each.measured.p50 if each.measured else None,
        "p90": each.measured.p90 if each.measured else None,
        "samples": each.measured.samples if each.measured else 0,
    }


def _run_facts(each: RunComparison) -> dict[str, Any]:
    return {
        "pipeline": each.run.pipeline,
        "created": each.run.created.isoformat(),
        "jobs": each.common,
        "makespan": each.makespan,
        "planned_makespan": each.planned_makespan,
        "mean_start": each.mean_wait,
        "planned_mean_start": each.planned_mean_wait,
    }
