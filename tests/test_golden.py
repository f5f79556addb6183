"""Whole child pipelines, compared with files; UPDATE=1 writes them anew."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from .conftest import ROOT, SHIPPED, Result

GOLDEN = ROOT / "tests" / "golden"
MAIN = ("--branch", "main", "--var", "REGISTRY=registry.example.com/team")
CASES = {
    "shipped-push": (SHIPPED, "--source", "push", *MAIN),
    "shipped-schedule": (SHIPPED, "--source", "schedule", "--var", "TRAIN_VALIDATE=true", *MAIN),
    "shipped-web-hyperopt": (SHIPPED, "--source", "web", "--job", "hyperopt-*", *MAIN),
    **{
        f"example-{path.stem}": (path, "--source", "push", *MAIN)
        for path in sorted((ROOT / "examples").glob("*.toml"))
    },
}


@pytest.mark.parametrize("name", CASES)
def test_child_is_as_expected(name: str, run: Callable[..., Result]) -> None:
    routing, *options = CASES[name]
    result = run("render", "-o", "-", "--routing", routing, *options)
    assert result.code == 0, result.err
    path = GOLDEN / f"{name}.yml"
    if os.environ.get("UPDATE") == "1":
        path.write_text(result.out, encoding="utf-8")
    assert result.out == path.read_text(encoding="utf-8"), "UPDATE=1 writes it anew, if it is meant"


def test_every_golden_file_has_its_case() -> None:
    assert {path.stem for path in GOLDEN.glob("*.yml")} == set(CASES)


def test_the_examples_are_there() -> None:
    assert {"example-single-pool", "example-other-cloud"} <= set(CASES)


def test_a_comparison_for_a_merge_request_is_as_expected(run: Callable[..., Result]) -> None:
    """From the state before the routing to the shipped one: jobs move, change, and cost less."""
    shutil.copy(SHIPPED, "routing.toml")
    shutil.copy(ROOT / "examples/single-pool.toml", "single-pool.toml")
    result = run("diff", "single-pool.toml", "--routing", "routing.toml", "--format", "markdown")
    assert result.code == 0, result.err
    path = GOLDEN / "diff-single-pool.md"
    if os.environ.get("UPDATE") == "1":
        path.write_text(result.out, encoding="utf-8")
    assert result.out == path.read_text(encoding="utf-8"), "UPDATE=1 writes it anew, if it is meant"
