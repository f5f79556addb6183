"""The command `plan`: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import itertools
import json
import os
import shutil
from pathlib import Path

import pytest

from ..conftest import ROOT, SHIPPED, TEMPLATES
from .told import SINGLE, Edit, Run, facts

GOLDEN = ROOT / "tests" / "golden"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plan.txt", ()),
        ("plan.md", ("--format", "markdown")),
        ("plan-against.txt", ("--against", "single-pool.toml")),
        ("plan-suggest.txt", ("--suggest",)),
        ("plan-sweep.txt", ("--sweep", "concurrency=1..6")),
    ],
)
def test_output_is_as_expected(
    name: str, arguments: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    """Names in it are those of the current folder, wherever the tests run."""
    shutil.copy(SHIPPED, tmp_path / "routing.toml")
    shutil.copy(SINGLE, tmp_path / "single-pool.toml")
    result = run("plan", "--routing", tmp_path / "routing.toml", *arguments)
    assert (result.code, result.err) == (0, "")
    path = GOLDEN / name
    if os.environ.get("UPDATE") == "1":
        path.write_text(result.out, encoding="utf-8")
    assert result.out == path.read_text(encoding="utf-8"), "UPDATE=1 writes it anew, if it is meant"


def test_text_fits_80_columns(run: Run) -> None:
    for arguments in ((), ("--against", SINGLE), ("--sweep", "concurrency=1..6")):
        out = run("plan", *arguments).out
        wide = [line for line in out.splitlines() if len(line) > 80 and "/" not in line]
        assert not wide


def test_json_holds_every_figure_with_its_source(run: Run) -> None:
    plan = facts(run)
    jobs = {job["name"]: job for job in plan["jobs"]}
    assert len(jobs) == 19
    assert jobs["hyperopt-dqn"]["seconds_alone"]["source"] == "configured"
    assert jobs["hyperopt-tft"]["seconds_alone"]["source"] == "assumed"
    assert plan["makespan"] == max(job["end"] for job in plan["jobs"])
    assert plan["cost"] == pytest.approx(sum(pool["cost"] for pool in plan["pools"]))
    assert plan["bound_by"] == {"limit": "the GPU", "pool": "ci-training"}
    assert plan["currency"] == "EUR"


def test_the_resource_groups_are_those_of_the_child(run: Run) -> None:
    groups = {job["name"]: job["resource_group"] for job in facts(run)["jobs"]}
    preview = json.loads(run("preview", "--format", "json").out)
    assert groups == {job["name"]: job["resource_group"] for job in preview["jobs"]}


def test_only_chosen_jobs_are_planned(run: Run) -> None:
    names = [job["name"] for job in facts(run, "--job", "hyperopt-d*")["jobs"]]
    assert names == ["hyperopt-dqn", "hyperopt-diffusion"]


def test_a_parent_whose_child_is_empty_has_no_plan(run: Run) -> None:
    result = run("plan", "--source", "merge_request_event")
    assert result.code == 3
    assert "preview --all" in result.err


def test_a_schedule_is_planned_as_manual_jobs_are(run: Run) -> None:
    web = facts(run)
    schedule = facts(
        run, "--source", "schedule", "--var", "TRAIN_VALIDATE=true", "--branch", "main"
    )
    assert schedule["makespan"] == web["makespan"]


def test_a_delay_of_the_rules_counts(run: Run, edit: Edit) -> None:
    rule = 'when = "manual"\nallow_failure = true\n\n# --- Pools'
    routing = edit((rule, 'when = "delayed"\nstart_in = "2h"\n\n# --- Pools'))
    jobs = facts(run, "--routing", routing)["jobs"]
    assert all(
        job["waits"][0] == {"reason": "its start_in", "start": 0.0, "end": 7200.0} for job in jobs
    )


def test_expected_and_trials_set_the_training_time(run: Run, edit: Edit) -> None:
    routing = edit(
        ("[models.dqn]\nseconds_per_epoch = 1100", '[models.dqn.tasks.hyperopt]\nexpected = "90m"'),
        ("[models.dqn", "[models.tft]\nseconds_per_epoch = 10\ntrials = 3\n\n[models.dqn"),
    )
    jobs = {job["name"]: job["seconds_alone"] for job in facts(run, "--routing", routing)["jobs"]}
    assert jobs["hyperopt-dqn"]["value"] == 5400
    assert jobs["hyperopt-tft"]["value"] == 10 * 3 * 15
    assert jobs["hyperopt-tft"]["source"] == "configured"


def test_saying_the_training_time_twice_in_one_table_is_a_mistake(run: Run, edit: Edit) -> None:
    routing = edit(("seconds_per_epoch = 1100", 'seconds_per_epoch = 1100\nexpected = "2h"'))
    result = run("plan", "--routing", routing)
    assert result.code == 2
    assert "models.dqn.expected" in result.err


def test_a_timeout_that_ends_a_job_is_said_and_fails(run: Run, edit: Edit) -> None:
    routing = edit(('timeout = "12h"', 'timeout = "5h"'))
    result = run("plan", "--routing", routing)
    assert result.code == 1
    assert "Look at these first" in result.out
    assert "hyperopt-tft needs 6h 29m" in result.out
    assert facts(run, "--routing", routing, code=1)["ended_by_timeout"] == [
        "hyperopt-tft", "hyperopt-mamba2", "hyperopt-tggn", "hyperopt-tlob",
        "hyperopt-liquid", "hyperopt-kan", "hyperopt-xlstm", "hyperopt-diffusion",
    ]  # fmt: skip


def test_a_pod_too_large_for_its_nodes_is_said_and_fails(run: Run, edit: Edit) -> None:
    routing = edit(('cpu = "3000m"', 'cpu = "7900m"'), ('{ cpu = "3800m"', '{ cpu = "8"'))
    result = run("plan", "--routing", routing)
    assert result.code == 1
    assert "hyperopt-dqn never starts: no node of ci-compile has enough: CPU" in result.out
    assert "as short as can be" not in result.out
    told = facts(run, "--routing", routing, code=1)
    assert set(told["never_start"]) == set(told["why_never_start"])
    assert told["why_never_start"]["hyperopt-dqn"].startswith("no node of ci-compile has enough")


def test_the_runner_s_helper_and_limits_count(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text(run("cluster", "runner").out, encoding="utf-8")
    assert facts(run, "--runner", config)["makespan"] == facts(run)["makespan"]
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("concurrent = ", "concurrent = 1 # "), encoding="utf-8")
    plan = facts(run, "--runner", config)
    assert plan["bound_by"]["limit"] == "the runner's limit"
    starts = sorted((job["start"], job["end"]) for job in plan["jobs"])
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(starts))


def test_without_a_price_the_cost_is_unknown_and_that_is_said(run: Run, edit: Edit) -> None:
    routing = edit(("price_per_hour = 1.47\n", "\n"))
    result = run("plan", "--routing", routing)
    assert result.code == 0
    assert "cost unknown (price_per_hour is not set)" in result.out


def test_html_is_one_page_in_a_file(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    result = run("plan", "--format", "html", "--against", SINGLE, "-o", page)
    assert (result.code, result.out, result.err) == (0, "", "")
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "hyperopt-diffusion" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--measured",), "--measured needs --durations"),
        (("--format", "html", "--suggest"), "--format html shows a plan"),
        (("--against", "absent.toml"), "name another file with --against"),
        (("--sweep", f"concurrency={'9' * 5000}"), "is not a number"),
        (("--sweep", "ci-training=3"), "is a table; name one of its numbers"),
        (("--durations", "absent.json"), "absent.json: cannot be read"),
        (("-o", SHIPPED), "this is an input"),
        (("--against", SINGLE, "-o", SINGLE), "this is an input"),
        (("-o", TEMPLATES / "new.html"), "this is an input"),
        (("--sweep", "concurency=1..3"), 'did you mean "concurrency"?'),
        (("--sweep", "concurrency"), "write KEY=VALUES"),
        (("--sweep", "concurrency=3..1"), "the range is empty"),
        (("--sweep", "concurrency=1..1000"), "at most 100"),
        (("--sweep", "concurrency=a..b"), '"a" is not a number'),
        (("--sweep", "ci-training.concurency=1..3"), 'did you mean "concurrency"?'),
        (("--sweep", "rl.requests.gpu=1..3"), 'rl.requests has no key "gpu"; did you mean'),
        (("--sweep", "rl.requests=1..3"), "is a table; name one of its numbers, rl.requests.KEY"),
        (("--sweep", "rl.tasks=1..3"), "rl.tasks: is a table"),
        (("--sweep", "rl.epochs.x=1..3"), 'families.rl.epochs has no key "x"'),
        (("--sweep", "rl.tasks.hyperopt.nonsense=1,2"), 'hyperopt has no key "nonsense"'),
        (("--sweep", "rl.tasks.hyperop.epochs=1,2"), 'did you mean "hyperopt"?'),
        (("--sweep", "rl.reason=1,2"), "rl.reason: is no number"),
        (("--sweep", "rl.variables.X=1,2"), "rl.variables.X: is no number"),
        (("--sweep", "rl.pin=1,2"), "rl.pin: is no number"),
        (("--sweep", "rl.requests.cpu=1000m..2..1"), "need the same unit"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str | Path, ...], message: str, run: Run) -> None:
    result = run("plan", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


def test_both_sides_of_a_comparison_have_their_place_whatever_they_are_called(run: Run) -> None:
    told = facts(run, "--against", SHIPPED)
    assert list(told) == ["before", "now"]
    assert told["before"] == told["now"]


def test_a_share_of_next_to_nothing_has_a_plan(run: Run, edit: Edit) -> None:
    result = run("plan", "--routing", edit(("gpu_utilization = 0.34", "gpu_utilization = 5e-324")))
    assert (result.code, result.err) == (0, "")


def test_smaller_requests_do_not_take_away_slots_that_other_jobs_use(run: Run, edit: Edit) -> None:
    """Only one of the largest fits on a node, next to which there is room for smaller ones."""
    large = 'requests = { cpu = "5000m" }\nlimits = { cpu = "6000m" }\n'
    routing = edit(
        ("concurrency = 4 ", 'allocatable = { cpu = "7800m" }\nconcurrency = 4 '),
        ("[models.dqn]\n", f"[models.tft]\n{large}[models.dqn]\n"),
    )
    plan = facts(run, "--routing", routing, code=1)
    (smaller,) = [
        each
        for each in plan["changes"]
        if each["pool"] == "ci-training" and each["what"].startswith("CPU requests")
    ]
    assert smaller["makespan"] < plan["makespan"]
