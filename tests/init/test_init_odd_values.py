"""Values that GitLab takes and a routing does not, or takes otherwise: each is told, none stops."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..conftest import Result
from .small import BASE, PRELUDE, adopt, job

TRAIN = "./train --model tft --epochs 2"


def test_a_timeout_in_words_is_lost_and_to_fill_in(run: Callable[..., Result]) -> None:
    adopted = adopt(run, job("train-tft", TRAIN, more="  timeout: two hours\n"))
    assert adopted.code == 1
    assert 'train-tft:timeout "two hours" is not a duration' in adopted.section("Could not express")
    assert "train-tft:timeout the file gives none to use" in adopted.section("To fill in")
    assert "not given" not in adopted.report
    assert "lost timeout train-tft two hours" in adopted.report


def test_a_timeout_above_what_gitlab_allows_is_lost(run: Callable[..., Result]) -> None:
    adopted = adopt(run, job("train-tft", TRAIN, more="  timeout: 40 days\n"))
    assert "train-tft:timeout is above one month" in adopted.section("Could not express")
    assert adopted.code == 1


def test_no_timeout_is_that_of_the_project(run: Callable[..., Result]) -> None:
    adopted = adopt(run, job("train-tft", TRAIN), head=PRELUDE.replace("  timeout: 2h\n", ""))
    assert adopted.code == 0
    assert "train-tft:timeout not given" in adopted.section("Assumed")


def test_dependencies_are_lost(run: Callable[..., Result]) -> None:
    adopted = adopt(
        run,
        job("train-tft", TRAIN),
        job("eval-tft", "./eval --model tft --epochs 1", more="  needs: [train-tft]\n"),
        job("tune-tft", TRAIN, more="  needs: [train-tft]\n  dependencies: []\n"),
        job("late-tft", TRAIN, more="  dependencies: [build]\n"),
        job("alone-tft", TRAIN, more="  dependencies: []\n"),
    )
    lost = adopted.section("Could not express")
    assert "tune-tft:dependencies, late-tft:dependencies a job of the routing gets" in lost
    assert "alone-tft" not in lost, "in a child without needs nothing is fetched"
    assert adopted.code == 1


def test_an_empty_size_is_none(run: Callable[..., Result]) -> None:
    head = PRELUDE.replace("MEMORY_LIMIT: 8Gi", 'MEMORY_LIMIT: ""')
    adopted = adopt(run, job("train-tft", TRAIN), head=head)
    assert "train-tft:limits.memory the file gives none" in adopted.section("To fill in")
    assert "1 job rendered and compared with the file: 1 the same" in adopted.report


@pytest.mark.parametrize(
    ("only", "condition"),
    [
        ("schedule", '$PARENT_PIPELINE_SOURCE == "schedule"'),
        ("merge_request", '$PARENT_PIPELINE_SOURCE == "merge_request_event"'),
        ("pushes", '$PARENT_PIPELINE_SOURCE == "push"'),
        ("branches@g/p", '$CI_PROJECT_PATH == "g/p" && ($CI_COMMIT_BRANCH != null)'),
        (
            "main@g/p",
            '$CI_PROJECT_PATH == "g/p" && '
            '($CI_COMMIT_BRANCH == "main" || $CI_COMMIT_TAG == "main")',
        ),
    ],
)
def test_what_only_names_becomes_a_rule(
    only: str, condition: str, run: Callable[..., Result]
) -> None:
    text = job("train-tft", TRAIN, more=f"  only: [{only}]\n")
    adopted = adopt(run, text, head=BASE)
    assert adopted.routing["pipeline"]["rules"] == [{"if": condition, "when": "on_success"}]
    assert adopted.code == 0


@pytest.mark.parametrize("only", ["[]", "{refs: []}", "{refs: [], variables: [$A]}", "['a\"b']"])
def test_only_that_matches_nothing_stops_at_the_rules(
    only: str, run: Callable[..., Result]
) -> None:
    adopted = adopt(run, job("train-tft", TRAIN, more=f"  only: {only}\n"), head=BASE)
    assert "train-tft:rules is empty: the job would never run" in (
        adopted.section("Could not express")
    )
    assert adopted.code == 1


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p out/{dqn,ppo}",
        "mkdir -p {$MODEL,logs}",
        "echo {",
        "awk '{print $1}' {",
        "{{ {% {#",
    ],
)
def test_braces_of_the_shell_come_back(command: str, run: Callable[..., Result]) -> None:
    first = job("train-tft", "./train --model $MODEL --epochs 2", command,
                more="  variables: {MODEL: tft}\n")  # fmt: skip
    second = job("train-rl", "./train --models dqn,ppo --epochs 2", command)
    child = adopt(run, first, second).child()
    assert child["train-tft"]["script"][1] == command.replace("$MODEL", "tft")
    assert child["train-rl"]["script"][1] == command
