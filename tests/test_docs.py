"""What the README and the guides show is what works."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import ROOT, SHIPPED, Result

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", blocks(README, "toml"))
def test_a_routing_example_of_the_readme_renders(
    block: str, run: Callable[..., Result], tmp_path: Path
) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    for header in re.findall(r"^\[.*\]$", block, re.MULTILINE):
        if header in text:  # an example that shows a changed key of a table there is
            key, value = re.search(rf"{re.escape(header)}\n(\w+) = (.*)", block).groups()
            text = re.sub(
                rf"^{key} = .*{re.escape(value[:8])}.*$", f"{key} = {value}", text, flags=re.M
            )
            block = block.replace(header, "").replace(f"{key} = {value}", "")
    path = tmp_path / "routing.toml"
    path.write_text(f"{text}\n{block}", encoding="utf-8")
    result = run("--quiet", "--routing", path)
    assert (result.code, result.err) == (0, "")
    assert run("check", "--routing", path).code == 0


def test_every_command_of_the_readme_is_one(run: Callable[..., Result]) -> None:
    Path("config.toml").write_text(run("cluster", "runner").out, encoding="utf-8")
    found = re.findall(r"^\.venv/bin/python generate_pipeline\.py (.*?)\s*(?:#.*)?$", README, re.M)
    assert len(found) >= 10
    for line in found:
        assert run(*line.split()).code == 0, line


def test_every_relative_link_leads_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_guide_to_the_routing_names_every_key() -> None:
    from gpu_pipeline.schema import routing_schema

    guide = (ROOT / "docs/routing.md").read_text(encoding="utf-8")
    for name, table in routing_schema()["$defs"].items():
        for key in table["properties"]:
            assert re.search(rf"[`\s{{,]{key}\b", guide), f"{name}.{key}"


def test_the_guide_to_the_templates_works(
    templates: Path, run: Callable[..., Result], edit: Callable[..., Path]
) -> None:
    """A new task and a new base, exactly as the guide shows them."""
    guide = (ROOT / "docs/templates.md").read_text(encoding="utf-8")
    task, base = blocks(guide, "jinja")[1:3]
    (templates / "tasks/export.yml.j2").write_text(task, encoding="utf-8")
    (templates / "bases/vision-base.yml.j2").write_text(base, encoding="utf-8")
    table = blocks(guide, "toml")[0]
    routing = edit(
        ("[tasks.hyperopt]", f"{table}\n[tasks.hyperopt]"), ('"train-rl-base"', '"vision-base"')
    )
    result = run("-o", "-", "--quiet", "--routing", routing, "--templates", templates)
    assert result.code == 0, result.err
    assert "df -h /dev/shm" in result.out
    assert result.out.count("trainer export") == 10
    assert tomllib.loads(table)["tasks"]["export"]["needs"] == ["hyperopt"]
