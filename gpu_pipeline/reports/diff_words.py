"""The words of a comparison that its text and its Markdown share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.model import Source
from gpu_pipeline.plan_diff import Figures, Pair, PlanDiff
from gpu_pipeline.record import Record
from gpu_pipeline.routing_diff import OneSided, RoutingDiff
from gpu_pipeline.routing_facts import Fact
from gpu_pipeline.words import count, money, percent, signed_percent

NAMES_AT_MOST = 30
_MINUS = "−"
_NOT_KNOWN = "-"


class Row(Record):
    """A line of a table of figures."""

    name: str
    before: str
    after: str
    difference: str


def headline(diff: RoutingDiff, plan: PlanDiff) -> str:
    """What changes, in one sentence without names."""
    if diff.is_empty:
        return f"nothing differs: {count(diff.jobs_after, 'job')}, routed alike"
    if diff.is_new:
        parts = [f"no routing before: {count(diff.jobs_after, 'job')}, all new"]
    else:
        parts = [", ".join(_counts(diff)) or _rest(diff)]
    return "; ".join([*parts, *filter(None, [_effect(plan)])])


def _counts(diff: RoutingDiff) -> Iterator[str]:
    stay = [each for each in diff.changed if not each.moves]
    for number, noun, what in (
        (len(diff.added), "job", "added"),
        (len(diff.removed), "job", "removed"),
        (len(diff.moved), "job", "moved"),
        (len(stay), "job", "changed"),
        (len(diff.pools_added), "pool", "added"),
        (len(diff.pools_removed), "pool", "removed"),
        (len(diff.pools_changed), "pool", "changed"),
        (len(diff.templates), "template", "changed"),
    ):
        if number:
            yield f"{count(number, noun)} {what}"


def _rest(diff: RoutingDiff) -> str:
    if diff.settings:
        return f"{count(len(diff.settings), 'setting')} of the pipeline changed"
    return "only the deal of slots differs"


def _effect(plan: PlanDiff) -> str:
    """What the run takes and costs, next to before."""
    end, cost = plan.total.end, plan.total.cost
    if end.difference is None:
        takes = f"a run takes {format_duration(end.after or 0)}"
        price = "" if cost.after is None else f" and costs {money(cost.after, plan.currency)}"
        return takes + price
    share = f" ({signed_percent(end.share)})" if end.share is not None else ""
    takes = (
        "a run takes as long as before"
        if abs(end.difference) < 30
        else f"a run takes {format_duration(abs(end.difference))} "
        f"{'more' if end.difference > 0 else 'less'}{share}"
    )
    if cost.difference is None or not plan.same_currency:
        return takes
    if abs(cost.difference) < 0.005:
        return f"{takes} and costs the same"
    share = f" ({signed_percent(cost.share)})" if cost.share is not None else ""
    more = "more" if cost.difference > 0 else "less"
    return f"{takes} and costs {money(abs(cost.difference), plan.currency)} {more}{share}"


def figure_rows(figures: Figures, plan: PlanDiff, *, total: bool) -> list[Row]:
    """The figures of a plan or of one pool, as words."""

    cost = _row("cost", figures.cost, lambda cost: money(cost, plan.currency), least=0.005)
    if not plan.same_currency and plan.before:
        other = plan.before.schedule.workload.currency
        before = "-" if figures.cost.before is None else money(figures.cost.before, other)
        cost = Row(name="cost", before=before, after=cost.after, difference="another currency")
    return [
        _row("makespan" if total else "last job ends", figures.end, format_duration, least=0.5),
        cost,
        _row("jobs", figures.jobs, lambda number: f"{number:.0f}", least=0.5, share=False),
        _row("mean wait", figures.wait, format_duration, least=0.5),
        _row("paid node time", figures.paid, lambda hours: f"{hours:.1f} h", least=0.05),
        _row("GPU at work", figures.gpu, percent, least=0.005, share=False, unit=" points"),
    ]


def _row(
    name: str,
    pair: Pair,
    shown: Callable[[float], str],
    *,
    least: float,
    share: bool = True,
    unit: str = "",
) -> Row:
    """A row; a difference below `least` is none."""
    before, after = (
        _NOT_KNOWN if each is None else shown(each) for each in (pair.before, pair.after)
    )
    if pair.difference is None:
        difference = _NOT_KNOWN
    elif abs(pair.difference) < least:
        difference = "0"
    else:
        amount = shown(abs(pair.difference))
        amount = amount.removesuffix(" %") + unit if unit else amount
        difference = ("+" if pair.difference > 0 else _MINUS) + amount
        if share and pair.share is not None:
            difference += f" ({signed_percent(pair.share)})"
    return Row(name=name, before=before, after=after, difference=difference)


def basis(plan: PlanDiff) -> list[str]:
    """What the figures rest on, and what they hide."""
    lines = ["As if all jobs were started at once, each on the nodes that its pool may have."]
    assumed, jobs = plan.reliability[Source.ASSUMED], plan.total.jobs.after or 0
    if assumed:
        lines.append(
            f"Nobody says how long {assumed:.0f} of the {jobs:.0f} jobs train, so that is assumed: "
            "set expected or seconds_per_epoch."
        )
    for name, side in (("before", plan.before), ("after", plan.after)):
        if side and side.schedule.stuck:
            stuck = [each.job.name for each in side.schedule.stuck]
            lines.append(
                f"The plan {name} leaves out {count(len(stuck), 'job')} that would never start: "
                f"{names(stuck)}."
            )
        if side and side.late:
            late = [run.job.name for run in side.late]
            lines.append(f"Ended by their timeout in the plan {name}: {names(late)}.")
        if side and side.hopeless:
            pending = [run.job.name for run in side.hopeless]
            lines.append(
                f"Given up by the runner as Pending pods in the plan {name}: {names(pending)}."
            )
    return lines


def names(found: Sequence[str]) -> str:
    """Names, and how many more there are when there are many."""
    shown = ", ".join(found[:NAMES_AT_MOST])
    more = len(found) - NAMES_AT_MOST
    return f"{shown} and {more} more (--format json lists all)" if more > 0 else shown


def value(fact: Fact | None) -> str:
    """A value as a person reads it; line breaks are shown."""
    return "not set" if fact is None else _value(fact.value)


def _value(found: Any) -> str:
    if isinstance(found, dict):  # a rule, in GitLab's keys
        return ", ".join(f"{key}: {_value(each)}" for key, each in found.items())
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, float):
        return f"{found:g}"
    if isinstance(found, tuple | list):
        return ", ".join(_value(each) for each in found) or "none"
    text = str(found).replace("\r", "\\r").replace("\n", "\\n")
    return text or "empty"


def place(one: OneSided) -> str:
    """The line a job or pool comes from, and the one that leaves it out on the other side."""
    left_out = f", left out by {one.left_out}" if one.left_out else ""
    return f"{one.origin}{left_out}"
