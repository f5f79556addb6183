"""What stands where in the Gantt chart of a plan, and that its colours can be read."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.reports import gantt
from gpu_pipeline.reports.gantt_axis import tick_step, ticks_of, use_steps

from . import plans
from .conftest import ROOT

STYLE = (ROOT / "gpu_pipeline/reports/plan.css").read_text(encoding="utf-8")


def chart_of(plan: Plan) -> gantt.Chart:
    return gantt.gantt(plan, span=gantt.span_of([plan]), colours=gantt.colours_of([plan]))


@pytest.fixture(scope="module", params=["shipped", "single_pool", "troubled", "many"])
def plan(request: pytest.FixtureRequest) -> Plan:
    return plans.many(60) if request.param == "many" else getattr(plans, request.param)()


def test_every_run_has_a_bar_in_the_lane_of_its_slot(plan: Plan) -> None:
    chart = chart_of(plan)
    bars = [(pool, bar) for pool in chart.pools for bar in pool.bars]
    assert sorted(bar.key for _, bar in bars) == list(range(len(plan.schedule.runs)))
    for pool, bar in bars:
        assert bar.run == plan.schedule.runs[bar.key]
        assert bar.run.job.pool == pool.use.pool.name
        (track,) = (track for track in pool.nodes if track.number == bar.run.node)
        assert (bar.y - track.y) // gantt.LANE == bar.run.slot - 1
        assert bar.run.slot in track.slots
        assert bar.x == pytest.approx(100 * bar.run.start / chart.span)
        assert bar.x + bar.width == pytest.approx(100 * bar.run.end / chart.span)
        assert track.x <= bar.x
        assert bar.x + bar.width <= track.x + track.width + 1e-9


def test_bars_of_a_lane_stand_in_order_and_apart(plan: Plan) -> None:
    for pool in chart_of(plan).pools:
        for before, after in itertools.pairwise(pool.bars):
            assert (before.y, before.x) < (after.y, after.x)
            assert before.y < after.y or before.x + before.width <= after.x + 1e-9


def test_boot_and_idle_time_is_drawn_as_long_as_it_is(plan: Plan) -> None:
    chart = chart_of(plan)
    for pool in chart.pools:
        phases = [phase for track in pool.nodes for phase in track.phases]
        for kind, seconds in (("boot", pool.use.booting), ("idle", pool.use.idle)):
            drawn = sum(phase.width for phase in phases if phase.kind == kind)
            assert drawn * chart.span / 100 == pytest.approx(seconds)


def test_the_area_of_the_utilization_is_the_work_of_the_gpus(plan: Plan) -> None:
    for pool in chart_of(plan).pools:
        use = pool.use
        for steps, wanted in ((pool.busy, use.gpu_work), (pool.paid, use.paid * use.pool.gpus)):
            area = sum(a.value * (b.start - a.start) for a, b in itertools.pairwise(steps))
            assert area == pytest.approx(wanted, rel=1e-4)
            assert steps[-1].value == 0
        assert pool.peak == max(step.value for step in pool.paid)


def test_a_bar_shows_where_its_timeout_ends_the_job() -> None:
    chart = chart_of(plans.troubled())
    cuts = {bar.run.job.name: bar.cut for pool in chart.pools for bar in pool.bars}
    (late,) = plans.troubled().late
    allowed = late.picked + late.job.timeout - late.start
    assert cuts.pop("late") == pytest.approx(100 * allowed / (late.end - late.start))
    assert set(cuts.values()) == {None}


def test_plans_beside_each_other_have_one_scale_and_one_colour_for_a_family() -> None:
    both = [plans.shipped(), plans.single_pool()]
    assert gantt.span_of(both) == max(gantt.span_of([each]) for each in both)
    assert gantt.colours_of(both) == {"rl": 0, "supervised": 1}


@given(span=st.floats(1, 1e9))
def test_ticks_are_few_and_finer_ones_stand_between_coarser_ones(span: float) -> None:
    ticks = ticks_of(span)
    assert 2 <= sum(tick.zoom == 1 for tick in ticks) <= 11
    assert len(ticks) <= 161
    assert [tick.x for tick in ticks] == sorted({tick.x for tick in ticks})
    assert ticks[0].text == "0"
    assert len({tick.text for tick in ticks}) == len(ticks)
    assert tick_step(span) % tick_step(span, 40) == 0


def test_nothing_in_use_has_no_steps() -> None:
    assert use_steps([]) == use_steps([(5.0, 5.0, 1.0)]) == ()


# --- Colours: WCAG 2.2, 1.4.3 (text) and 1.4.11 (what must be seen to understand) -----------------

TEXT, SHAPE = 4.5, 3.0
COLOURS = [f"c{n}" for n in range(gantt.COLOURS)]
CONTRASTS = [
    *((name, "page", TEXT) for name in ("text", "muted", "link", "warn")),
    *((name, "panel", TEXT) for name in ("text", "muted", "warn")),
    *((name, "row", TEXT) for name in ("text", "warn")),
    *((name, "life", TEXT) for name in ("muted", "text")),
    *(("on", colour, TEXT) for colour in COLOURS),
    *((colour, ground, SHAPE) for colour in COLOURS for ground in ("page", "life")),
    *((name, ground, SHAPE) for name in ("focus", "warn") for ground in ("page", "life")),
    ("edge", "page", SHAPE),
    ("busy", "paid", SHAPE),
]  # fmt: skip


def scheme(name: str) -> dict[str, str]:
    light, dark = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    text = light if name == "light" else light + dark
    return dict(re.findall(r"--([\w-]+): (#\w{6})", text))


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize(("fore", "ground", "least"), CONTRASTS)
def test_colours_stand_out_enough(name: str, fore: str, ground: str, least: float) -> None:
    colours = scheme(name)
    dark, light = sorted(luminance(colours[each]) for each in (fore, ground))
    assert (light + 0.05) / (dark + 0.05) >= least
