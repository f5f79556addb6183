"""Where the parent's context comes from."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gpu_pipeline.context import Context, context_from
from gpu_pipeline.errors import UsageError

from .conftest import SHIPPED, Result

CAPTURE = ("REGISTRY", "TRAIN_VALIDATE")
CI = {"CI_PIPELINE_SOURCE": "schedule", "CI_COMMIT_BRANCH": "main", "TRAIN_VALIDATE": "true"}


def build(environment: dict[str, str], **options: object) -> Context:
    return context_from(environment, CAPTURE, **({"overrides": {}} | options))  # type: ignore[arg-type]


def facts(context: Context) -> tuple[str, str | None, dict[str, str]]:
    return context.source, context.branch, dict(context.variables)


def test_in_ci_everything_comes_from_the_environment() -> None:
    context = build(CI, current_branch="detached")
    assert facts(context) == ("schedule", "main", {"TRAIN_VALIDATE": "true"})


def test_options_win_over_the_environment() -> None:
    context = build(CI, source="push", branch="next", overrides={"TRAIN_VALIDATE": "false"})
    assert facts(context) == ("push", "next", {"TRAIN_VALIDATE": "false"})


def test_outside_ci_the_source_is_web_on_the_current_branch() -> None:
    assert facts(build({}, current_branch="topic")) == ("web", "topic", {})


def test_a_merge_request_has_no_branch() -> None:
    context = build({"CI_PIPELINE_SOURCE": "merge_request_event"}, current_branch="topic")
    assert context.branch is None


def test_empty_and_unset_differ() -> None:
    assert build({"TRAIN_VALIDATE": ""}).variables == {"TRAIN_VALIDATE": ""}
    assert build({}).variables == {}


def test_a_source_that_gitlab_may_add_later_is_taken_from_the_environment() -> None:
    assert build({"CI_PIPELINE_SOURCE": "new_kind"}).source == "new_kind"


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        ({}, {"source": "schedul"}, 'did you mean "schedule"'),
        ({}, {"overrides": {"TRAIN_VALIDAT": "true"}}, 'did you mean "TRAIN_VALIDATE"'),
        ({"CI_PIPELINE_SOURCE": "a\nb: c"}, {}, "no pipeline source"),
        ({"CI_PIPELINE_SOURCE": ""}, {}, "no pipeline source"),
        ({"REGISTRY": "a\udcff"}, {}, "REGISTRY is not valid UTF-8"),
        ({"REGISTRY": "a\x00"}, {}, "NUL"),
    ],
)
def test_what_cannot_be_is_refused(
    environment: dict[str, str], options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        build(environment, **options)


def test_the_branch_is_that_of_the_routings_repository(
    tmp_path: Path, run: Callable[..., Result]
) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    routing = repository / "routing.toml"
    routing.write_bytes(SHIPPED.read_bytes())
    assert '"branch": null' in run("preview", "--format", "json", "--routing", routing).out
    subprocess.run(["git", "init", "-q", "-b", "topic", str(repository)], check=True)
    assert '"branch": "topic"' in run("preview", "--format", "json", "--routing", routing).out


def test_the_child_carries_source_and_captured_variables(
    monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    for name, value in CI.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("REGISTRY", "registry.example.com/$TEAM")
    monkeypatch.setenv("UNRELATED", "not captured")
    result = run("-o", "-")
    assert result.err == ""
    variables = yaml.safe_load(result.out)["variables"]
    assert variables.pop("ROUTE_FINGERPRINT")
    assert variables == {
        "PARENT_PIPELINE_SOURCE": "schedule",
        "REGISTRY": {"value": "registry.example.com/$TEAM", "expand": False},
        "TRAIN_VALIDATE": "true",
    }


@pytest.mark.parametrize("value", [None, ""])
def test_an_image_without_its_registry_is_pointed_out(
    value: str | None, monkeypatch: pytest.MonkeyPatch, run: Callable[..., Result]
) -> None:
    if value is not None:
        monkeypatch.setenv("REGISTRY", value)
    assert "the image uses ${REGISTRY}, which is not set here" in run("-o", "-").err
    assert run("-o", "-", "--quiet").err == ""
    assert run("-o", "-", "--var", "REGISTRY=r.example.com").err == ""


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_parent_on_a_tag_is_shown_with_it(
    output_format: str, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_PIPELINE_SOURCE", "web")
    monkeypatch.setenv("CI_COMMIT_TAG", "v1")
    out = run("preview", "--format", output_format).out
    if output_format == "json":
        assert json.loads(out)["context"] == {"source": "web", "branch": None, "tag": "v1"}
    else:
        assert "for a parent pipeline from web on tag v1" in out
    monkeypatch.setenv("CI_PIPELINE_SOURCE", "push")
    assert "a parent pipeline from push on tag v1 has no job to plan" in run("plan").err
