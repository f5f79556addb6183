"""The HTML report of a plan in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from gpu_pipeline.plan.model import Run
from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.reports.gantt import span_of

from .. import plans
from ..test_plan_html import NASTY, named
from .chromium import needs_chromium
from .conftest import DESKTOP

pytestmark = needs_chromium

Open = Callable[..., Page]
PHONE = {"width": 375, "height": 700}


@pytest.fixture(scope="module")
def shipped() -> Plan:
    return plans.shipped()


@pytest.fixture(scope="module")
def single_pool() -> Plan:
    return plans.single_pool()


def bar_of(page: Page, name: str, chart: int = 0) -> Locator:
    return page.locator(".chart").nth(chart).locator(f'a.bar[aria-label^="{name}:"]')


def box(of: Locator) -> dict[str, float]:
    """Where the first rectangle of an element is, in pixels of the window."""
    return of.evaluate(
        """each => {
          const drawn = each.matches("a") ? each.querySelector("rect") : each;
          const box = drawn.getBoundingClientRect();
          return {left: box.left, right: box.right, top: box.top, bottom: box.bottom};
        }"""
    )


def check_bars(page: Page, plan: Plan, span: float, chart: int = 0) -> None:
    """Each bar is where its start and end are on the scale, in the lane that its label names."""
    where = page.locator(".chart").nth(chart)
    plot = box(where.locator(".plot"))
    width = plot["right"] - plot["left"]
    lanes = where.locator(".l-slot").evaluate_all(
        "all => all.map(each => [each.textContent, each.getBoundingClientRect().top])"
    )
    heads = where.locator(".l-head").evaluate_all(
        "all => all.map(each => [each.firstElementChild.textContent, "
        "each.getBoundingClientRect().top])"
    )
    bars = where.locator("a.bar").evaluate_all(
        """all => all.map(bar => [bar.getAttribute("aria-label").split(":")[0],
                                  bar.querySelector("rect").getBoundingClientRect().toJSON()])"""
    )
    boxes = dict(bars)
    assert len(boxes) == len(bars) == len(plan.schedule.runs)
    for run in plan.schedule.runs:
        found = boxes[run.job.name]
        assert found["left"] == pytest.approx(plot["left"] + width * run.start / span, abs=0.6)
        assert found["right"] == pytest.approx(plot["left"] + width * run.end / span, abs=0.6)
        middle = (found["top"] + found["bottom"]) / 2
        label = [text for text, top in lanes if top <= middle < top + 22]
        assert label == [f"node {run.node} · slot {run.slot}"]
        assert [name for name, top in heads if top < middle][-1] == run.job.pool


def overflow(page: Page) -> int:
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


# --- It opens ------------------------------------------------------------------------------------


def test_hostile_names_are_shown_and_do_nothing(open_report: Open) -> None:
    name = " ".join(NASTY)
    plan = plans.planned(named(name))
    page = open_report(plan, name, (name, plan))
    page.locator("a.bar").first.hover()
    expect(page.locator("#tip strong")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("img, iframe, b, body > a").count() == 0
    assert page.locator("script").count() == 1


def test_many_jobs_open(open_report: Open) -> None:
    page = open_report(plans.many(1700))
    assert page.locator("a.bar").count() == 1700
    page.locator("a.bar").last.focus()
    expect(page.locator("#tip")).to_contain_text("hyperopt-model-")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_a_window_is_as_wide_as_it_is(
    open_report: Open,
    shipped: Plan,
    single_pool: Plan,
    scheme: str,
    viewport: dict[str, int] | None,
) -> None:
    how = {"viewport": viewport} if viewport else {}
    page = open_report(
        shipped, "routing.toml", ("single-pool.toml", single_pool), color_scheme=scheme, **how
    )
    assert overflow(page) == 0
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is (scheme == "light")
    edges = page.locator("h1, h2, p, nav a, .value, .legend li, .chart, .scroll").evaluate_all(
        "all => all.map(each => each.getBoundingClientRect().right)"
    )
    assert max(edges) <= (viewport or DESKTOP)["width"]


def test_a_long_title_does_not_widen_a_phone(open_report: Open, shipped: Plan) -> None:
    assert overflow(open_report(shipped, "x" * 300, ("y" * 300, shipped), viewport=PHONE)) == 0


def test_print_is_light_and_the_chart_fits_the_paper(
    open_report: Open, shipped: Plan, single_pool: Plan
) -> None:
    # A4 across, less its margins, at 96 pixels an inch.
    page = open_report(
        shipped,
        other=("other", single_pool),
        color_scheme="dark",
        viewport={"width": 1047, "height": 700},
    )
    page.get_by_label("Zoom in").click()
    page.emulate_media(media="print")
    assert overflow(page) == 0
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    for chart in page.locator(".chart").all():
        assert chart.evaluate("each => each.scrollWidth <= each.clientWidth")
    check_bars(page, shipped, span_of([shipped, single_pool]))
    for table in page.locator("table").all():
        assert box(table)["right"] <= 1047


# --- The chart -----------------------------------------------------------------------------------


def test_bars_stand_where_their_times_are(open_report: Open, shipped: Plan) -> None:
    check_bars(open_report(shipped), shipped, span_of([shipped]))


def test_compared_plans_have_one_scale_at_any_zoom(
    open_report: Open, shipped: Plan, single_pool: Plan
) -> None:
    page = open_report(shipped, other=("other", single_pool))
    span = span_of([shipped, single_pool])
    for _ in range(2):
        check_bars(page, shipped, span, 0)
        check_bars(page, single_pool, span, 1)
        page.get_by_label("Zoom in").click()
    page.locator(".chart").first.evaluate("each => { each.scrollLeft = 300; }")
    # Scrolling is reported with the next frame.
    scrolled = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(
        () => done(document.querySelectorAll(".chart")[1].scrollLeft))))"""
    assert page.evaluate(scrolled) == 300
    page.get_by_role("button", name="Fit").click()
    check_bars(page, shipped, span)


def test_boot_idle_time_and_timeouts_are_drawn(open_report: Open) -> None:
    plan = plans.troubled()
    page = open_report(plan)
    plot = box(page.locator(".plot"))
    scale = (plot["right"] - plot["left"]) / span_of([plan])
    boots = page.locator(".plot .boot > rect").all()
    assert len(boots) == len(plan.schedule.nodes)
    for drawn, node in zip(boots, plan.schedule.nodes, strict=True):
        found = box(drawn)
        assert found["left"] == pytest.approx(plot["left"] + node.created * scale, abs=0.6)
        assert found["right"] == pytest.approx(plot["left"] + node.ready * scale, abs=0.6)
    (late,) = plan.late
    cut = box(bar_of(page, "late").locator(".cut rect").first)
    ends = late.picked + late.job.timeout
    assert cut["left"] == pytest.approx(plot["left"] + ends * scale, abs=0.6)
    assert cut["right"] == pytest.approx(plot["left"] + late.end * scale, abs=0.6)


# --- Details -------------------------------------------------------------------------------------


def expect_details(page: Page, run: Run) -> None:
    tip = page.locator("#tip")
    expect(tip.locator("strong")).to_have_text(run.job.name)
    terms = tip.locator("dt").all_text_contents()
    said = dict(zip(terms, tip.locator("dd").all_text_contents(), strict=True))
    assert (said["Starts"], said["Ends"], said["Takes"]) == ("6h 29m", "12h 43m", "6h 14m")
    assert (said["Against alone"], said["Alone"]) == ("1.36\N{NO-BREAK SPACE}×", "4h 35m")
    assert said["Waits for"] == "its resource group 6h 29m"
    assert said["Duration is"] == "assumed"
    assert said["Known from"] == run.job.seconds.origin
    where = box(tip)
    assert where["left"] >= 0
    assert where["right"] <= page.viewport_size["width"]
    assert where["top"] >= 0
    assert where["bottom"] <= page.viewport_size["height"]


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_details_show_on_hover_and_on_focus(
    open_report: Open, shipped: Plan, viewport: dict[str, int] | None
) -> None:
    page = open_report(shipped, **({"viewport": viewport} if viewport else {}))
    (run,) = (run for run in shipped.schedule.runs if run.job.name == "hyperopt-kan")
    bar = bar_of(page, "hyperopt-kan")
    bar.scroll_into_view_if_needed()
    bar.hover()
    expect_details(page, run)
    page.mouse.move(0, 0)
    expect(page.locator("#tip")).to_be_hidden()
    bar.focus()
    expect_details(page, run)
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()


def test_the_pointer_may_move_onto_the_details(open_report: Open, shipped: Plan) -> None:
    page = open_report(shipped)
    bar_of(page, "hyperopt-kan").hover()
    page.locator("#tip strong").hover()
    # Longer than the details would stay without the pointer.
    page.wait_for_timeout(400)
    expect(page.locator("#tip")).to_be_visible()


def test_a_finger_gets_the_details_and_stays_where_it_is(open_report: Open, shipped: Plan) -> None:
    page = open_report(shipped, viewport=PHONE, has_touch=True)
    bar_of(page, "hyperopt-dqn").tap()
    expect(page.locator("#tip strong")).to_have_text("hyperopt-dqn")
    assert "#" not in page.url


def test_a_timeout_that_comes_first_is_a_warning(open_report: Open) -> None:
    page = open_report(plans.troubled())
    bar_of(page, "late").hover()
    expect(page.locator("#tip .warn")).to_have_text(re.compile("⚠ 1h ends it .* before it is done"))


# --- Keyboard ------------------------------------------------------------------------------------


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''").split(":")[0]


def test_the_keyboard_reaches_every_bar(open_report: Open, shipped: Plan) -> None:
    page = open_report(shipped)
    page.locator(".chart").focus()
    page.keyboard.press("Tab")
    assert focused(page) == "hyperopt-dqn"
    expect(page.locator(".ring")).to_be_visible()
    reached = {focused(page)}
    for key in ["ArrowRight", "ArrowDown", *["ArrowDown"] * 4]:
        page.keyboard.press(key)
        reached.add(focused(page))
        page.keyboard.press("Home")
        for _ in range(4):
            reached.add(focused(page))
            page.keyboard.press("ArrowRight")
    assert reached == {run.job.name for run in shipped.schedule.runs}
    page.keyboard.press("ArrowUp")
    assert focused(page) == "train-validate-xlstm"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.chart')") is None


def test_enter_leads_to_the_row_of_the_job(open_report: Open, shipped: Plan) -> None:
    page = open_report(shipped)
    bar_of(page, "hyperopt-kan").focus()
    page.keyboard.press("Enter")
    row = page.locator("tr:target")
    expect(row.locator("th")).to_have_text("hyperopt-kan")
    expect(row).to_be_in_viewport()


def test_without_its_script_it_is_complete(open_report: Open, shipped: Plan) -> None:
    page = open_report(shipped, java_script_enabled=False)
    expect(page.locator(".tools")).to_be_hidden()
    bar = page.locator("a.bar").first
    assert bar.locator("title").text_content().startswith("hyperopt-dqn: Pool ci-compile")
    page.locator(".chart").focus()
    page.keyboard.press("Tab")
    expect(bar).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("tr:target th")).to_have_text("hyperopt-dqn")


def test_a_screen_reader_is_told_what_is_what(open_report: Open, shipped: Plan) -> None:
    page = open_report(shipped)
    name = re.compile(r"hyperopt-dqn: Pool ci-compile, Node 1, Slot 1, Starts 15m, Ends 2h 42m")
    expect(page.get_by_role("link", name=name)).to_have_count(1)
    for role in ("banner", "navigation", "main"):
        expect(page.get_by_role(role)).to_have_count(1)
    expect(page.get_by_role("group", name="Pool ci-training")).to_have_count(1)
    expect(page.get_by_role("table", name="Jobs", exact=True)).to_have_count(1)
    expect(
        page.get_by_role("img", name=re.compile("GPUs of ci-training over time"))
    ).to_be_visible()


# --- Sorting -------------------------------------------------------------------------------------


def column(page: Page, caption: str, name: str) -> tuple[Locator, Callable[[], list[str]]]:
    table = page.get_by_role("table", name=caption, exact=True)
    head = table.get_by_role("columnheader", name=name, exact=True)
    index = head.evaluate("each => each.cellIndex")
    return head, lambda: table.evaluate(
        "(each, i) => Array.from(each.tBodies[0].rows, row => row.cells[i].textContent)", index
    )


def test_a_click_on_a_header_sorts_by_its_numbers(open_report: Open) -> None:
    plan = plans.many(40)
    page = open_report(plan)
    head, shown = column(page, "Jobs", "Takes")
    _, names = column(page, "Jobs", "Job")
    lengths = {run.job.name: run.end - run.start for run in plan.schedule.runs}
    for order, sign in (("ascending", 1), ("descending", -1)):
        head.get_by_role("button").click()
        assert head.get_attribute("aria-sort") == order
        assert names() == sorted(lengths, key=lambda name: sign * lengths[name])
    assert len(set(shown())) > 10
    assert page.locator("[aria-sort]").count() == 1


def test_texts_sort_by_their_letters_and_the_unknown_comes_last(open_report: Open) -> None:
    page = open_report(plans.troubled())
    head, names = column(page, "Jobs", "Job")
    head.get_by_role("button").click()
    assert names() == ["late", "other", "quick"]
    head, costs = column(page, "Pools", "Cost")
    for _ in range(2):
        head.get_by_role("button").press("Enter")
        assert "unknown" in costs()[-1]
