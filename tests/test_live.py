"""The team's own routing.toml, templates and parent pipeline, whatever they hold by now."""

from __future__ import annotations

import json
from collections.abc import Callable

import jsonschema
import pytest
import yaml

from gpu_pipeline import cli

from .conftest import ROOT, Result
from .test_schema import GITLAB, resolved


@pytest.fixture(autouse=True)
def _live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "ROOT", ROOT)


def test_there_is_no_error_in_child_and_parent(run: Callable[..., Result]) -> None:
    result = run("check")
    assert result.code == 0, result.out + result.err


def test_it_renders_wherever_jobs_run_and_gitlab_accepts_it(run: Callable[..., Result]) -> None:
    matrix = json.loads(run("preview", "--all", "--format", "json").out)
    rendered = 0
    for context in matrix["contexts"]:
        options = ["--source", context["source"]]
        if context["branch"]:
            options += ["--branch", context["branch"]]
        for name, value in context["variables"].items():
            options += ["--var", f"{name}={value}"]
        runs = any(modes[context["name"]] != "absent" for modes in matrix["jobs"].values())
        if context["tag"]:
            continue  # a tag is no option of render
        result = run("-o", "-", "--quiet", *options)
        assert result.code == (0 if runs else 3), result.err
        if runs:
            child = yaml.safe_load(result.out)
            jsonschema.validate(child, GITLAB)
            jsonschema.validate(resolved(child), GITLAB)
            rendered += 1
    assert rendered


def test_the_parent_passes_gitlabs_schema() -> None:
    parent = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text(encoding="utf-8"))
    jsonschema.validate(parent, GITLAB)
