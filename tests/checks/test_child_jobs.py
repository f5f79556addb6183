"""Faults that need more than one value: needs, inheritance, what supersedes what."""

from __future__ import annotations

import sys
import time

import pytest

from gpu_pipeline.checks.child import check_child, ci_schema
from gpu_pipeline.checks.finding import Finding, Severity


def check(text: str) -> list[Finding]:
    found = check_child(text, "child.yml")
    return [finding for finding in found if finding.severity is not Severity.NOTE]


def one(text: str, code: str) -> Finding:
    found = check(text)
    assert [finding.code for finding in found] == [code]
    return found[0]


JOB = "  script: [make]\n"


def test_a_needed_job_that_is_missing_has_its_nearest_name() -> None:
    finding = one(f"fetch:\n{JOB}fit:\n  needs: [fetsh]\n{JOB}", "NED101")
    assert str(finding.place) == "child.yml:4: fit:needs[0]"
    assert 'did you mean "fetch"?' in finding.message


def test_a_rule_may_need_a_missing_job_too() -> None:
    text = f"fit:\n  rules:\n    - when: always\n      needs: [nobody]\n{JOB}"
    assert one(text, "NED101").place.key == "rules[0].needs[0]"


@pytest.mark.parametrize(
    "needs",
    ["[]", "[null]", "null", "[{pipeline: $ID, job: x}]", "[{project: a/b, job: x, ref: m}]"],
)
def test_needs_of_nobody_in_this_file_are_fine(needs: str) -> None:
    assert not check(f"fit:\n  needs: {needs}\n{JOB}")


@pytest.mark.parametrize(
    ("parallel", "name"),
    [
        ("2", "b 1/2"),
        ("1", "b 1/1"),
        ("{matrix: [{X: 1}]}", "b: [1]"),
        ("{matrix: [{X: [w, x], Y: [y, z]}, {Z: z}]}", "b: [x, y]"),
        ("{matrix: [{X: [w, x], Y: [y, z]}, {Z: z}]}", "b: [z]"),
    ],
)
@pytest.mark.parametrize("key", ["needs", "dependencies"])
def test_a_job_that_parallel_makes_can_be_needed(parallel: str, name: str, key: str) -> None:
    text = f"b:\n  parallel: {parallel}\n{JOB}fit:\n  {key}: ['%s']\n{JOB}"
    assert not check(text % name)
    code = "NED101" if key == "needs" else "PIP117"
    assert one(text % f"{name} ", code)


def test_a_job_that_parallel_makes_may_be_in_a_later_stage() -> None:
    text = f"b:\n  parallel: 2\n  stage: deploy\n{JOB}fit:\n  needs: [b 1/2]\n{JOB}"
    assert one(text, "PIP116").place.job == "fit"


def test_a_need_of_another_pipeline_cannot_be_optional() -> None:
    text = f"fit:\n  needs: [{{pipeline: $ID, job: x, optional: true}}]\n{JOB}"
    assert one(text, "PIP114").place.key == "needs[0].optional"


@pytest.mark.parametrize(
    ("name", "parallel", "is_wrong"),
    [
        ("b" * 251, "9", False),
        ("b" * 252, "9", True),
        ("b", "{matrix: [{X: [x, %s]}]}" % ("x" * 250), False),
        ("b", "{matrix: [{X: [x, %s]}]}" % ("x" * 251), True),
    ],
)
def test_parallel_makes_no_longer_names_than_255(name: str, parallel: str, is_wrong: bool) -> None:
    found = check(f"{name}:\n  parallel: {parallel}\n{JOB}")
    assert [(each.code, each.place.key) for each in found] == [("PIP123", "parallel")] * is_wrong


def test_a_circle_is_found_once_however_long() -> None:
    jobs = [f"j{number}:\n  needs: [j{(number + 1) % 500}]\n{JOB}" for number in range(500)]
    finding = one("".join(jobs), "NED103")
    assert finding.message.endswith("j499 → j0")


def test_two_circles_are_two() -> None:
    pairs = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("e", "a")]
    text = "".join(f"{name}:\n  needs: [{other}]\n{JOB}" for name, other in pairs)
    assert [finding.code for finding in check(text)] == ["NED103", "NED103"]


def test_fifty_needs_are_allowed_and_51_are_not() -> None:
    jobs = "".join(f"j{number}:\n{JOB}" for number in range(51))
    names = [f"j{number}" for number in range(51)]
    assert not check(f"{jobs}fit:\n  needs: [{', '.join(names[:50])}]\n{JOB}")
    assert "51" in one(f"{jobs}fit:\n  needs: [{', '.join(names)}]\n{JOB}", "NED104").message


def test_a_need_of_a_job_that_is_wrong_itself_is_not_a_second_fault() -> None:
    assert one(f"a:\n  extends: .no\n{JOB}b:\n  needs: [a]\n{JOB}", "PIP111").place.job == "a"


def test_an_unknown_stage_is_not_reported_as_a_later_one() -> None:
    text = f"stages: [x]\na:\n  stage: x\n{JOB}b:\n  stage: y\n  needs: [a]\n{JOB}"
    assert one(text, "PIP110").place.job == "b"


def test_what_jobs_inherit_is_reported_once_where_it_stands() -> None:
    jobs = "".join(f"fit-{number}:\n  extends: .base\n" for number in range(16))
    finding = one(f".base:\n  retry: 3\n{JOB}{jobs}", "PIP120")
    assert str(finding.place) == "child.yml:2: fit-0:retry"
    assert finding.message.endswith("(15 more jobs have it too)")


def test_a_default_that_jobs_inherit_is_reported_once() -> None:
    finding = one(f"default:\n  retry: 3\nfit:\n{JOB}", "PIP120")
    assert str(finding.place) == "child.yml:2: default.retry"


def test_a_hidden_entry_that_nobody_extends_is_not_looked_into() -> None:
    assert not check(f".notes:\n  retry: 3\n  anything: [1, 2]\n.text: x\nfit:\n{JOB}")


@pytest.mark.parametrize("name", ["default", "workflow"])
def test_a_keyword_with_a_script_is_a_job_to_gitlab(name: str) -> None:
    assert not [finding for finding in check(f"{name}:\n{JOB}") if finding.code == "PIP107"]


def test_the_condition_that_cannot_be_read_is_shown_at_its_place() -> None:
    text = f'fit:\n  rules:\n    - - when: never\n      - if: $A = "x"\n{JOB}'
    finding = one(text, "RUL101")
    assert str(finding.place) == "child.yml:4: fit:rules[0][1].if"
    assert '= "x"' in finding.message


def test_a_misspelt_key_of_a_rule_has_its_nearest_name() -> None:
    finding = one(f"fit:\n  rules:\n    - wen: always\n{JOB}", "RUL101")
    assert finding.place.key == "rules[0].wen"
    assert 'did you mean "when"?' in finding.message


def test_workflow_rules_take_two_values_of_when() -> None:
    finding = one(f"workflow:\n  rules:\n    - when: manual\nfit:\n{JOB}", "RUL101")
    assert str(finding.place) == "child.yml:3: workflow.rules[0].when"


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("when: delayed", "start_in"),
        ("when: delayed\n  start_in: soon", "start_in"),
        ("start_in: 1 day", "start_in"),
        ("when: never", "when"),
        ("allow_failure: {codes: 1}", "allow_failure"),
        ("inherit: true", "inherit"),
        ("inherit: {variables: 5}", "inherit"),
        ("inherit: {default: maybe}", "inherit"),
        ("inherit: {default: [image, 5]}", "inherit"),
        ("inherit: {default: [imag]}", "inherit"),
        ("inherit: {defaults: false}", "inherit"),
        ("rules: [{when: always}]\n  start_in: 1 day", "start_in"),
    ],
)
def test_keys_that_decide_whether_a_job_runs(keys: str, place: str) -> None:
    assert one(f"fit:\n  {keys}\n{JOB}", "PIP131").place.key == place


@pytest.mark.parametrize(
    "keys",
    [
        "when: delayed\n  start_in: 30 minutes",
        "when: manual\n  allow_failure: {exit_codes: [1, 137]}",
        "inherit: {default: [image], variables: false}",
        "inherit: {default: null, variables: [A]}",
        "only: [main]",
    ],
)
def test_keys_that_gitlab_takes(keys: str) -> None:
    assert not check(f"fit:\n  {keys}\n{JOB}")


def test_a_command_that_became_a_mapping_is_shown() -> None:
    finding = one("fit:\n  script:\n    - echo lr: 1e-5\n", "PIP140")
    assert str(finding.place) == "child.yml:3: fit:script[0]"
    assert '{"echo lr": "1e-5"}' in finding.message
    assert "quotes" in finding.fix


def test_a_script_ten_levels_deep_is_fine_and_eleven_are_not() -> None:
    assert not check(f"fit:\n  script: {'[' * 10}make{']' * 10}\n")
    assert one(f"fit:\n  script: {'[' * 11}make{']' * 11}\n", "PIP140")


@pytest.mark.parametrize("source", ["include: other.yml\n", ""])
def test_an_included_file_may_define_any_variable(source: str) -> None:
    found = check(f"{source}fit:\n  image: $WHO\n{JOB}")
    assert [finding.code for finding in found] == ([] if source else ["PIP155"])


@pytest.mark.parametrize(
    "definition",
    [
        "  variables: {WHO: i}\n",
        "  parallel: {matrix: [{WHO: [i, j]}]}\n",
        "  rules: [{if: $CI, variables: {WHO: i}}]\n",
        "  id_tokens: {WHO: {aud: x}}\n",
    ],
)
def test_a_job_defines_variables_in_several_places(definition: str) -> None:
    assert not check(f"fit:\n  image: $WHO\n{definition}{JOB}")


def test_a_dotenv_report_may_define_any_variable_of_a_script() -> None:
    text = (
        "a:\n  artifacts: {reports: {dotenv: e.env}}\n  script: [make]\nb:\n  script: [echo $X]\n"
    )
    assert not check_child(text, "child.yml")


def test_a_value_for_which_the_file_is_refused_has_no_second_finding() -> None:
    one(f"fit:\n  timeout: 2024-01-31\n{JOB}", "PIP160")


def test_a_misread_value_is_not_reported_twice() -> None:
    assert "45000" in one(f"fit:\n  timeout: 12:30\n{JOB}", "PIP121").message


def test_the_schema_adds_nothing_to_a_fault_that_is_known_already() -> None:
    one(f"fit:\n  retry: 5\n{JOB}", "PIP120")
    one(f"fit:\n  memory: 5\n{JOB}", "PIP109")


def test_without_the_schema_a_note_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    ci_schema._validator.cache_clear()
    (finding,) = check_child(f"fit:\n{JOB}", "child.yml")
    ci_schema._validator.cache_clear()
    assert finding.code == "PIP181"
    assert "requirements-dev.txt" in finding.fix


@pytest.mark.parametrize("levels", [150, 250, 600, 5000])
def test_deep_nesting_is_a_finding(levels: int) -> None:
    found = check(f".deep: {'[' * levels}{']' * levels}\nfit:\n{JOB}")
    assert [finding.code for finding in found] == ["PIP170" if levels < 200 else "PIP101"]


def test_a_byte_order_mark_is_passed_over() -> None:
    assert not check(f"\ufefffit:\n{JOB}")


def test_a_keyword_is_no_name_for_a_job() -> None:
    found = check(f"cache:\n{JOB}fit:\n{JOB}")
    assert ["cache is a keyword" in finding.fix for finding in found] == [True]
    assert found[0].place.key == "cache.script"


def test_as_many_wrong_names_as_jobs_take_no_minutes() -> None:
    names = [f"fit-{number}" for number in range(1500)]
    right = "".join(f"{name}:\n  extends: .base\n{JOB}" for name in names)
    wrong = "".join(f"{name}:\n  extends: .{name}\n{JOB}" for name in names)
    seconds = [_seconds(f".base:\n{JOB}{text}") for text in (right, wrong)]
    assert seconds[1] < seconds[0] * 10  # and not a hundred times, with a look at all names each


def _seconds(text: str) -> float:
    start = time.process_time()
    check_child(text, "child.yml")
    return time.process_time() - start


def test_every_key_of_the_schema_is_known_here() -> None:
    import importlib.resources
    import json

    from gpu_pipeline.checks.child.job_keys import JOB_KEYS
    from gpu_pipeline.ci_jobs import DEFAULTABLE

    file = importlib.resources.files("check_jsonschema") / "builtin_schemas/vendor/gitlab-ci.json"
    schema = json.loads(file.read_text(encoding="utf-8"))
    job = set(schema["definitions"]["job_template"]["properties"])
    default = set(schema["properties"]["default"]["properties"])
    assert job - {"trigger"} <= JOB_KEYS
    assert default - {"!reference"} <= DEFAULTABLE
