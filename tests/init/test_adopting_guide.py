"""What docs/adopting.md shows is what comes out."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path

from ..conftest import ROOT, Result
from ..test_docs import blocks

GUIDE = (ROOT / "docs/adopting.md").read_text(encoding="utf-8")


def test_the_guide_adopts_its_own_example(run: Callable[..., Result]) -> None:
    source, command = blocks(GUIDE, "yaml")[0], blocks(GUIDE, "sh")[0]
    arguments = shlex.split(command)[2:]
    path = Path("clone", arguments[arguments.index("--from") + 1]).resolve()
    path.parent.mkdir(parents=True)
    path.write_text(source, encoding="utf-8")
    arguments[arguments.index("--from") + 1] = str(path)
    result = run(*arguments)
    assert result.code == 0, result.err
    assert blocks(GUIDE, "text")[0] in result.out
    routing = Path("vision/routing.toml").read_text(encoding="utf-8")
    for table in re.split(r"\n(?=\[)", blocks(GUIDE, "toml")[0]):
        assert table in routing
    context = textwrap.dedent(re.search(r"   ```toml\n(.*?)```", GUIDE, re.DOTALL)[1])
    Path("vision/routing.toml").write_text(f"{routing}\n{context}", encoding="utf-8")
    build = re.search(r"^build:\n(?:  .*\n)+", source, re.MULTILINE)[0]
    Path("parent.yml").write_text(f"{blocks(GUIDE, 'yaml')[1]}\n{build}", encoding="utf-8")
    where = ("--routing", "vision/routing.toml", "--templates", "vision/templates")
    shown = run("preview", "--all", *where)
    assert re.search(r"train-yolo .* runs$", shown.out, re.MULTILINE), shown.out
    checked = run("check", "--parent", "parent.yml", "--fail-on", "warning", *where)
    assert checked.code == 0, checked.out


def test_the_guide_names_every_heading_of_the_report() -> None:
    from gpu_pipeline.adopt.notes import Kind

    for kind in Kind:
        assert f"| {kind[0].upper()}{kind[1:]} |" in GUIDE
