"""The HTML report of a plan as a text: what it says, that it is sound, and that it is one file."""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gpu_pipeline.console import printable
from gpu_pipeline.plan.model import Workload
from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.reports.plan_html import plan_html
from tests.effort import examples

from . import plans
from .html_reader import Element, read_html

REPORTS: dict[str, Callable[[], str]] = {
    "shipped": lambda: plan_html(plans.shipped(), title="routing.toml"),
    "compared": lambda: plan_html(
        plans.shipped(), title="routing.toml", other=("single-pool.toml", plans.single_pool())
    ),
    "troubled": lambda: plan_html(
        plans.troubled(), title="troubled", other=("shipped", plans.shipped())
    ),
    "empty": lambda: plan_html(plans.planned(plans.workload([])), title="empty"),
}


@pytest.fixture(scope="module", params=list(REPORTS))
def text(request: pytest.FixtureRequest) -> str:
    return REPORTS[request.param]()


def page_of(plan: Plan, title: str = "plan", other: tuple[str, Plan] | None = None) -> Element:
    return read_html(plan_html(plan, title=title, other=other))


def headlines(page: Element) -> dict[str, str]:
    (found,) = (each for each in page.all("dl") if each.attributes.get("class") == "headlines")
    return {each.all("dt")[0].text: each.text for each in found.all("div")}


def table(page: Element, caption: str) -> dict[str, list[str]]:
    """The cells of each row of the table with this caption, by the row's first."""
    for each in page.all("table"):
        if each.all("caption")[0].text == caption:
            rows = [row.all("th") + row.all("td") for row in each.all("tr")]
            return {cells[0].text: [cell.text for cell in cells] for cells in rows if cells}
    raise AssertionError(f"no table {caption!r}")


# --- Sound --------------------------------------------------------------------------------------


def test_it_is_well_formed_and_its_references_lead_somewhere(text: str) -> None:
    elements = read_html(text).every()
    ids = [each.attributes["id"] for each in elements if "id" in each.attributes]
    assert len(ids) == len(set(ids))
    wanted = {
        value.removeprefix("#")
        for each in elements
        for name, value in each.attributes.items()
        if name in ("href", "aria-labelledby")
    }
    wanted |= set(re.findall(r"url\(#(\w+)\)", text))
    assert wanted <= set(ids)


def test_headings_go_down_one_step_at_a_time(text: str) -> None:
    levels = [int(each.name[1]) for each in read_html(text).every() if re.match(r"h\d", each.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_tables_have_captions_and_their_headers_a_scope(text: str) -> None:
    page = read_html(text)
    assert page.all("table")
    for each in page.all("table"):
        assert each.all("caption")[0].text
        assert all(head.attributes.get("scope") for head in each.all("th"))
        widths = {
            sum(int(cell.attributes.get("colspan") or 1) for cell in row.all("th") + row.all("td"))
            for row in each.all("tr")
        }
        assert len(widths) == 1


def test_it_loads_nothing_and_admits_its_own_style_and_script_only(text: str) -> None:
    page = read_html(text)
    without_links = re.sub(r'xmlns="[^"]*"|"http://www\.w3\.org/2000/svg"', "", text)
    assert not re.search(r"https?:|\bsrc=|@import|url\((?!#)|style=|\son\w+=", without_links)
    policy = page.all("meta")[1].attributes["content"]
    for tag in ("style", "script"):
        (inline,) = page.all(tag)
        digest = hashlib.sha256("".join(inline.children).encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert policy.startswith("default-src 'none';")


@pytest.mark.parametrize("name", REPORTS)
def test_it_depends_on_the_plan_alone(name: str) -> None:
    text = REPORTS[name]()
    assert text == REPORTS[name]()
    assert not re.search(r"\b20\d\d-\d\d|\d\d:\d\d", text)


def test_its_size_grows_with_the_jobs() -> None:
    small, large = (len(plan_html(plans.many(n), title="many")) for n in (200, 400))
    assert large < 2 * small


# --- Numbers ------------------------------------------------------------------------------------


def test_the_headline_says_how_long_how_much_and_what_binds() -> None:
    found = headlines(page_of(plans.shipped()))
    assert (
        found["Makespan"]
        == "Makespan13h 33mno plan can be shorter; what binds: the GPU (ci-training)"
    )
    assert "22.90 EUR" in found["Cost"]
    assert "ci-compile 2.74 EUR, ci-training 20.16 EUR" in found["Cost"]
    assert "7h 2m" in found["Mean wait"]
    assert "81 %" in found["GPU"]


def test_a_plan_above_its_bound_says_by_how_much() -> None:
    jobs = [plans.job(f"j{n}", 1000, gpu=plans.figure(0.7), group="g") for n in range(2)]
    plan = plans.planned(plans.workload(jobs, [plans.pool(max_nodes=2)]))
    assert plan.above_bound > 0.1
    assert (
        f"{100 * plan.above_bound:.1f} % above the lower bound"
        in headlines(page_of(plan))["Makespan"]
    )


def test_a_cost_that_is_not_known_is_marked_with_the_pool_that_has_no_price() -> None:
    page = page_of(plans.troubled())
    assert re.match(
        r"Cost⚠ unknownno price_per_hour: large; all else costs", headlines(page)["Cost"]
    )
    assert table(page, "Pools")["large"][10:12] == ["⚠ unknown", "⚠ unknown"]


def test_every_job_has_a_row_with_its_numbers_and_a_bar_that_leads_to_it() -> None:
    plan = plans.shipped()
    page = page_of(plan)
    bars = [each for each in page.all("a") if "bar" in each.attributes.get("class", "").split()]
    rows = {each.attributes["id"]: each for each in page.all("tr") if "id" in each.attributes}
    assert len(bars) == len(rows) == len(plan.schedule.runs)
    led_to = {rows[bar.attributes["href"][1:]].all("th")[0].text: bar for bar in bars}
    for name, bar in led_to.items():
        assert bar.all("text")[0].text == name
        assert bar.all("title")[0].text.startswith(f"{name}: Pool ")
    assert table(page, "Jobs")["hyperopt-tft"] == [
        "hyperopt-tft", "ci-training", "1", "1", "15m", "6h 29m", "6h 14m", "1.36 ×",
        "a node to boot 15m", "4h 35m", "assumed",
        "1100 s an epoch: the mean of what is known elsewhere", "12h",
    ]  # fmt: skip


def test_trouble_is_said_in_words() -> None:
    page = page_of(plans.troubled())
    (warnings,) = (e for e in page.all("ul") if e.attributes.get("class") == "warnings")
    assert "2 jobs would never start." in warnings.text
    assert "1 job would be ended by the timeout" in warnings.text
    assert table(page, "Jobs")["late"][-1] == "⚠ 1h ends it 1h 36m before it is done"
    stuck = table(page, "Jobs that never start")
    assert "CPU" in stuck["huge"][2]
    assert "it needs huge" in stuck["after-huge"][2]


def test_pods_that_wait_for_too_long_are_said_and_are_no_timeouts() -> None:
    jobs = [plans.job(f"j{n}") for n in range(5)]  # without resource groups all are pods at once
    page = page_of(plans.planned(plans.workload(jobs, [plans.pool(max_nodes=1)])))
    (warnings,) = (e for e in page.all("ul") if e.attributes.get("class") == "warnings")
    assert "3 jobs would be Pending for longer than the runner waits." in warnings.text
    (legend,) = (e for e in page.all("ul") if e.attributes.get("class") == "legend")
    assert "after the timeout" not in legend.text


def test_what_the_plan_rests_on_is_measured_configured_or_assumed() -> None:
    page = page_of(plans.troubled())
    assert "durations of 5 jobs: 1 measured, 3 configured, 1 assumed" in page.text
    (figures,) = (t for t in page.all("table") if t.all("caption")[0].text == "Figures")
    rows = [[cell.text for cell in row.all("td")] for row in figures.all("tr")]
    assert ["10m", "measured", "runs.json: median of 5", "quick"] in rows
    assert ["10m", "configured", "a:1", "small, large"] in rows


# --- Comparison ---------------------------------------------------------------------------------


def test_a_comparison_has_both_plans_and_the_differences() -> None:
    page = page_of(plans.shipped(), "routing.toml", ("single-pool.toml", plans.single_pool()))
    assert "−35h 35m (−72 %) against single-pool.toml" in headlines(page)["Makespan"]
    run = table(page, "The run")
    assert run["Cost"] == ["Cost", "22.90 EUR", "72.48 EUR", "−49.58 EUR (−68 %)"]
    pools = table(page, "By pool")
    assert pools["ci-compile"][1:5] == ["only routing.toml", "3", "–", "–"]
    assert pools["ci-training"][1:5] == ["both", "16", "19", "−3"]
    jobs = table(page, "By job")
    assert jobs["hyperopt-dqn"][1] == "ci-training → ci-compile"
    assert jobs["hyperopt-dqn"][5:8] == ["2h 27m", "4h 35m", "−2h 8m (−47 %)"]


@pytest.mark.parametrize(("ours", "theirs", "side"), [("ab", "a", "ours"), ("a", "ab", "theirs")])
def test_a_job_that_only_one_plan_has_is_said_so(ours: str, theirs: str, side: str) -> None:
    a, b = (
        plans.planned(plans.workload([plans.job(n) for n in names])) for names in (ours, theirs)
    )
    jobs = table(page_of(a, "ours", ("theirs", b)), "By job")
    assert jobs["b"][1] == f"⚠ small, only {side}"
    assert jobs["a"][1] == "small"


def test_costs_in_two_currencies_have_no_difference() -> None:
    work = plans.workload([plans.job("a")])
    ours, theirs = (plans.planned(replace(work, currency=c)) for c in ("EUR", "USD"))
    run = table(page_of(ours, "ours", ("theirs", theirs)), "The run")
    assert [cell.split()[-1] for cell in run["Cost"][1:]] == ["EUR", "USD", "currency"]


# --- Hostile names ------------------------------------------------------------------------------

NASTY = [
    "<script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    "</title></svg></script><b>",
    "\"'><a href=javascript:alert(1)>",
    "{{ 7*7 }}{% raw %}&lt;&amp;",
    "a\x00b\x1b[31m\u202ec\ud800",
    "]]>--><!-- `${x}`",
]


def named(text: str) -> Workload:
    """A workload whose every text is this one; names that must differ get a letter."""
    return plans.workload(
        [
            plans.job(
                name, plans.figure(9000.0, origin=text), family=text, pool=text, timeout=60.0,
                requests=(99_999 if name.endswith("b") else 1, 1, 1),
            )
            for name in (f"{text}a", f"{text}b")
        ],
        [plans.pool(text, gpu=text, price=None)],
        currency=text,
    )  # fmt: skip


def hostile_page(text: str) -> Element:
    plan = plans.planned(named(text))
    return page_of(plan, text, (text, plan))


@functools.cache
def harmless() -> list[tuple[str, tuple[str, ...]]]:
    return hostile_page("x").skeleton()


@pytest.mark.parametrize("name", NASTY)
def test_no_name_breaks_out_of_its_place(name: str) -> None:
    page = hostile_page(name)
    assert page.skeleton() == harmless()
    assert " ".join(printable(name).split()) in page.all("h1")[0].text
    for inline in ("style", "script"):
        (found,) = page.all(inline)
        assert "alert(1)" not in "".join(found.children)


@settings(max_examples=examples(15))
@given(name=st.text(min_size=1).filter(lambda text: text.strip() == text))
def test_whatever_the_names_the_page_has_the_same_shape(name: str) -> None:
    assert hostile_page(name).skeleton() == harmless()
