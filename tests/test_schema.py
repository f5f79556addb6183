"""The JSON schemas: ours for routing.toml, GitLab's for what we write."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml

from gpu_pipeline.schema import routing_schema

from .conftest import ROOT, SHIPPED, Result

GOOD = [ROOT / "routing.toml", SHIPPED, *sorted((ROOT / "examples").glob("*.toml"))]
GOOD += sorted((ROOT / "tests/routing/good").glob("*.toml"))
WRONG_SHAPE = ["keys", "types"]
GITLAB = json.loads(
    (files("check_jsonschema") / "builtin_schemas/vendor/gitlab-ci.json").read_text("utf-8")
)


def test_the_schema_beside_the_docs_is_current(run: Callable[..., Result]) -> None:
    committed = (ROOT / "docs/routing.schema.json").read_text(encoding="utf-8")
    assert run("schema").out == committed, "`make golden` writes it anew"


def test_every_key_of_the_schema_is_described() -> None:
    for name, table in routing_schema()["$defs"].items():
        assert table["additionalProperties"] is False
        for key, value in table["properties"].items():
            assert value.get("description"), f"{name}.{key}"


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_good_files_pass_it(path: Path) -> None:
    jsonschema.validate(tomllib.loads(path.read_text(encoding="utf-8")), routing_schema())


@pytest.mark.parametrize("name", WRONG_SHAPE)
def test_files_of_the_wrong_shape_do_not(name: str) -> None:
    path = ROOT / "tests/routing/bad" / f"{name}.toml"
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(json.loads(json.dumps(document, default=str)), routing_schema())


def taplo(path: Path) -> subprocess.CompletedProcess[str]:
    """The linter inside editors' TOML plug-ins."""
    schema = (ROOT / "docs/routing.schema.json").as_uri()
    command = [Path(sys.executable).parent / "taplo", "lint", "--schema", schema, path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_editor_accepts_the_shipped_file_and_names_a_wrong_key(
    edit: Callable[..., Path],
) -> None:
    good = taplo(ROOT / "routing.toml")
    assert good.returncode == 0, good.stderr
    bad = taplo(edit(("concurrency = 4", "concurency = 4")))
    assert bad.returncode != 0
    assert "concurency" in bad.stderr


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests/golden").glob("*.yml")), ids=lambda p: p.stem
)
def test_a_child_passes_gitlabs_schema(path: Path) -> None:
    child = yaml.safe_load(path.read_text(encoding="utf-8"))
    jsonschema.validate(child, GITLAB)
    jsonschema.validate(resolved(child), GITLAB)


def resolved(child: dict) -> dict:
    """The child with `extends` worked in: GitLab's schema does not look into hidden jobs."""
    jobs = {}
    for name, job in child.items():
        if isinstance(job, dict) and "extends" in job:
            base = child[job["extends"]]
            variables = base.get("variables", {}) | job.get("variables", {})
            own = {key: value for key, value in job.items() if key != "extends"}
            jobs[name] = {**base, **own, "variables": variables}
        elif not name.startswith("."):
            jobs[name] = job
    return jobs


def test_gitlabs_schema_would_notice_a_mistake() -> None:
    child = yaml.safe_load((ROOT / "tests/golden/shipped-push.yml").read_text(encoding="utf-8"))
    child[".train-rl-base"]["retry"]["max"] = 3
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(resolved(child), GITLAB)
