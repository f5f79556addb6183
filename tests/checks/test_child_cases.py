"""141 whole child files with the verdict of GitLab's own code (CE 18.11)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.finding import Finding, Severity
from tests.conftest import ROOT

CASES: list[dict[str, Any]] = json.loads(
    (ROOT / "tests/cases/children.json").read_text(encoding="utf-8")
)
REFUSED = [case for case in CASES if not case["valid"]]
ACCEPTED = [case for case in CASES if case["valid"]]

# Where we are stricter than GitLab; docs/checks.md says why.
STRICTER = {"rg-colon": "PIP125", "rules-vars-int": "PIP154"}
# Job and key of the messages in which GitLab names neither, or only one of them.
PLACES = {
    "default-vars": ("", "default"),
    "gvar-options-mismatch": ("", "variables"),
    "name-cache": ("", "cache"),
    "name-empty": ("", ""),
    "name-include": ("", "include"),
    "name-stages": ("", "stages"),
    "name-variables": ("", "variables"),
    "needs-self": ("fit-a", "needs"),
    "stages-empty": ("fetch", "stage"),
    "stages-int": ("", "stages"),
    "stages-string": ("", "stages"),
    "retry-3": ("fit-a", "retry"),
    "retry-string": ("fit-a", "retry"),
    "retry-when-unknown": ("fit-a", "retry"),
    "var-list": ("fit-a", "variables"),
    "wf-unknown": ("", "workflow"),
    "wf-when-manual": ("", "workflow"),
}
_MESSAGES = (
    re.compile(r"jobs:(?P<job>[\w-]+) config contains unknown keys: (?P<key>\w+)"),
    re.compile(r"jobs:(?P<job>[\w-]+) config key may not be used with `rules`: (?P<key>\w+)"),
    re.compile(r"jobs:(?P<job>[\w-]+):(?P<key>\w+)"),
    re.compile(r"jobs:(?P<job>[\w-]+) (?P<key>allow failure|resource group|when|script|timeout)"),
    re.compile(r"(?P<job>[\w-]+) job: undefined (?P<key>need):"),
    re.compile(r"(?P<job>[\w-]+) job: chosen (?P<key>stage)"),
    re.compile(r"(?P<job>[\w-]+): circular dependency detected in `(?P<key>extends)`"),
    re.compile(r"jobs (?P<job>[\w-]+) config should implement(?P<key>)"),
)


def place(case: dict[str, Any]) -> tuple[str, str]:
    """The job and the key of it that GitLab's first message is about."""
    if case["name"] in PLACES:
        return PLACES[case["name"]]
    for message in _MESSAGES:
        if match := message.search(case["errors"][0]):
            return match["job"], match["key"].replace(" ", "_")
    raise AssertionError(f"no place known for {case['errors']}")


def errors(text: str) -> list[Finding]:
    found = check_child(text, "child.yml")
    return [finding for finding in found if finding.severity is Severity.ERROR]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case["name"])
def test_what_gitlab_refuses_is_an_error_at_its_job_and_key(case: dict[str, Any]) -> None:
    job, key = place(case)
    found = [(error.place.job, error.place.key) for error in errors(case["yaml"])]
    assert [at for at in found if at[0] == job and at[1].startswith(key)], (job, key, found)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case["name"])
def test_what_gitlab_accepts_is_no_error_save_where_we_are_stricter(case: dict[str, Any]) -> None:
    expected = [STRICTER[case["name"]]] if case["name"] in STRICTER else []
    assert [error.code for error in errors(case["yaml"])] == expected


def test_our_strictness_is_documented() -> None:
    text = (ROOT / "docs/checks.md").read_text(encoding="utf-8")
    assert all(code in text for code in (*STRICTER.values(), "PIP103"))
