"""A comparison as people see it: fits a terminal, is sound Markdown, and GitLab draws its chart."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_pipeline.plan.model import (
    Figure,
    PlannedJob,
    PlannedPool,
    Run,
    Schedule,
    Source,
    Workload,
)
from gpu_pipeline.reports.diff_markdown import cell
from gpu_pipeline.reports.layout import code
from gpu_pipeline.reports.mermaid import LARGEST, gantt, label

from .conftest import ROOT, SHIPPED, Result

SINGLE_POOL = ROOT / "examples/single-pool.toml"
NASTY = "a`b|c<img src=x>$x$@all\\n[x](y) ~bug !1 #1 ``` | </details> \\u202e"
# A line of a chart: a section, or a bar with mark, start and length; no name may add to it.
BAR = re.compile(
    r"[^:;#%\n]+ :(?:active, |crit, |done, )?2001-\d\d-\d\d \d\d:\d\d, [1-9]\d*m|section [^:;#%\n]+"
)


def figure(value: float) -> Figure:
    return Figure(value=value, source=Source.CONFIGURED, origin="routing.toml:1")


def schedule(
    jobs: int, *, pool: str = "a", prefix: str = "job", tasks: int = 1, hours: float = 1.0
) -> Schedule:
    """So many jobs of an hour each, one after the other in one slot."""
    seconds = hours * 3600
    planned = [
        PlannedJob(
            name=f"{prefix}-{i}", task=f"{prefix}-{i % tasks}", family="f", models=(f"m{i}",),
            pool=pool, seconds=figure(seconds), gpu=figure(1), cpu=figure(1), requests=(1, 1, 1),
            timeout=seconds * 2 * (i + 1),
        )
        for i in range(jobs)
    ]  # fmt: skip
    one = PlannedPool(
        name=pool, gpu="NVIDIA L4", gpus=1, concurrency=1, min_nodes=1, max_nodes=1,
        allocatable=(None, None, None), boot=figure(0), pull=figure(0), idle=figure(0), price=None,
    )  # fmt: skip
    runs = tuple(
        Run(
            job=job, node=1, slot=1, picked=0, start=i * seconds, end=(i + 1) * seconds, waits=()
        )
        for i, job in enumerate(planned)
    )  # fmt: skip
    return Schedule(workload=Workload(jobs=tuple(planned), pools={pool: one}), runs=runs, nodes=())


@pytest.mark.parametrize("routing", [SHIPPED, ROOT / "examples/other-cloud.toml"])
def test_the_text_fits_a_terminal(routing: Path, run: Callable[..., Result]) -> None:
    result = run("diff", SINGLE_POOL, "--routing", routing)
    assert result.code == 0, result.err
    assert max(map(len, result.out.splitlines())) <= 80


def test_a_name_is_broken_nowhere_however_long_it_is(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    long = "p" * 63
    routing = edit(
        ("[pools.ci-training]", f"[pools.{long}]"), ('pool = "ci-training"', f'pool = "{long}"'),
        ('tags = ["kapsule", "gpu"]', f'tags = ["{"t" * 200}"]\nvariables = {{ A = "{NASTY}" }}'),
    )  # fmt: skip
    result = run("diff", SHIPPED, "--routing", routing)
    assert result.code == 0, result.err
    (wide,) = [line for line in result.out.splitlines() if len(line) > 80]
    assert wide.split()[-1] == "t" * 200


def test_a_change_of_many_jobs_is_told_once(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(("training:${CI_COMMIT_SHA}", "training:1"))
    for output_format in ("text", "markdown"):
        found = run("diff", SHIPPED, "--routing", routing, "--format", output_format).out
        assert found.count("training:1") == 1
        assert "19 jobs: " in found


def test_hundreds_of_names_are_cut_and_counted(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    models = ", ".join(f'"m{i}"' for i in range(300))
    routing = edit(('["tft"', f'[{models}, "tft"'))
    for output_format, most in (("text", 120), ("markdown", 120)):
        found = run("diff", SHIPPED, "--routing", routing, "--format", output_format)
        assert found.code == 0, found.err
        assert "nd 570 more" in found.out
        assert len(found.out.splitlines()) < most


def test_values_mean_nothing_in_markdown(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(
        ('tags = ["kapsule", "gpu"]', f'tags = ["gpu"]\nvariables = {{ A = "{NASTY}" }}')
    )
    found = run("diff", SHIPPED, "--routing", routing, "--format", "markdown").out
    outside = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", found)
    for mark in ("<img", "@all", "](y)", "~bug", "!1", "#1", "$x$"):
        assert mark in found
        assert mark not in outside
    for line in found.splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) in (5, 8), line
    assert "\u202e" not in found
    assert found.count("<details>") == found.count("\n</details>") == 2


@given(st.text(st.sampled_from("`|\\ \nab<") | st.characters(), max_size=60))
def test_a_code_span_in_a_cell_holds_any_text(text: str) -> None:
    span = code(text)
    fence = re.match("`+", span)[0]
    inner = span[len(fence) : -len(fence)]
    assert span.endswith(fence)
    assert fence not in re.findall("`+", inner)
    assert inner.split() == text.split()
    # As a table's rows are split: a backslash takes the next character with it, a bar ends a cell.
    assert "|" not in re.sub(r"\\.", "", cell(span))
    assert re.sub(r"\\+\|", "|", cell(span)) == re.sub(r"\\*\|", "|", span)


@given(st.text(max_size=60), st.text(min_size=1, max_size=200))
def test_no_name_breaks_the_chart(pool: str, prefix: str) -> None:
    chart = gantt(schedule(3, pool=pool, prefix=prefix), changed=[f"{prefix}-0"])
    lines = chart.split("\n")
    assert lines[:4] == ["---", "displayMode: compact", "---", "gantt"]
    assert len(lines) == 10
    assert all(BAR.fullmatch(line) for line in lines[6:]), lines


@pytest.mark.parametrize(
    "name", ["gantt-x", "Title", "section", "click", "2024-01-01", "todayMarker", "accTitle: x"]
)
def test_a_name_is_no_word_of_the_chart(name: str) -> None:
    assert label(name).startswith("· ")
    assert label(f"my-{name}").startswith("my-")


def test_the_chart_says_when_each_job_runs_and_which_are_new_or_late() -> None:
    plan = schedule(3, hours=1.5)
    late = plan.runs[0].job
    assert [run.is_late for run in plan.runs] == [False, False, False]
    assert late.timeout == 3 * 3600
    assert gantt(plan, changed=["job-1"]).split("\n")[4:] == [
        "dateFormat YYYY-MM-DD HH:mm",
        "axisFormat %-H:%M",
        "section a",
        "job-0 :2001-01-01 00:00, 90m",
        "job-1 :active, 2001-01-01 01:30, 90m",
        "job-2 :2001-01-01 03:00, 90m",
    ]
    days = gantt(schedule(3, hours=400), changed=[]).split("\n")
    assert days[5] == "axisFormat day %-d %H:%M"
    assert days[-1] == "job-2 :2001-02-03 08:00, 24000m"


def test_a_job_that_its_timeout_ends_is_red() -> None:
    plan = schedule(1)
    late = Run(
        job=plan.runs[0].job, node=1, slot=1, picked=0, start=0, end=8000, waits=()
    )  # fmt: skip
    assert "job-0 :crit, " in gantt(Schedule(workload=plan.workload, runs=(late,), nodes=()), [])


@pytest.mark.parametrize(("jobs", "tasks"), [(20, 1), (60, 3), (2000, 3)])
def test_a_chart_never_has_more_than_gitlab_draws(jobs: int, tasks: int) -> None:
    chart = gantt(schedule(jobs, tasks=tasks), changed=[])
    assert len(chart) <= LARGEST
    single = [line for line in chart.split("\n") if line.startswith("job-")]
    assert len(single) == (jobs if jobs == 20 else 0)
    if jobs > 20:
        assert chart.count(f"{jobs // tasks}") >= 1


def test_what_cannot_be_drawn_is_said(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    family = """
[families.family-{0}]
pool = "ci-training"
base = "train-validate-base"
models = ["model-{0}"]
requests = {{ cpu = "1000m", memory = "16Gi" }}
limits = {{ cpu = "2000m", memory = "40Gi" }}

"""
    more = "".join(family.format(i) for i in range(40))
    routing = edit(("[models.dqn]", f"{more}[models.dqn]"))
    result = run("diff", SHIPPED, "--routing", routing, "--format", "markdown")
    assert result.code == 0, result.err
    assert "```" not in result.out
    assert "The plan is not drawn: its chart would have more than 2,000 characters" in result.out
    assert gantt(schedule(0), changed=[]) is None


def test_an_output_file_is_written_and_an_input_never_is(
    run: Callable[..., Result], edit: Callable[..., Path], tmp_path: Path
) -> None:
    routing = edit()
    options = ("diff", SHIPPED, "--routing", routing, "--format", "markdown")
    assert run(*options, "-o", "note.md").out == ""
    assert Path("note.md").read_text(encoding="utf-8") == run(*options).out
    refused = run(*options, "-o", routing)
    assert refused.code == 2
    assert "this is an input" in refused.err
    assert routing.read_text(encoding="utf-8") == SHIPPED.read_text(encoding="utf-8")
