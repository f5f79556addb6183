"""Jobs that stay in the file: who needed whom, whose artifacts came along, who waited."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..conftest import Result
from .small import PRELUDE, adopt, job

Run = Callable[..., Result]
HEAD = PRELUDE.replace("stages: [train]", "stages: [prepare, train, report]")
DATA = "data:\n  stage: prepare\n  script: [make]\n  artifacts: {paths: [data/, more/]}\n"
LINT = "lint:\n  stage: prepare\n  script: [make]\n"


def tft(more: str = "") -> str:
    return job("train-tft", "./train --model tft --epochs 2", more=more)


@pytest.mark.parametrize("key", ["needs", "dependencies"])
def test_a_need_of_what_moved_is_lost(key: str, run: Run) -> None:
    report = f"report:\n  stage: report\n  script: [make]\n  {key}: [train-tft, lint]\n"
    adopted = adopt(run, LINT, tft(), report, head=HEAD)
    assert adopted.code == 1
    lost = adopted.section("Could not express")
    assert f"report:{key} train-tft is in the child now, and GitLab refuses" in lost
    assert "lint" not in lost


def test_artifacts_of_an_earlier_stage_are_lost(run: Run) -> None:
    adopted = adopt(run, DATA, tft(), head=HEAD)
    assert adopted.code == 1
    lost = adopted.section("Could not express")
    assert "data:artifacts the child's jobs do not get data/, more/" in lost


@pytest.mark.parametrize("more", ["  needs: []\n", "  dependencies: []\n"])
def test_artifacts_that_no_training_took_are_not(more: str, run: Run) -> None:
    adopted = adopt(run, DATA, tft(more), head=HEAD)
    assert "data:artifacts" not in adopted.report


def test_what_ran_before_the_training_is_said_once(run: Run) -> None:
    adopted = adopt(run, DATA.replace("  artifacts", "  cache"), LINT, tft(), head=HEAD)
    assert "data, lint ran before the training; let the trigger job need" in adopted.section(
        "Assumed"
    )
    alone = adopt(run, LINT, tft("  needs: []\n"), head=HEAD)
    assert "ran before the training" not in alone.report
