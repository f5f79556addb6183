"""Hand-written files, each with the routing and the report that come of it beside it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import Result

HERE = Path(__file__).resolve().parent
GOOD = sorted((HERE / "good").glob("*.yml"))
BAD = sorted((HERE / "bad").glob("*.yml"))


def expect(path: Path, text: str) -> None:
    if os.environ.get("UPDATE") == "1":
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "UPDATE=1 writes it anew, if it is meant"


def adopted(path: Path, run: Callable[..., Result], *options: str) -> Result:
    """Adopt a copy in the current folder, so that messages name it shortly."""
    shutil.copy(path, path.name)
    return run("init", "--from", path.name, "-o", "new", *options)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_file_becomes_the_routing_beside_it(path: Path, run: Callable[..., Result]) -> None:
    result = adopted(path, run)
    expect(path.with_suffix(".txt"), f"exit {result.code}\n\n{result.out}\n{result.err}")
    expect(path.with_suffix(".toml"), Path("new/routing.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_file_that_cannot_be_adopted_is_refused(path: Path, run: Callable[..., Result]) -> None:
    result = adopted(path, run)
    assert (result.code, result.out) == (2, "")
    expect(path.with_suffix(".txt"), result.err)
    assert not Path("new").exists()


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_what_is_to_fill_in_stops_a_render_until_it_is(
    path: Path, run: Callable[..., Result]
) -> None:
    adopted(path, run)
    render = ("render", "--routing", "new/routing.toml", "--templates", "new/templates", "-o", "-")
    stopped = run(*render)
    assert stopped.code == 2
    assert "is no GPU name" in stopped.err
    routing = Path("new/routing.toml")
    text = routing.read_text(encoding="utf-8").replace('gpu = "?"', 'gpu = "NVIDIA L4"')
    fill = {
        "rules": '[[pipeline.rules]]\nwhen = "on_success"\n',
        "requests": 'requests = { cpu = "1m", memory = "1Mi" }\n',
        "limits": 'limits = { cpu = "64", memory = "900Gi" }\n',
        "tags": 'tags = ["gpu"]\n',
    }
    missing = {found.split(".")[0] for found in re.findall(r"^# TODO (\S+):", text, re.M)}
    for key in ("requests", "limits", "tags"):
        if key in missing:
            text = text.replace("[pipeline]\n", f"[pipeline]\n{fill[key]}", 1)
    if "rules" in missing:
        text += fill["rules"]
    if "image" in missing:
        text = text.replace("[pipeline]\n", '[pipeline]\nimage = "x"\n', 1)
    routing.write_text(text, encoding="utf-8")
    listed = run("preview", "--routing", "new/routing.toml", "--templates", "new/templates")
    assert listed.code == 0, listed.err


def test_every_expectation_has_its_file() -> None:
    for folder, kept in (("good", GOOD), ("bad", BAD)):
        assert {path.stem for path in (HERE / folder).iterdir()} == {path.stem for path in kept}
