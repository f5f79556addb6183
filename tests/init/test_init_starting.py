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


SCHEDULED = """  rules: [{if: '$CI_PIPELINE_SOURCE == "schedule" && $NIGHTLY == "true"'}]\n"""


def test_a_variable_that_another_job_sets_for_itself_is_handed_down_still(
    run: Callable[..., Result],
) -> None:
    own = job("train-kan", "./train --model kan --epochs 2", more="  variables: {NIGHTLY: x}\n")
    nightly = job("train-tft", "./train --model tft --epochs 2", more=SCHEDULED)
    adopted = adopt(run, nightly, own)
    assert adopted.routing["pipeline"]["capture"] == ["NIGHTLY"]
    assert "ci.yml:22: train-kan:variables:NIGHTLY rules of other jobs" in adopted.section(
        "Could not express"
    )
    assert adopted.code == 1
    child = adopted.child("--source", "schedule", "--var", "NIGHTLY=true")
    assert child["variables"]["NIGHTLY"] == "true"
    assert "start" not in adopted.report, "both start when they did"


def test_a_job_reads_its_own_variable_in_its_rules(run: Callable[..., Result]) -> None:
    rule = """  rules: [{if: '$KIND == "a"'}]\n  variables: {KIND: a}\n"""
    adopted = adopt(run, job("train-tft", "./train --model tft --epochs 2", more=rule))
    assert (adopted.code, adopted.routing["pipeline"].get("capture")) == (0, None)


@pytest.mark.parametrize("name", ["CI_PIPELINE_SCHEDULE_DESCRIPTION", "CI_PIPELINE_TRIGGERED"])
def test_what_only_the_parent_knows_is_lost(name: str, run: Callable[..., Result]) -> None:
    rule = f"""  rules: [{{if: '${name} == "night"'}}]\n"""
    adopted = adopt(run, job("train-tft", "./train --model tft --epochs 2", more=rule))
    assert f"train-tft:rules ${name} is the parent's" in adopted.section("Could not express")
    assert adopted.code == 1


def test_a_secret_in_a_rule_is_not_handed_down_and_that_is_said(
    run: Callable[..., Result],
) -> None:
    rule = """  rules: [{if: '$DEPLOY_TOKEN != null'}]\n"""
    adopted = adopt(run, job("train-tft", "./train --model tft --epochs 2", more=rule))
    assert "capture" not in adopted.routing["pipeline"]
    assert "$DEPLOY_TOKEN looks like a secret" in adopted.section("Assumed")
    assert "DEPLOY_TOKEN is defined neither" not in adopted.report


def test_a_variable_that_exists_too_late_is_told(run: Callable[..., Result]) -> None:
    rule = """  rules: [{if: '$CI_JOB_ID == "1" || $CI_PIPELINE_SOURCE == "web"'}]\n"""
    adopted = adopt(run, job("train-tft", "./train --model tft --epochs 2", more=rule))
    assert "$CI_JOB_ID does not exist yet when rules are" in adopted.section("Assumed")


def test_a_rule_that_a_child_never_meets_is_lost(run: Callable[..., Result]) -> None:
    in_child = """  rules: [{if: '$CI_PIPELINE_SOURCE == "parent_pipeline"'}]\n"""
    other = job("train-kan", "./train --model kan --epochs 2", more=in_child)
    adopted = adopt(run, TFT, other)
    lost = adopted.section("Could not express")
    assert """train-tft:rules tests $CI_PIPELINE_SOURCE for "web", but in a child""" in lost


def test_the_start_is_compared_where_rules_of_the_team_hold(run: Callable[..., Result]) -> None:
    """On a branch and with a variable that no usual kind of pipeline has."""
    rules = """  rules:
    - {if: '$CI_COMMIT_BRANCH == "release" && $CI_PIPELINE_SOURCE == "push"'}
    - {if: '$KIND == "deep" && $CI_PIPELINE_SOURCE == "api"', when: manual, allow_failure: true}
"""
    adopted = adopt(run, job("train-tft", "./train --model tft --epochs 2", more=rules))
    assert adopted.code == 0
    assert "none starts it" not in adopted.report


def test_a_job_that_nothing_starts_is_told(run: Callable[..., Result]) -> None:
    rule = """  rules: [{if: '$CI_COMMIT_BRANCH =~ /^release-/'}]\n"""
    adopted = adopt(run, job("train-tft", "./train --model tft --epochs 2", more=rule))
    assert "none starts it, neither before nor after" in adopted.section("Assumed")
    assert adopted.code == 0


def test_only_the_name_of_an_image_is_handed_down(run: Callable[..., Result]) -> None:
    head = BASE.replace("image: x/y:1", 'image: {name: "$HUB/y:1", entrypoint: ["$FOO"]}')
    adopted = adopt(run, TFT, head=head)
    assert adopted.routing["pipeline"]["capture"] == ["HUB"]
