"""Every job that GitLab has judged comes out as it did there, with the reasons."""

from __future__ import annotations

import pytest

from gpu_pipeline.rules import (
    Decision,
    Origin,
    RuleError,
    RuleRead,
    RuleResult,
    decide,
    decide_workflow,
)
from tests.rules.cases import ListCase, list_cases

CHILD = {"CI_PIPELINE_SOURCE": "parent_pipeline", "CI_COMMIT_BRANCH": "main"}
# GitLab's verdicts list these variables only.
LISTED = {"JOBVAR", "PICK", "SHARED"}


def decided(job: dict[str, object]) -> Decision:
    return decide({"script": ["true"], **job}, predefined=CHILD)


def decided_by(*rules: object) -> Decision:
    return decided({"rules": list(rules)})


@pytest.mark.parametrize("case", list_cases(), ids=lambda case: str(case["job"].get("rules")))
def test_agrees_with_gitlab(case: ListCase) -> None:
    expected = case["expect"]
    if "error" in expected:
        with pytest.raises(RuleError) as caught:
            decide(case["job"], global_variables=case["globals"], predefined=CHILD)
        assert [f"jobs:j:{caught.value}"] == expected["error"]
        return
    decision = decide(case["job"], global_variables=case["globals"], predefined=CHILD)
    assert decision.included is expected["included"]
    assert decision.included is (decision.when != "never")
    if decision.included:
        assert decision.when == expected["when"]
        assert decision.start_in == expected.get("start_in")
        assert decision.allow_failure == expected["allow_failure"]
        listed = {name: decision.variables[name] for name in LISTED & decision.variables.keys()}
        assert listed == expected["variables"]


def test_rules_are_counted_in_the_flattened_list() -> None:
    decision = decided_by([{"if": "$A"}, {"if": "$B"}], [[{"when": "manual"}]])
    assert (decision.rule, decision.when) == (2, "manual")


def test_a_list_of_empty_lists_matches_nothing() -> None:
    assert not decided({"rules": [[]]}).included


@pytest.mark.parametrize(
    "rule",
    [
        {"changes": ["a"]},
        {"changes": {"paths": ["a"], "compare_to": "main"}},
        {"exists": "a"},
        {"exists": ["a"]},
        {"exists": {"paths": ["a"], "project": "b", "ref": "c"}},
    ],
    ids=str,
)
def test_what_cannot_be_known_is_assumed_true(rule: dict[str, object]) -> None:
    decision = decided_by({"if": "$U", **rule}, rule, {"when": "never"})
    assert decision.rule == 1
    (clause,) = rule
    assert [r.notes for r in decision.rules] == [
        (),
        (f"{clause} cannot be known offline, assumed true",),
    ]


def test_null_is_an_absent_key() -> None:
    decision = decided(
        {"rules": [{"if": None, "when": None, "allow_failure": None}], "only": None, "when": None}
    )
    assert (decision.included, decision.when, decision.allow_failure) == (True, "on_success", False)
    assert decided({"rules": None, "only": ["main"]}).included


def test_every_rule_is_explained_up_to_the_deciding_one() -> None:
    decision = decide(
        {
            "variables": {"JOB": 1},
            "rules": [
                {"if": "$JOB == $GLOBAL"},
                {"if": "$PIPE && ($CI_COMMIT_BRANCH || $U)", "changes": ["a"], "exists": ["b"]},
                {"when": "always"},
            ],
        },
        global_variables={"GLOBAL": {"value": "g", "description": "d"}},
        pipeline_variables={"PIPE": "p"},
        predefined=CHILD,
    )
    assert decision.rule == 1
    assert decision.rules == (
        RuleResult(
            index=0,
            matched=False,
            condition="$JOB == $GLOBAL",
            reads=(
                RuleRead(name="JOB", value="1", origin=Origin.JOB),
                RuleRead(name="GLOBAL", value="g", origin=Origin.CHILD),
            ),
            notes=(),
        ),
        RuleResult(
            index=1,
            matched=True,
            condition="$PIPE && ($CI_COMMIT_BRANCH || $U)",
            reads=(
                RuleRead(name="PIPE", value="p", origin=Origin.PIPELINE),
                RuleRead(name="CI_COMMIT_BRANCH", value="main", origin=Origin.PREDEFINED),
                RuleRead(name="U", value=None, origin=Origin.UNDEFINED),
            ),
            notes=(
                "changes cannot be known offline, assumed true",
                "exists cannot be known offline, assumed true",
            ),
        ),
    )


@pytest.mark.parametrize(
    "predefined", [{"CI_PIPELINE_SOURCE": "schedule"}, {"CI_COMMIT_TAG": "v1"}], ids=str
)
def test_changes_holds_where_there_is_no_diff(predefined: dict[str, str]) -> None:
    decision = decide({"rules": [{"changes": ["a"]}]}, predefined=predefined)
    assert decision.included
    assert decision.rules[0].notes == ("changes is true: this kind of pipeline has no diff",)


@pytest.mark.parametrize(
    ("source", "note"),
    [
        ("schedule", "changes is true: this kind of pipeline has no diff"),
        ("web", "changes is true: this kind of pipeline has no diff"),
        ("push", "changes cannot be known offline, assumed true"),
        (None, "changes cannot be known offline, assumed true"),
    ],
)
def test_a_child_has_the_diff_of_its_parent(source: str | None, note: str) -> None:
    decision = decide(
        {"rules": [{"changes": ["a"]}]},
        global_variables={"PARENT_PIPELINE_SOURCE": source} if source else {},
        predefined={"CI_PIPELINE_SOURCE": "parent_pipeline"},
    )
    assert decision.rules[0].notes == (note,)


def test_variables_are_merged_and_become_texts() -> None:
    decision = decide(
        {
            "variables": {"A": 1, "B": True, "C": 1e-05, "D": None, "E": {"value": 1.5}, "F": "$X"},
            "rules": [{"variables": {"A": 8}}],
        },
        global_variables={"A": "root", "G": {"value": "x", "options": ["x", "y"]}, "H": {}},
    )
    expected = {"B": "true", "C": "1.0e-05", "D": "", "E": "1.5", "F": "$X", "G": "x", "H": ""}
    assert decision.variables == {"A": "8", **expected}


@pytest.mark.parametrize(
    ("inherit", "expected"),
    [
        ({}, {"A": "1", "B": "2"}),
        ({"variables": True}, {"A": "1", "B": "2"}),
        ({"variables": ["B"]}, {"B": "2"}),
        ({"variables": False}, {}),
    ],
    ids=str,
)
def test_a_job_inherits_the_childs_variables(
    inherit: dict[str, object], expected: dict[str, str]
) -> None:
    job = {"inherit": inherit, "rules": [{"if": "$A || $B"}, {"when": "manual"}]}
    decision = decide(job, global_variables={"A": 1, "B": 2})
    assert decision.variables == expected
    assert decision.rule == (0 if expected else 1)


def test_the_user_cannot_be_overridden_by_yaml() -> None:
    job = {"variables": {"GITLAB_USER_LOGIN": "eve"}, "rules": [{"if": "$GITLAB_USER_LOGIN"}]}
    reads = decide(job, predefined={"GITLAB_USER_LOGIN": "ann"}).rules[0].reads
    assert [(read.value, read.origin) for read in reads] == [("ann", "predefined")]
    reads = decide(job, pipeline_variables={"GITLAB_USER_LOGIN": "bob"}).rules[0].reads
    assert [(read.value, read.origin) for read in reads] == [("bob", "pipeline variable")]


def test_exit_codes_hold_until_a_rule_sets_allow_failure() -> None:
    job: dict[str, object] = {"allow_failure": {"exit_codes": 137}}
    assert decided(job).allow_failure == {"exit_codes": [137]}
    assert decided({**job, "rules": [{"when": "manual"}]}).allow_failure == {"exit_codes": [137]}
    assert decided({**job, "rules": [{"allow_failure": False}]}).allow_failure is False


def test_what_only_admits_is_left_open() -> None:
    assert decided({"only": ["main"]}).notes == (
        "only cannot be evaluated offline: assumed to admit",
    )
    merge_request = decide({}, predefined={"CI_MERGE_REQUEST_IID": "7"})
    assert "left out of a merge request pipeline" in merge_request.notes[0]


def test_workflow_rules_decide_on_the_pipeline() -> None:
    rules = [
        {"if": '$SOURCE == "schedule"', "variables": {"MODE": "night"}},
        {"if": '$SOURCE == "push"', "when": "never"},
    ]
    night = decide_workflow(
        rules, global_variables={"MODE": "day"}, pipeline_variables={"SOURCE": "schedule"}
    )
    assert night
    assert (night.rule, night.variables) == (0, {"MODE": "night"})
    push = decide_workflow(rules, pipeline_variables={"SOURCE": "push"})
    assert not push
    assert push.rule == 1
    web = decide_workflow(rules, predefined={"SOURCE": "web"})
    assert not web
    assert web.rule is None
    assert decide_workflow(None)
