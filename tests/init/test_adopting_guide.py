"""What docs/adopting.md shows is what comes out."""

from __future__ import annotations

import re
import shlex
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
    shown = run(
        "preview", "--all", "--routing", "vision/routing.toml", "--templates", "vision/templates"
    )
    assert shown.code == 0, shown.err


def test_the_guide_names_every_heading_of_the_report() -> None:
    from gpu_pipeline.adopt.notes import Kind

    for kind in Kind:
        assert f"| {kind[0].upper()}{kind[1:]} |" in GUIDE
