"""Shared fixtures: the command line run in this process, away from the real environment."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from gpu_pipeline import cli, console, loading

ROOT = Path(__file__).resolve().parent.parent
# The routing, templates and parent pipeline as they were shipped. A team edits its own; what the
# generator does is tested with these, and `test_live.py` looks at the team's.
REFERENCE = ROOT / "tests" / "reference"
SHIPPED = REFERENCE / "routing.toml"
TEMPLATES = REFERENCE / "templates"

settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _outside_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees the CI job or branch it may itself run in, nor writes into the repository."""
    for name in (
        "CI_PIPELINE_SOURCE",
        "CI_COMMIT_BRANCH",
        "TRAIN_JOBS",
        "TRAIN_VALIDATE",
        "REGISTRY",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(console._asked, "quiet", False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "ROOT", REFERENCE)
    asked = loading._git_branch
    monkeypatch.setattr(
        loading, "_git_branch", lambda path: "main" if path.is_relative_to(ROOT) else asked(path)
    )


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run the command line: `run("preview", "--source", "push")`."""

    def call(*arguments: str | Path) -> Result:
        capfd.readouterr()
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:  # argparse ends usage errors and --help this way
            code = int(stop.code or 0)
        captured = capfd.readouterr()
        return Result(code=code, out=captured.out, err=captured.err)

    return call


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """A copy of the shipped templates, to break."""
    return Path(shutil.copytree(TEMPLATES, tmp_path / "templates"))


@pytest.fixture
def edit(tmp_path: Path) -> Callable[..., Path]:
    """A copy of the shipped routing.toml with texts replaced: `edit(("old", "new"), …)`."""

    def change(*replacements: tuple[str, str]) -> Path:
        text = SHIPPED.read_text(encoding="utf-8")
        for old, new in replacements:
            assert old in text, f"{old!r} is not in routing.toml"
            text = text.replace(old, new, 1)
        path = tmp_path / "routing.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return change
