"""`plan --suggest`: what is better, why, and a patch that makes it so."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_pipeline.commands import plan as plan_command
from gpu_pipeline.errors import Problem, RoutingError

from ..conftest import SHIPPED
from .told import SINGLE, Edit, Run, facts

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


CHANGES: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "no last line feed": lambda text: text.rstrip("\n"),
    "blank lines at the end": lambda text: text + "\n\n\n",
    "blank lines": lambda text: text.replace("concurrency = 2 ", "concurrency = 2\n\n\n\n#"),
}


@pytest.mark.parametrize(
    ("output_format", "change"),
    [*(("text", change) for change in CHANGES), ("markdown", "blank lines"), ("json", "as it is")],
)
def test_a_patch_applies_as_printed(output_format: str, change: str, run: Run, edit: Edit) -> None:
    routing = stated(edit, KNOWN)
    before = CHANGES[change](routing.read_text(encoding="utf-8")).encode()
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


def test_why_no_more_run_at_once_is_said_in_json_too(run: Run, edit: Edit) -> None:
    routing = edit(('gpu_memory = "617Mi"\n', ""))
    told = proposals(run, routing)
    (raised,) = told["not_raised"]
    assert raised["pool"] == "ci-training"
    assert "gpu_memory is not set for 16 jobs: hyperopt-tft, …" in raised["why"]
    some = facts(run, "--suggest", "--routing", routing, "--job", "hyperopt-tft")
    assert some["not_raised"][0]["why"].endswith("gpu_memory is not set for 1 job: hyperopt-tft")


def test_a_model_that_does_not_fit_the_card_is_not_moved(run: Run, edit: Edit) -> None:
    told = proposals(run, edit(('gpu_memory = "617Mi"', 'gpu_memory = "30G"')))
    assert {"it does not fit the memory of an NVIDIA L4"} <= {
        each["why"] for each in told["not_moved"]
    }


def test_a_family_with_one_job_for_all_moves_as_a_whole(run: Run) -> None:
    told = proposals(run, SHIPPED)
    units = {step["unit"] for each in told["suggestions"] for step in each["steps"]}
    assert not units & {"dqn", "ppo"}


SINGLY = (
    ("price_per_hour = 0.79", "price_per_hour = 9.79"),
    ('per = "family"', 'per = "model"'),
)


def test_a_pool_that_all_models_leave_one_by_one_is_named_nowhere_any_more(
    run: Run, edit: Edit
) -> None:
    """The family still named it, and the routing so edited would not have loaded."""
    routing = edit(*SINGLY)
    (cheapest,) = [
        each for each in proposals(run, routing)["suggestions"] if each["goal"] == "cheapest"
    ]
    subprocess.run(
        ["git", "apply", "-"], input=cheapest["patch"].encode(), cwd=routing.parent, check=True
    )
    assert "[pools.ci-compile]" not in routing.read_text(encoding="utf-8")
    assert "an L40S would idle" not in routing.read_text(encoding="utf-8")
    assert "pools" in facts(run, "--routing", routing)


def test_a_pool_stays_for_the_jobs_that_were_not_asked_for(run: Run, edit: Edit) -> None:
    routing = edit(*SINGLY)
    some = ("--suggest", "--routing", routing, "--job", "*-kan", "--job", "*-ppo")
    first = facts(run, *some)["suggestions"][0]
    assert first["goal"] == "cheaper"
    subprocess.run(
        ["git", "apply", "-"], input=first["patch"].encode(), cwd=routing.parent, check=True
    )
    assert "[pools.ci-compile]" in routing.read_text(encoding="utf-8")


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_what_is_found_and_refused_is_said(
    output_format: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise RoutingError([Problem(file="r", line=1, path="pools.x", message="not so")])

    monkeypatch.setattr(plan_command, "_edited", refuse)
    out = run("plan", "--suggest", "--routing", SINGLE, "--format", output_format).out
    if output_format == "json":
        told = json.loads(out)
        assert not told["suggestions"]
        assert told["refused"][0]["goal"] == "cheaper"
    else:
        assert "Not considered" in out
    why = "the routing that it needs is refused: pools.x: not so"
    assert why in " ".join(out.split())
