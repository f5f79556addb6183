"""gitlab-ci-local, a client that is not ours, in a copy of the repository with stand-in tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from .conftest import REFERENCE, ROOT

CLIENT = ROOT / "tests/clients/node_modules/.bin/gitlab-ci-local"
SECONDS = "100"


def missing() -> str | None:
    for tool in ("node", "rsync", "git"):
        if shutil.which(tool) is None:
            return f"{tool} is absent"
    return None if CLIENT.exists() else "gitlab-ci-local is not installed (make test installs it)"


needs_client = [
    pytest.mark.client,
    pytest.mark.skipif(
        missing() is not None and not os.environ.get("REQUIRE_CLIENTS"), reason=missing() or ""
    ),
]

STAND_INS = {
    "nvidia-smi": """
case "$*" in
  *query-gpu=name*) cat "$FAKE_GPUS/$CI_JOB_NAME" 2>/dev/null || printf '%s\\n' "$FAKE_GPU" ;;
  *) echo "nvidia-smi: $*" ;;
esac""",
    "trainer": """
echo "trainer: $*"
echo "$*" >> "$TRAINER_LOG"
mkdir -p output && echo checkpoint > output/model.bin""",
    # The parent's test job would run this suite again, and all is installed.
    "make": 'echo "make: $*"',
    "pip": 'echo "pip: $*"',
}


@dataclass(frozen=True)
class Run:
    """One run of the client: its output without decoration, and what the trainer was asked."""

    code: int
    stdout: str
    output: str
    trained: list[str]

    def lines_of(self, job: str) -> list[str]:
        """What a job printed itself, without the commands that were echoed."""
        found = re.findall(rf"(?:^|\s){re.escape(job)}\s+> (.*)", self.output)
        return [line.strip() for line in found]


class Client:
    """gitlab-ci-local in a copy of the repository."""

    def __init__(self, folder: Path) -> None:
        if reason := missing():
            pytest.fail(f"REQUIRE_CLIENTS is set, but {reason}")
        self.repository = folder / "repository"
        self.log = folder / "trainer.log"
        self.tools = folder / "tools"
        self.gpus = folder / "gpus"
        self.home = folder / "home"
        self._copy_repository()
        self.tools.mkdir()
        for name, script in STAND_INS.items():
            path = self.tools / name
            path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            path.chmod(0o755)
        # Jobs would work under /builds; a relative folder is the job's own working folder.
        settings = self.home / ".gitlab-ci-local" / "variables.yml"
        settings.parent.mkdir(parents=True)
        settings.write_text("global:\n  CI_PROJECT_DIR: .\n", encoding="utf-8")

    def _copy_repository(self) -> None:
        files = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout.split("\n")  # fmt: skip
        for name in filter(None, files):
            if (ROOT / name).is_file():
                (self.repository / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.repository / name)
        shutil.copytree(REFERENCE, self.repository, dirs_exist_ok=True)
        for command in (
            "init -q -b main",
            "config user.name tester",
            "config user.email tester@example.com",
            "add -A",
            "commit -q -m copy",
            "remote add origin git@gitlab.example.com:team/training.git",
            "update-ref refs/remotes/origin/main HEAD",
            "symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main",
        ):
            subprocess.run(["git", *command.split()], cwd=self.repository, check=True)

    def __call__(
        self,
        *arguments: str,
        gpu: str = "NVIDIA L4",
        gpus: Mapping[str, str] | None = None,
        undefined: Sequence[str] = (),
    ) -> Run:
        """Run it. A job finds the GPU that `gpus` has for its name, else `gpu`.

        `undefined` are variables that it would set by itself and here shall not.
        """
        self.log.unlink(missing_ok=True)
        shutil.rmtree(self.gpus, ignore_errors=True)
        self.gpus.mkdir()
        for job, name in (gpus or {}).items():
            (self.gpus / job).write_text(f"{name}\n", encoding="utf-8")
        path = [str(self.tools), str(Path(sys.executable).parent), os.environ["PATH"]]
        environment = {
            **os.environ,
            "PATH": os.pathsep.join(path),
            "HOME": str(self.home),
            "NO_COLOR": "1",
            "FAKE_GPU": gpu,
            "FAKE_GPUS": str(self.gpus),
            "TRAINER_LOG": str(self.log),
        }
        command = ["timeout", "-s", "KILL", SECONDS, "node", str(CLIENT), *arguments]
        ignored = ("CI_PIPELINE_SOURCE", "CI_PROJECT_DIR", *undefined)
        command += ["--ignore-predefined-vars", ",".join(ignored)]
        done = subprocess.run(
            command, cwd=self.repository, env=environment, capture_output=True, text=True,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        trained = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return Run(
            code=done.returncode,
            stdout=done.stdout,
            output=done.stdout + done.stderr,
            trained=trained,
        )
