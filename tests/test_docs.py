"""What the README and the guides show is what works."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_pipeline import cli
from gpu_pipeline.reports.commands import commands_page

from .conftest import ROOT, SHIPPED, TEMPLATES, Result

README = (ROOT / "README.md").read_text(encoding="utf-8")
MODELS = (ROOT / "docs/models-and-pools.md").read_text(encoding="utf-8")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
START = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("block", [*blocks(README, "toml"), *blocks(MODELS, "toml")])
def test_a_routing_example_renders(block: str, run: Callable[..., Result], tmp_path: Path) -> None:
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


def commands(text: str) -> list[str]:
    """The command lines that stand in code blocks, without what is said of them."""
    shown = r"^(?:\.venv/bin/python )?generate_pipeline\.py (.*?)\s*(?:#.*)?$"
    return [line for block in blocks(text, "sh") for line in re.findall(shown, block, re.M)]


@pytest.mark.parametrize(
    "page", ["README.md", "docs/getting-started.md", "docs/runner.md", "docs/troubleshooting.md"]
)
def test_every_command_of_a_page_works(page: str, run: Callable[..., Result]) -> None:
    Path("config.toml").write_text(run("cluster", "runner").out, encoding="utf-8")
    found = commands((ROOT / page).read_text(encoding="utf-8"))
    assert len(found) >= 3
    for line in found:
        assert run(*line.split()).code == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_every_page_is_understood(page: Path) -> None:
    for line in commands(page.read_text(encoding="utf-8")):
        words = shlex.split(line.partition("| ")[0].partition("> ")[0])
        if not {"COMMAND", "--help"} & set(words):
            assert cli._parse(words).command in (words[0], "render"), line


def test_getting_started_leads_to_a_child_and_no_warning(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    """The routing of the page, as it stands there, for the shipped templates and parent."""
    (routing,) = blocks(START, "toml")
    path = tmp_path / "routing.toml"
    path.write_text(routing, encoding="utf-8")
    assert run("--routing", path, "--var", "REGISTRY=r").code == 0
    assert "8 jobs for a parent pipeline from web" in run("preview", "--routing", path).out
    config = tmp_path / "config.toml"
    config.write_text(run("cluster", "runner", "--routing", path).out, encoding="utf-8")
    arguments = ("check", "--routing", path, "--runner", config, "--fail-on", "warning")
    result = run(*arguments)
    assert result.code == 0, result.out


def test_the_headline_figures_are_what_the_plan_says(run: Callable[..., Result]) -> None:
    """The README's table, and each assumption that stands beside it."""
    arguments = ("plan", "--routing", SHIPPED, "--templates", TEMPLATES)
    out = run(*arguments, "--against", ROOT / "examples/single-pool.toml").out
    said = {}
    for line in out.splitlines():
        name, *cells = re.split(r" {2,}", line.strip())
        said.setdefault(name, cells)
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in README.splitlines()
            if row.startswith("| ") and row.endswith("|")]  # fmt: skip
    shown = {row[0]: row[1:] for row in rows if len(row) == 4}
    for name in ("done after", "cost", "mean wait"):
        assert shown[name] == said[name]
    assert shown["GPU used of paid time"][:2] == said["GPU used of paid"][:2]
    figures = " ".join(out.split())
    assert "training times: 1 configured, 18 assumed (1100 s an epoch" in figures
    assert "boot 10m assumed, image pull 5m assumed, removal when idle 10m assumed" in figures
    routing = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))
    assert [pool["price_per_hour"] for pool in routing["pools"].values()] == [0.79, 1.47]
    assert [family["gpu_utilization"] for family in routing["families"].values()] == [0.1, 0.34]
    for figure in ("1,100 s", "34 %", "10 %", "0.79", "1.47", "8 instead of 15"):
        assert figure in README


def test_the_commands_reference_is_what_help_says() -> None:
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert page == commands_page(cli.build_parser()), "`make docs` writes it anew"


def test_the_recording_shows_what_is_printed() -> None:
    script = ROOT / "docs/images/recording.py"
    done = subprocess.run(
        [sys.executable, "-c", "import runpy, sys; sys.stdout.reconfigure(encoding='utf-8');"
         "print(runpy.run_path(sys.argv[1])['recording'](), end='')", script],
        capture_output=True, check=True,
    )  # fmt: skip
    image = (ROOT / "docs/images/recording.svg").read_bytes()
    assert done.stdout == image, "`make docs` writes it anew"
    assert b"http" not in image.replace(b"http://www.w3.org/2000/svg", b"")


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page


def test_every_relative_link_leads_somewhere() -> None:
    for page in [*PAGES, *(ROOT / "docs/findings").glob("*.md")]:
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
