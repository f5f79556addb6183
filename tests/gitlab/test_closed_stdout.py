"""Where stdout is closed (`>&-`) what happened is still said, and nothing breaks down."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import REFERENCE, ROOT
from tests.gitlab_server import World

from .conftest import Done, GitLab
from .nights import night

INPUTS = ("--routing", REFERENCE / "routing.toml", "--templates", REFERENCE / "templates")


def without_stdout(gitlab: GitLab, *arguments: object) -> Done:
    command = [sys.executable, str(ROOT / "generate_pipeline.py"), "gitlab", *map(str, arguments)]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command, "--server", gitlab.server.url,
         "--project", "7"],
        cwd=gitlab.folder, env=gitlab.environment(None, None), capture_output=True, check=False,
    )  # fmt: skip
    return gitlab.checked(done.returncode, done.stdout, done.stderr)


def test_watch_says_so(gitlab: GitLab, world: World) -> None:
    parent, _ = night(world)
    done = without_stdout(gitlab, "watch", parent.id, *INPUTS)
    assert (done.code, done.err.splitlines()[-1]) == (2, "error: stdout is closed")


def test_trigger_has_said_what_it_started(gitlab: GitLab, world: World) -> None:
    done = without_stdout(gitlab, "trigger")
    (pipeline,) = world.pipelines.values()
    assert done.code == 2
    assert f"started pipeline {pipeline.id}: https://gitlab.example.com/" in done.err
    assert "-o FILE" not in done.err


def test_a_report_can_go_to_a_file(gitlab: GitLab, world: World) -> None:
    parent, _ = night(world)
    done = without_stdout(gitlab, "verify", parent.id, *INPUTS)
    assert done.err.splitlines()[-1] == "error: stdout is closed; `-o FILE` writes to a file"
