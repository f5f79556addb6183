"""A plan as text or Markdown: what it comes to, what binds, who runs where, what would help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from gpu_pipeline import words
from gpu_pipeline.cluster.runner_keys import DEFAULT_POLL_TIMEOUT
from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.bound import Bound, Limit
from gpu_pipeline.plan.model import Run, Source
from gpu_pipeline.plan.summary import Plan, PoolUse
from gpu_pipeline.plan.whatif import Change
from gpu_pipeline.reports.layout import fill, listed, table
from gpu_pipeline.words import count, difference, percent

_SHOWN_JOBS = 60
_SAME = 1e-6
_LEGEND = (
    "at: node and slot. waits: what it waits for last: a node to boot, its resource group, the "
    "runner's limit, a slot, CPU, memory or disk of a node, needs, a delay. slow: against alone on "
    "the node. by: the training time is measured, configured or assumed."
)


def plan_report(plan: Plan, changes: Sequence[Change], output_format: str) -> str:
    """The whole plan, as "text" or "markdown"."""
    blocks = [
        fill(headline(plan)) if output_format == "text" else headline(plan),
        table([_pool_row(use, plan, output_format) for use in plan.pools], output_format),
        listed_section("What binds", [_binds(use.bound) for use in plan.pools], output_format),
        table(list(_job_rows(plan.schedule.runs)), output_format),
        fill(_LEGEND) if output_format == "text" else _LEGEND,
        listed_section("What would change it", list(change_lines(plan, changes)), output_format),
        listed_section("Where the figures come from", list(figure_sources(plan)), output_format),
    ]
    warnings = list(problems(plan))
    if warnings:
        blocks.insert(1, listed_section("Look at these first", warnings, output_format))
    return "\n\n".join(blocks)


def headline(plan: Plan) -> str:
    """A sentence or two that say what the plan comes to."""
    runs = plan.schedule.runs
    text = f"{count(len(runs), 'job')}: done after {format_duration(plan.makespan)}"
    text += f", {money(plan.cost, plan)}, mean wait {format_duration(plan.mean_wait)}."
    if plan.bound is not None:
        at_least = format_duration(plan.bound.seconds)
        text += f" No plan takes less than {at_least} ({_limit(plan.bound)}); {_above(plan)}."
    return text


def _above(plan: Plan) -> str:
    """How far a plan is from the lower bound, which counts the jobs that never start as well."""
    if plan.schedule.stuck:
        return "the jobs that never start included"
    if plan.is_shortest:
        return "as short as can be"
    return f"the plan is {percent(plan.above_bound)} above that"


def money(amount: float | None, plan: Plan) -> str:
    """An amount with its currency; a plan with a pool without price has no cost."""
    if amount is None:
        return "cost unknown (price_per_hour is not set)"
    return words.money(amount, plan.schedule.workload.currency)


def problems(plan: Plan) -> Iterator[str]:
    """What goes wrong in the plan: jobs that never start or are ended before they are done."""
    for stuck in plan.schedule.stuck:
        yield f"{stuck.job.name} never starts: {stuck.why}"
    for run in plan.hopeless:
        wait = run.hopeless
        if wait is not None:
            yield (
                f"{run.job.name} is Pending for {format_duration(wait.end - wait.start)}, for "
                f"{wait.reason}; its runner gives up after "
                f"{format_duration(run.job.poll_timeout or DEFAULT_POLL_TIMEOUT)} (poll_timeout)"
            )
    for run in plan.late:
        yield (
            f"{run.job.name} needs {format_duration(run.end - run.picked)} with its waiting for a "
            f"node, and its timeout is {format_duration(run.job.timeout)}"
        )


def change_lines(plan: Plan, changes: Sequence[Change]) -> Iterator[str]:
    """What each change would do to the length and the cost of the run."""
    for change in changes:
        why = f" ({change.why})" if change.why else ""
        yield f"{change.pool}, {change.what}{why}: {effect(plan, change.plan)}"


def effect(before: Plan, after: Plan) -> str:
    """Both numbers of another plan, next to those of this one."""
    if len(after.schedule.stuck) > len(before.schedule.stuck):
        return f"{count(len(after.schedule.stuck), 'job')} would never start"
    times = _change(before.makespan, after.makespan)
    took = f"{format_duration(after.makespan)} ({times})"
    if before.cost is None or after.cost is None:
        return took
    return f"{took}, {money(after.cost, after)} ({_change(before.cost, after.cost)})"


def _change(before: float, after: float) -> str:
    return "as now" if abs(after - before) <= _SAME * max(before, 1) else difference(before, after)


def figure_sources(plan: Plan) -> Iterator[str]:
    """How many figures are measured, configured and assumed, and what was assumed."""
    jobs = plan.schedule.workload.jobs
    for what, figures in (
        ("training times", [job.seconds for job in jobs]),
        ("GPU utilization", [job.gpu for job in jobs]),
        ("CPU usage", [job.cpu for job in jobs]),
    ):
        numbers = Counter(figure.source for figure in figures)
        shares = ", ".join(f"{numbers[each]} {each}" for each in Source if numbers[each])
        assumed = dict.fromkeys(each.origin for each in figures if each.source is Source.ASSUMED)
        yield f"{what}: {shares}" + (f" ({'; '.join(assumed)})" if assumed else "")
    for use in plan.pools:
        pool = use.pool
        parts = [("boot", pool.boot), ("image pull", pool.pull), ("removal when idle", pool.idle)]
        yield f"{pool.name}: " + ", ".join(
            f"{what} {format_duration(figure.value)} {figure.source}" for what, figure in parts
        )


def _pool_row(use: PoolUse, plan: Plan, output_format: str) -> dict[str, object]:
    two = "\n" if output_format == "text" else " "  # a terminal has no room for wide headers
    return {
        "pool": use.pool.name,
        "GPU": use.pool.gpu.removeprefix("NVIDIA "),
        "jobs": use.jobs,
        "nodes": use.nodes,
        "done": format_duration(use.end),
        "boot": format_duration(use.booting),
        "busy": format_duration(use.busy),
        "idle": format_duration(use.idle),
        f"GPU{two}used": percent(use.gpu_busy),
        f"of{two}paid": percent(use.gpu_paid),
        f"cost{two}{plan.schedule.workload.currency}".strip(): (
            "unknown" if use.cost is None else f"{use.cost:.2f}"
        ),
    }


def _limit(bound: Bound) -> str:
    on = "" if bound.limit is Limit.RUNNER else f" of {bound.pool}"
    if bound.limit in (Limit.LONGEST, Limit.PAIR, Limit.CHAIN):
        on = f" on {bound.pool}"
    return f"{bound.limit}{on}"


def _binds(bound: Bound) -> str:
    return f"{bound.pool}: {bound.limit}; not done before {format_duration(bound.seconds)}"


def _job_rows(runs: Sequence[Run]) -> Iterator[dict[str, object]]:
    for run in runs[:_SHOWN_JOBS]:
        waits = [wait.reason.name.lower() for wait in run.waits]
        yield {
            "job": run.job.name,
            "pool": run.job.pool,
            "at": f"{run.node}/{run.slot}",
            "waits": waits[-1] if waits else "-",
            "start": format_duration(run.start),
            "end": format_duration(run.end),
            "slow": f"×{run.slowdown:.2f}" if run.slowdown > 1.005 else "-",
            "by": run.job.seconds.source.value[0],
        }
    if len(runs) > _SHOWN_JOBS:
        yield {"job": f"… {len(runs) - _SHOWN_JOBS} more"}


def listed_section(title: str, lines: Sequence[str], output_format: str) -> str:
    """A title and its lines."""
    if output_format == "markdown":
        return "\n".join([f"**{title}**", "", *listed(lines, output_format)])
    return "\n".join([fill(f"{title}:"), *(fill(line, indent="  ") for line in lines)])
