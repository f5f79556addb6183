"""A plan as one HTML file that loads nothing: tables, and a Gantt chart in SVG.

What is shown is decided in `gantt`, `plan_tables` and `plan_comparison`; the shape is the template
plan.html.j2. It works without its script, which adds tooltips, sorting, zoom and arrow keys.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from gpu_pipeline.console import printable
from gpu_pipeline.durations import format_duration
from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.record import Record
from gpu_pipeline.reports import gantt, plan_words
from gpu_pipeline.reports.gantt_axis import Step
from gpu_pipeline.reports.plan_comparison import compared, cost_difference
from gpu_pipeline.reports.plan_tables import (
    Table,
    jobs_table,
    pools_table,
    said_of,
    sources_table,
    stuck_table,
    trust,
)
from gpu_pipeline.words import count

_HERE = Path(__file__).resolve().parent


class Headline(Record):
    """One of the numbers at the top: `note` explains it, `against` compares it."""

    name: str
    value: str
    note: str
    against: str = ""
    warns: bool = False


class _View(Record):
    """One plan as it is shown; `said` has a sentence for each run."""

    name: str
    prefix: str
    chart: gantt.Chart
    said: tuple[str, ...]
    trust: str
    pools: Table
    stuck: Table
    jobs: Table
    sources: Table


def plan_html(plan: Plan, *, title: str, other: tuple[str, Plan] | None = None) -> str:
    """The report of a plan as the text of an HTML file; `other` is a plan to compare it with.

    The text depends on nothing but the arguments.
    """
    plans = [(title, plan), *([other] if other else [])]
    span = gantt.span_of([each for _, each in plans])
    colours = gantt.colours_of([each for _, each in plans])
    style, script = Markup(_read("plan.css")), Markup(_read("plan.js"))  # noqa: S704
    page = _template().render(
        title=title,
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        headlines=_headlines(plan, other),
        warnings=_warnings(plans),
        comparison=compared(plan, other[1], (title, other[0])) if other else (),
        views=[
            _view(name, each, prefix, gantt.gantt(each, span=span, colours=colours), bool(other))
            for (name, each), prefix in zip(plans, ("a", "b"), strict=False)
        ],
        families=colours,
        has_late=any(each.late for _, each in plans),
        sizes=gantt,
    )
    return page.lstrip()  # of what the macros leave


def _view(name: str, plan: Plan, prefix: str, chart: gantt.Chart, is_compared: bool) -> _View:
    suffix = f": {name}" if is_compared else ""
    jobs = jobs_table(plan, f"Jobs{suffix}", f"{prefix}-")
    return _View(
        name=name,
        prefix=prefix,
        chart=chart,
        said=tuple(said_of(row) for row in jobs.rows),
        trust=trust(plan),
        pools=pools_table(plan, f"Pools{suffix}"),
        stuck=stuck_table(plan, f"Jobs that never start{suffix}"),
        jobs=jobs,
        sources=sources_table(plan, f"Figures{suffix}"),
    )


def _headlines(plan: Plan, other: tuple[str, Plan] | None) -> tuple[Headline, ...]:
    currency = plan.schedule.workload.currency

    def against(difference: str) -> str:
        return f"{difference} against {other[0]}" if other else ""

    them = other[1] if other else plan
    return (
        Headline(
            name="Makespan",
            value=format_duration(plan.makespan),
            note=plan_words.in_days(plan.makespan) + plan_words.above_bound(plan),
            against=against(plan_words.time_difference(plan.makespan, them.makespan)),
        ),
        Headline(
            name="Cost",
            value=plan_words.money(plan.cost, currency),
            note=_cost_note(plan),
            against=against(cost_difference(plan, them)),
            warns=plan.cost is None,
        ),
        Headline(
            name="Mean wait",
            value=format_duration(plan.mean_wait),
            note=plan_words.in_days(plan.mean_wait)
            + "from the creation of the pipeline to the start of a job",
            against=against(plan_words.time_difference(plan.mean_wait, them.mean_wait)),
        ),
        Headline(
            name="GPU",
            value=plan_words.share(plan.gpu_paid),
            note=f"of the time that is paid for; {plan_words.share(plan.gpu_busy)} while jobs run",
            against=against(plan_words.share_difference(plan.gpu_paid, them.gpu_paid)),
        ),
    )


def _cost_note(plan: Plan) -> str:
    currency = plan.schedule.workload.currency
    known = [use for use in plan.pools if use.cost is not None]
    unknown = [use.pool.name for use in plan.pools if use.cost is None]
    if unknown:
        known_cost = plan_words.money(sum(use.cost or 0.0 for use in known), currency)
        rest = f"; all else costs {known_cost}" if known else ""
        return f"no price_per_hour: {', '.join(unknown)}{rest}"
    if len(known) == 1:
        return f"{plan_words.node_hours(known[0].paid)} of {known[0].pool.name}"
    return ", ".join(f"{use.pool.name} {plan_words.money(use.cost, currency)}" for use in known)


def _warnings(plans: Sequence[tuple[str, Plan]]) -> list[str]:
    """What would go wrong, for each plan."""
    found = []
    for name, plan in plans:
        where = f" ({name})" if len(plans) > 1 else ""
        if plan.schedule.stuck:
            found.append(f"{count(len(plan.schedule.stuck), 'job')} would never start{where}.")
        if plan.late:
            late = count(len(plan.late), "job")
            found.append(f"{late} would be ended by the timeout before the work is done{where}.")
        if plan.hopeless:
            pending = count(len(plan.hopeless), "job")
            found.append(f"{pending} would be Pending for longer than the runner waits{where}.")
    return found


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """A source expression of a Content-Security-Policy that admits exactly this text.

    W3C, Content Security Policy Level 3, 2.3.1: hash-source.
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "percent": _percent,
        "share": plan_words.share,
        "stairs": _stairs,
        "time": format_duration,
    }
    return environment.get_template("plan.html.j2")


def _shown(value: object) -> object:
    """Texts from outside without control characters, which HTML does not allow even as escapes."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _percent(value: float) -> str:
    """A share of the width, precise to a tenth of a pixel at any magnification."""
    return f"{value:.4f}".rstrip("0").rstrip(".") + "%"


def _stairs(steps: Sequence[Step], span: float, peak: float) -> str:
    """An SVG path over a box of 10000 × 100 units: an area that follows the steps."""
    stairs = [
        f"H{10_000 * step.start / span:.2f}V{100 - 100 * step.value / (peak or 1):.2f}"
        for step in steps
    ]
    return f"M0 100{''.join(stairs)}V100Z"
