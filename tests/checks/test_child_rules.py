"""A child file is looked at as a whole: what it is, and what its rules decide."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Result

Run = Callable[..., Result]


@pytest.fixture
def codes(run: Run, tmp_path: Path) -> Callable[..., list[str]]:
    """The codes of the findings about a child file: `codes(text, "--source", "push")`."""

    def check(text: str, *options: str) -> list[str]:
        path = tmp_path / "child.yml"
        path.write_text(text, encoding="utf-8")
        result = run("check", path, "--format", "json", *options)
        assert result.code in (0, 1), result.err
        return [each["code"] for each in json.loads(result.out)]

    return check


NEEDS = """
fit:
  script: [make]
  rules:
    - if: $CI_COMMIT_BRANCH == "main"
report:
  script: [make]
  needs: [fit]
"""


def test_needs_are_those_of_the_parent_at_hand(codes: Callable[..., list[str]]) -> None:
    assert codes(NEEDS, "--source", "push", "--branch", "main") == []
    assert codes(NEEDS, "--source", "push", "--branch", "topic") == ["NED102"]


def test_a_job_that_parallel_makes_is_left_out_with_its_job(
    codes: Callable[..., list[str]],
) -> None:
    text = NEEDS.replace("fit:\n", "fit:\n  parallel: 2\n").replace("[fit]", "[fit 1/2]")
    assert codes(text, "--source", "push", "--branch", "main") == []
    assert codes(text, "--source", "push", "--branch", "topic") == ["NED102"]


def test_a_child_that_its_workflow_refuses_has_no_needs(codes: Callable[..., list[str]]) -> None:
    workflow = 'workflow: {rules: [{if: $CI_COMMIT_BRANCH == "main"}]}'
    assert codes(workflow + NEEDS, "--source", "push", "--branch", "topic") == []


def test_a_rule_that_cannot_be_read_does_not_end_the_check(
    codes: Callable[..., list[str]],
) -> None:
    text = "fit:\n  script: [make]\n  rules:\n    - if: $A = 1\n    - if: $B == 'x'\n"
    assert codes(text) == ["RUL101", "RUL105"]


def test_what_both_checks_know_is_said_once(codes: Callable[..., list[str]]) -> None:
    text = "fit:\n  script: [make]\n  needs: [nobody, fit]\n  rules: []\n"
    assert sorted(codes(text)) == ["NED101", "NED103", "RUL101"]


@pytest.mark.parametrize(
    ("text", "code"), [("", "PIP102"), ("fit: [", "PIP101"), ("fit:\n  stage: test\n", "PIP108")]
)
def test_a_child_by_itself_is_checked_as_well(
    text: str, code: str, codes: Callable[..., list[str]]
) -> None:
    assert codes(text) == [code]
