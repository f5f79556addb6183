"""Jobs, rules and workflows that GitLab refuses are refused, in its words."""

from __future__ import annotations

import datetime

import pytest

from gpu_pipeline.rules import Decision, RuleError, RuleSyntaxError, decide, decide_workflow


def decided(job: dict[str, object]) -> Decision:
    return decide({"script": ["true"], **job})


def decided_by(*rules: object) -> Decision:
    return decided({"rules": list(rules)})


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"rules": []}, "rules config can't be blank"),
        ({"rules": {"if": "$A"}}, "rules should be an array containing hashes and arrays of"),
        ({"rules": ["$A"]}, "rules should be an array containing hashes and arrays of hashes"),
        ({"rules": [{"when": "always"}], "only": ["main"]}, "config key may not be used with `rul"),
        (
            {"rules": [{"when": "always"}], "except": ["x"], "start_in": "1 day"},
            "config key may not be used with `rules`: except, start_in",
        ),
        ({"when": "never"}, "when should be one of: on_success, on_failure, always, manual, delay"),
        ({"when": ["manual"]}, "when should be a string"),
        ({"when": "delayed"}, "start in should be a duration"),
        ({"when": "delayed", "start_in": "8 days"}, "start in should not exceed the limit"),
        ({"start_in": "1 day"}, "start in must be blank"),
        (
            {"trigger": "x", "when": "delayed"},
            "when should be one of: on_success, on_fail",
        ),
        ({"trigger": "x", "start_in": "1 day"}, "config contains unknown keys: start_in"),
        ({"trigger": "x", "allow_failure": {}}, "allow failure should be a boolean value"),
        ({"allow_failure": 1}, "allow failure should be a hash or a boolean value"),
        ({"allow_failure": "true"}, "allow failure should be a hash or a boolean value"),
        (
            {"allow_failure": {"exit_codes": "1"}},
            "allow_failure exit codes should be an array of integers or an integer",
        ),
        ({"allow_failure": {"codes": 1}}, "allow_failure config contains unknown keys: codes"),
        ({"inherit": True}, "inherit config should be a hash"),
        ({"inherit": {"variables": "A"}}, "inherit:variables config should be a boolean or an arr"),
        ({"variables": [{"A": "1"}]}, "variables config should be a hash"),
        ({"variables": {"A": [1]}}, "variable definition must be either a string or a hash"),
        (
            {"variables": {"A": datetime.date(2026, 1, 1)}},
            "variable definition must be either a string or a hash",
        ),
        ({"variables": {True: "1"}}, "variables:true key must be an alphanumeric string"),
        (
            {"variables": {"A": {"value": "x", "description": "d"}}},
            "variables:a config uses invalid data keys: description",
        ),
        ({"variables": {"A": {"expand": "no"}}}, "variables:a config expand should be a boolean"),
    ],
    ids=str,
)
def test_a_job_that_gitlab_refuses(job: dict[str, object], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        decided(job)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({}, "config can't be blank"),
        ({"iff": "$A"}, "config contains unknown keys: iff"),
        ({"auto_cancel": {}}, "config contains unknown keys: auto_cancel"),
        ({"if": True}, "if invalid expression syntax"),
        ({"if": 5}, "if invalid expression syntax"),
        ({"if": "${A}"}, "if invalid expression syntax"),
        ({"when": "maybe"}, "when unknown value: maybe"),
        ({"when": True}, "when unknown value: true"),
        ({"when": "delayed"}, "start in can't be blank"),
        ({"when": "delayed", "start_in": "soon"}, "start in should be a duration"),
        ({"when": "delayed", "start_in": 90}, "start in should be a duration"),
        ({"when": "delayed", "start_in": "2 weeks"}, "start in should not exceed the limit"),
        ({"when": "manual", "start_in": "1 day"}, "config contains disallowed keys: start_in"),
        ({"allow_failure": {"exit_codes": 1}}, "allow failure should be a boolean value"),
        ({"interruptible": "yes"}, "interruptible should be a boolean value"),
        ({"variables": {"A": {"value": "x"}}}, "variables:a config must be a string"),
        ({"changes": "src"}, "changes should be an array or a hash"),
        ({"changes": [1]}, "changes config should be an array of strings"),
        ({"changes": {"compare_to": "main"}}, "changes config missing required keys: paths"),
        ({"changes": {"paths": ["a"], "to": "b"}}, "changes config contains unknown keys: to"),
        ({"changes": ["a"] * 51}, "changes config has too many entries (maximum 50)"),
        ({"exists": 1}, "exists should be a string, an array of strings, or a hash"),
        ({"exists": {"paths": ["a"], "ref": "b"}}, "exists config missing required keys: project"),
        ({"exists": {"paths": "a"}}, "exists paths should be an array of strings"),
    ],
    ids=str,
)
def test_a_rule_that_gitlab_refuses(rule: dict[str, object], message: str) -> None:
    with pytest.raises(RuleError) as caught:
        decided_by({"when": "always"}, rule)
    separator = ":" if message.startswith(("variables:", "changes", "exists")) else " "
    assert str(caught.value).startswith(f"rules:rule{separator}{message}")
    assert "(rule 2)" in str(caught.value)


def test_a_wrong_expression_keeps_its_position() -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        decided_by({"when": "never"}, {"if": '$A = "x"'})
    assert str(caught.value).splitlines() == [
        "rules:rule if invalid expression syntax (rule 2): '=' begins nothing that GitLab knows",
        '    $A = "x"',
        "       ^",
        "hint: write == to compare",
    ]
    assert caught.value.position == 3


def test_an_expression_that_breaks_gitlab_names_its_rule() -> None:
    with pytest.raises(RuleSyntaxError, match=r"^rules:rule if \(rule 1\): GitLab cannot evaluate"):
        decide({"rules": [{"if": '$A =~ ($A == "1")'}]}, pipeline_variables={"A": "1"})


@pytest.mark.parametrize("delay", ["1 week", "90", "1h 30m", "2:30", "1 day and 2h", "hour"])
def test_delays_that_gitlab_accepts(delay: str) -> None:
    assert decided_by({"when": "delayed", "start_in": delay}).start_in == delay
    assert decided({"when": "delayed", "start_in": delay}).start_in == delay


@pytest.mark.parametrize("delay", ["0", "-1h", "1 fortnight", "1h!", "1:1:1:1:1:1:1"])
def test_delays_that_are_none(delay: str) -> None:
    with pytest.raises(RuleError, match="start in should be a duration"):
        decided({"when": "delayed", "start_in": delay})


@pytest.mark.parametrize(
    ("options", "message"),
    [(["x"], "value must be present in options"), ("z", "options should be an array of strings")],
)
def test_a_global_variable_has_one_of_its_options(options: object, message: str) -> None:
    with pytest.raises(RuleError, match=f"^variables:a config {message}$"):
        decide({}, global_variables={"A": {"value": "z", "options": options}})


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ([], "workflow:rules config can't be blank"),
        ([{"when": "manual"}], "workflow:rules:rule when unknown value: manual (rule 1)"),
        ([{"interruptible": True}], "workflow:rules:rule config contains unknown keys: interrupti"),
        ([{"if": "${A}"}], "workflow:rules:rule if invalid expression syntax (rule 1)"),
    ],
    ids=str,
)
def test_workflow_rules_that_gitlab_refuses(rules: object, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        decide_workflow(rules)
    assert str(caught.value).startswith(message)


def nested(levels: int) -> list[object]:
    rules: list[object] = [{"when": "always"}]
    for _ in range(levels - 1):
        rules = [rules]
    return rules


def test_rules_nest_ten_levels_deep() -> None:
    assert decided({"rules": nested(10)}).when == "always"
    with pytest.raises(RuleError, match="array containing hashes and arrays of hashes"):
        decided({"rules": nested(11)})
