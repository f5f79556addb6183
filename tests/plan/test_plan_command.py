"""The command `plan`: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ROOT, SHIPPED, TEMPLATES, Result

SINGLE = ROOT / "examples" / "single-pool.toml"
GOLDEN = ROOT / "tests" / "golden"
Run = Callable[..., Result]
Edit = Callable[..., Path]


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


def facts(run: Run, *arguments: str | Path, code: int = 0) -> dict:
    result = run("plan", "--format", "json", *arguments)
    assert result.code == code, result.err
    return json.loads(result.out)


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
    assert facts(run, "--routing", routing, code=1)["over_timeout"] == [
        "hyperopt-tft", "hyperopt-mamba2", "hyperopt-tggn", "hyperopt-tlob",
        "hyperopt-liquid", "hyperopt-kan", "hyperopt-xlstm", "hyperopt-diffusion",
    ]  # fmt: skip


def test_a_pod_too_large_for_its_nodes_is_said_and_fails(run: Run, edit: Edit) -> None:
    routing = edit(('cpu = "3000m"', 'cpu = "7900m"'), ('{ cpu = "3800m"', '{ cpu = "8"'))
    result = run("plan", "--routing", routing)
    assert result.code == 1
    assert "hyperopt-dqn never starts: no node of ci-compile has enough: CPU" in result.out
    assert "as short as can be" not in result.out


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
        (("--against", "absent.toml"), "--against names another file"),
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
        (("--sweep", "rl.requests.gpu=1..3"), 'rl has no key "requests.gpu"'),
        (("--sweep", "rl.requests.cpu=1000m..2..1"), "need the same unit"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str | Path, ...], message: str, run: Run) -> None:
    result = run("plan", *arguments)
    assert result.code == 2
    assert message in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("concurrency=1,2,4", 3),
        ("ci-training.max_nodes=1..3", 3),
        ("pools.ci-training.boot_time=5m..20m..5m", 4),
        ("rl.requests.cpu=1000m..3000m..500m", 5),
        ("supervised.gpu_utilization=0.1..0.5..0.1", 5),
        ("families.rl.tasks.hyperopt.epochs=4..8..2", 3),
        ("hyperopt.epochs=5,10", 2),
        ("dqn.seconds_per_epoch=500,1000", 2),
    ],
)
def test_any_number_of_the_routing_can_be_swept(key: str, count: int, run: Run) -> None:
    result = run("plan", "--sweep", key, "--format", "json")
    assert result.code == 0, result.err
    for curve in json.loads(result.out):
        assert len(curve["points"]) == count
        assert all("makespan" in point for point in curve["points"])


def test_more_nodes_are_never_slower_and_more_epochs_never_faster(run: Run) -> None:
    for key, sign in (("ci-training.max_nodes=1..6", -1), ("hyperopt.epochs=1..15..2", 1)):
        points = json.loads(run("plan", "--sweep", key, "--format", "json").out)[0]["points"]
        times = [sign * point["makespan"] for point in points]
        assert times == sorted(times)


def test_a_model_without_a_table_can_be_swept(run: Run) -> None:
    (curve,) = facts(run, "--sweep", "tft.epochs=4,40")
    assert curve["key"] == "models.tft.epochs"
    assert [point["value"] for point in curve["points"]] == [4, 40]


def test_both_sides_of_a_comparison_have_their_place_whatever_they_are_called(run: Run) -> None:
    told = facts(run, "--against", SHIPPED)
    assert list(told) == ["before", "now"]
    assert told["before"] == told["now"]


def test_a_share_of_next_to_nothing_has_a_plan(run: Run, edit: Edit) -> None:
    result = run("plan", "--routing", edit(("gpu_utilization = 0.34", "gpu_utilization = 5e-324")))
    assert (result.code, result.err) == (0, "")


def test_a_value_that_the_routing_refuses_is_said_at_its_place(run: Run) -> None:
    result = run("plan", "--sweep", "ci-training.concurrency=0..2")
    assert result.code == 0
    assert "Not possible:" in result.out
    assert "  0: " in result.out


_PROPOSED: dict[bytes, dict] = {}


def proposals(run: Run, routing: Path) -> dict:
    """What is suggested for a routing; several tests look at that of the same one."""
    content = routing.read_bytes()
    if content not in _PROPOSED:
        _PROPOSED[content] = facts(run, "--suggest", "--routing", routing)
    return _PROPOSED[content]


def test_a_suggested_patch_applies_and_gives_the_plan_it_promises(run: Run, edit: Edit) -> None:
    """Where the times are configured, so that nothing is assumed otherwise after the move."""
    known = "seconds_per_epoch = 700\n"
    routing = edit(
        ("[families.rl]\n", f"[families.rl]\n{known}"),
        ("[families.supervised]\n", f"[families.supervised]\n{known}"),
    )
    before = routing.read_bytes()
    found = proposals(run, routing)["suggestions"]
    assert found
    for each in found:
        routing.write_bytes(before)
        subprocess.run(
            ["git", "apply", "-"], input=each["patch"].encode(), cwd=routing.parent, check=True
        )
        plan = facts(run, "--routing", routing)
        assert plan["makespan"] == pytest.approx(each["makespan"], rel=1e-3)
        assert plan["cost"] == pytest.approx(each["cost"], rel=1e-3)


def stated(edit: Edit, *changes: tuple[str, str]) -> Path:
    """A routing that has something better, with all times configured."""
    return edit(("concurrency = 4 ", "concurrency = 2 "), *changes)


KNOWN = ("[families.supervised]\n", "[families.supervised]\nseconds_per_epoch = 433.7\n")


def patches(run: Run, routing: Path, output_format: str) -> list[str]:
    """The patches as they are printed, each with what follows it, as somebody would copy it."""
    if output_format == "json":
        return [each["patch"] for each in proposals(run, routing)["suggestions"]]
    out = run("plan", "--suggest", "--format", output_format, "--routing", routing).out
    found = [f"--- a/{text}" for text in out.split("--- a/")[1:]]
    return [text.partition("\n```")[0] + "\n" for text in found]


@pytest.mark.parametrize("output_format", ["text", "markdown", "json"])
@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.rstrip("\n"),
        lambda text: text + "\n\n\n",
        lambda text: text.replace("concurrency = 2 ", "concurrency = 2\n\n\n\n#"),
    ],
    ids=["as it is", "no last line feed", "blank lines at the end", "blank lines"],
)
def test_a_patch_applies_as_printed(
    output_format: str, change: Callable[[str], str], run: Run, edit: Edit
) -> None:
    routing = stated(edit, KNOWN)
    before = change(routing.read_text(encoding="utf-8")).encode()
    routing.write_bytes(before)
    found = patches(run, routing, output_format)
    assert found
    for patch in found:
        routing.write_bytes(before)
        subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=routing.parent, check=True)
        assert routing.read_bytes() != before


def test_only_a_line_feed_ends_a_line_of_a_patch(run: Run, edit: Edit) -> None:
    routing = stated(edit, KNOWN, ("3 if", "3\u2028\x85if"))
    patch = patches(run, routing, "json")[0]
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=routing.parent, check=True)


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_patch_of_a_file_with_crlf_applies(output_format: str, run: Run, edit: Edit) -> None:
    routing = stated(edit, KNOWN)
    routing.write_bytes(routing.read_bytes().replace(b"\n", b"\r\n"))
    if output_format == "text":
        out = run("plan", "--suggest", "--routing", routing).out
        assert "git apply --ignore-whitespace" in out
        assert "\\u000d" not in out
    patch = patches(run, routing, output_format)[0]
    subprocess.run(
        ["git", "apply", "--ignore-whitespace", "-"],
        input=patch.encode(), cwd=routing.parent, check=True,
    )  # fmt: skip
    assert b"concurrency = 2" not in routing.read_bytes().split(b"[pools.ci-training]")[1]


def test_a_suggestion_costs_what_its_routing_costs(run: Run, edit: Edit) -> None:
    """The edited file deals its jobs in another order than the search does."""
    tasks = "".join(
        f"[families.supervised.tasks.{task}]\ngpu_utilization = {share}\n"
        for task, share in (("hyperopt", 0.9), ("train-validate", 0.1))
    )
    known = ("[families.rl]\n", "[families.rl]\nseconds_per_epoch = 700\n")
    for changes in ((), (("[models.dqn]\n", f"{tasks}[models.dqn]\n"),)):
        routing = stated(edit, KNOWN, known, *changes)
        before = routing.read_bytes()
        found = json.loads(run("plan", "--suggest", "--format", "json", "--routing", routing).out)
        assert any(step["unit"] for each in found["suggestions"] for step in each["steps"])
        for each in found["suggestions"]:
            routing.write_bytes(before)
            subprocess.run(
                ["git", "apply", "-"], input=each["patch"].encode(), cwd=routing.parent, check=True
            )
            plan = json.loads(run("plan", "--format", "json", "--routing", routing).out)
            assert plan["makespan"] == pytest.approx(each["makespan"], rel=1e-3)
            assert plan["cost"] == pytest.approx(each["cost"], rel=1e-3)


def test_suggestions_are_better_in_what_they_claim(run: Run) -> None:
    for routing in (SHIPPED, SINGLE):
        told = proposals(run, routing)
        now = told["now"]
        for each in told["suggestions"]:
            if each["goal"] in ("cheaper", "cheapest"):
                assert each["cost"] < now["cost"]
            else:
                assert each["makespan"] < now["makespan"]
            if each["goal"] in ("cheaper", "faster"):
                assert each["cost"] <= now["cost"] * (1 + 1e-6)
                assert each["makespan"] <= now["makespan"] * (1 + 1e-6)


def test_one_job_at_a_time_on_an_idle_gpu_is_found(run: Run) -> None:
    best = proposals(run, SINGLE)["suggestions"][0]
    assert best["goal"] == "cheaper"
    assert '+sharing = "time-slicing"' in best["patch"]
    assert best["makespan"] < 0.6 * facts(run, "--routing", SINGLE)["makespan"]


def test_a_pinned_model_stays(run: Run, edit: Edit) -> None:
    free = proposals(run, SHIPPED)
    assert any(step["unit"] == "tft" for each in free["suggestions"] for step in each["steps"])
    held = proposals(run, edit(('models = ["tft"', 'pin = true\nmodels = ["tft"')))
    assert not any(step["unit"] for each in held["suggestions"] for step in each["steps"])
    assert {"unit": "tft", "pool": None, "why": "pin = true"} in held["not_moved"]


def test_what_is_not_known_is_not_guessed(run: Run, edit: Edit) -> None:
    told = proposals(run, edit(("gpu_speed = 1.0\n", "")))
    assert not any(step["unit"] for each in told["suggestions"] for step in each["steps"])
    reasons = {each["why"] for each in told["not_moved"]}
    assert "how fast it would be is not known: gpu_speed is not set in ci-training" in reasons


def test_a_model_that_does_not_fit_the_card_is_not_moved(run: Run, edit: Edit) -> None:
    told = proposals(run, edit(('gpu_memory = "617Mi"', 'gpu_memory = "30G"')))
    assert {"it does not fit the memory of an NVIDIA L4"} <= {
        each["why"] for each in told["not_moved"]
    }


def test_a_family_with_one_job_for_all_moves_as_a_whole(run: Run) -> None:
    told = proposals(run, SHIPPED)
    units = {step["unit"] for each in told["suggestions"] for step in each["steps"]}
    assert not units & {"dqn", "ppo"}
