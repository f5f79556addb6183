"""When jobs start: what a child pipeline cannot see is handed down, or said to be lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..conftest import Result
from .small import BASE, adopt, job

TFT = job("train-tft", "./train --model tft --epochs 2")


@pytest.mark.parametrize(
    "elsewhere",
    [
        '# the source is "parent_pipeline" in a child\n',
        "lint:\n  script: make\n  rules: [{if: '$CI_PIPELINE_SOURCE == \"parent_pipeline\"'}]\n",
    ],
)
def test_a_file_is_not_a_child_for_what_its_training_jobs_do_not_say(
    elsewhere: str, run: Callable[..., Result]
) -> None:
    adopted = adopt(run, TFT, elsewhere)
    assert adopted.routing["pipeline"]["rules"] == [{"if": '$PARENT_PIPELINE_SOURCE == "web"'}]
    assert "child pipeline" not in adopted.section("Assumed")


@pytest.mark.parametrize(
    "condition",
    [
        '$CI_PIPELINE_SOURCE == "parent_pipeline"',
        "$CI_PIPELINE_SOURCE == 'parent_pipeline'",
        '"parent_pipeline" == $CI_PIPELINE_SOURCE && $CI',
    ],
)
def test_a_file_whose_training_jobs_run_in_a_child_is_one_and_it_is_said(
    condition: str, run: Callable[..., Result]
) -> None:
    head = f"{BASE}  rules:\n    - if: >-\n        {condition}\n"
    adopted = adopt(run, TFT, head=head)
    assert adopted.routing["pipeline"]["rules"] == [{"if": condition}]
    said = adopted.section("Assumed")
    assert "ci.yml:14: train-tft:rules the file is taken for a child pipeline's" in said


def test_a_rule_that_keeps_a_job_out_of_children_makes_no_child(run: Callable[..., Result]) -> None:
    never = """  rules:
    - {if: '$CI_PIPELINE_SOURCE == "parent_pipeline"', when: never}
    - {if: '$CI_PIPELINE_SOURCE == "web"'}
"""
    adopted = adopt(run, TFT, head=BASE + never)
    assert "child pipeline" not in adopted.section("Assumed")
