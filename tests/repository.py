"""A git repository to compare revisions in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .conftest import SHIPPED, TEMPLATES


class Repository:
    """A repository of its own with the shipped routing and templates, and what it is told."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "tester")
        self.git("config", "user.email", "tester@example.com")

    def git(self, *arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", self.path, *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    def commit(self, message: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def edit(self, old: str, new: str) -> None:
        text = self.routing.read_text(encoding="utf-8")
        assert old in text
        self.routing.write_text(text.replace(old, new, 1), encoding="utf-8")

    @property
    def routing(self) -> Path:
        return self.path / "routing.toml"

    @property
    def options(self) -> tuple[str | Path, ...]:
        return ("--routing", self.routing, "--templates", self.path / "templates")


def two_branches(path: Path) -> Repository:
    """On branch main one commit, tagged v1; then epochs 8 → 9 on branch topic."""
    made = Repository(path)
    shutil.copy(SHIPPED, made.routing)
    shutil.copytree(TEMPLATES, made.path / "templates")
    made.commit("as shipped")
    made.git("tag", "v1")
    made.git("switch", "-q", "-c", "topic")
    made.edit("epochs = 8 ", "epochs = 9 ")
    made.commit("nine epochs")
    return made
