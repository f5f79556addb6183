"""A small hand-written file to which a test adds the jobs it is about, and what comes of them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..conftest import Result

RULE = """  rules: [{if: '$CI_PIPELINE_SOURCE == "web"'}]\n"""
BASE = """\
stages: [train]
.base:
  stage: train
  image: x/y:1
  tags: [gpu]
  timeout: 2h
  resource_group: g
  variables:
    KUBERNETES_NODE_SELECTOR_POOL: pool=x
    KUBERNETES_CPU_REQUEST: "1"
    KUBERNETES_CPU_LIMIT: "2"
    KUBERNETES_MEMORY_REQUEST: 4Gi
    KUBERNETES_MEMORY_LIMIT: 8Gi
"""
PRELUDE = BASE + RULE
GPU = ("--gpu", "x=NVIDIA L4")
NEW = ("--routing", "new/routing.toml", "--templates", "new/templates")


@dataclass(frozen=True)
class Adopted:
    """The exit code, the report in one line, the routing and a folder with the templates."""

    code: int
    report: str
    routing: dict[str, Any]
    templates: Path
    run: Callable[..., Result]

    def task(self, name: str = "train") -> str:
        """The template of a task."""
        return (self.templates / f"tasks/{name}.yml.j2").read_text(encoding="utf-8")

    def section(self, heading: str) -> str:
        """The notes under a heading of the report, in one line; "" when there is none."""
        return next((s for s in self.report.split("\n\n") if s.startswith(f"{heading}:")), "")

    def child(self, *options: str) -> dict[str, Any]:
        """The rendered child pipeline."""
        result = self.run("render", *NEW, "-o", "-", "--branch", "main", *options)
        assert result.code == 0, result.err
        found: dict[str, Any] = yaml.safe_load(result.out)
        return found


def job(name: str, *script: str, more: str = "", extends: str = ".base") -> str:
    """The text of a job with these commands; `more` are further lines of it."""
    lines = "".join(f"    - {json.dumps(command)}\n" for command in script)
    return f"{name}:\n  extends: {extends}\n{more}  script:\n{lines}"


def adopt(
    run: Callable[..., Result], *jobs: str, head: str = PRELUDE, options: tuple[str, ...] = GPU
) -> Adopted:
    """Adopt the prelude with these jobs; a refusal fails the test."""
    Path("ci.yml").write_text(head + "".join(jobs), encoding="utf-8")
    result = run("init", "--from", "ci.yml", "-o", "new", "--force", *options)
    assert result.code in (0, 1), result.err
    parts = [" ".join(part.split()) for part in result.out.split("\n\n")]
    return Adopted(
        code=result.code,
        report="\n\n".join(parts),
        routing=tomllib.loads(Path("new/routing.toml").read_text(encoding="utf-8")),
        templates=Path("new/templates"),
        run=run,
    )
