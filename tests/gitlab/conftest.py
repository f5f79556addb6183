"""The commands of `gitlab` as processes of their own, against the server of tests/gitlab_server."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import REFERENCE, ROOT
from tests.gitlab_server import GitLabServer, World

from .process import SECONDS, run_forked

PARENT = REFERENCE / ".gitlab-ci.yml"
# Options that name the shipped routing, templates and parent, not those that a team has edited.
SHIPPED = (
    "--routing", REFERENCE / "routing.toml", "--templates", REFERENCE / "templates",
)  # fmt: skip
SHIPPED_WITH_PARENT = (*SHIPPED, "--parent", PARENT)


@dataclass(frozen=True)
class Done:
    """A process that ended: its exit code and what it said."""

    code: int
    out: str
    err: str


class GitLab:
    """Runs `gitlab TOPIC …` in an empty folder, with a maintainer's token unless told otherwise.

    Each run is a process of its own. They are forked, which takes a tenth of the time; the first
    run of each of the topics in `as_users_do` is started as a shell would.
    """

    def __init__(self, world: World, server: GitLabServer, folder: Path) -> None:
        self.world = world
        self.server = server
        self.folder = folder
        self.token = world.token()
        self.as_users_do: set[str] = set()

    def __call__(
        self,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        token: str | None = None,
        stdin: str = "",
        server: str | None = None,
        project: str | None = "7",
    ) -> Done:
        """Run it and look for tokens in all it said and wrote; none may show."""
        if arguments[0] in self.as_users_do:
            self.as_users_do.remove(str(arguments[0]))
            with self.start(
                *arguments, environment=environment, token=token, server=server, project=project
            ) as process:
                out, err = process.communicate(stdin.encode(), timeout=SECONDS)
            return self.checked(process.returncode, out, err)
        topic, *further = map(str, arguments)
        command = ["gitlab", topic, *self._connected(further, server, project)]
        settings = self.environment(token, environment)
        with tempfile.TemporaryDirectory() as work:
            return self.checked(*run_forked(command, self.folder, settings, stdin, Path(work)))

    def start(
        self,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        token: str | None = None,
        server: str | None = None,
        project: str | None = "7",
    ) -> subprocess.Popen[bytes]:
        """Start it as a shell would; hand what it said to `checked`."""
        topic, *further = map(str, arguments)
        command = [sys.executable, "-W", "error", str(ROOT / "generate_pipeline.py"), "gitlab"]
        command += [topic, *self._connected(further, server, project)]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment(token, environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def _connected(
        self, arguments: Sequence[str], server: str | None, project: str | None
    ) -> list[str]:
        """The arguments, with the connection where they do not name it; "" names no server."""
        url = self.server.url if server is None else server
        added = ["--server", url] if url and "--server" not in arguments else []
        added += ["--project", project] if project and "--project" not in arguments else []
        return [*arguments, *added]

    def environment(self, token: str | None, more: Mapping[str, str] | None) -> dict[str, str]:
        """Nothing of the machine's own settings; `token` "" sends none."""
        kept = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "COVERAGE_PROCESS_START")
        value = self.token if token is None else token
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.folder),
            **({"GITLAB_TOKEN": value} if value else {}),
            **(more or {}),
        }

    def checked(self, code: int, out: bytes, err: bytes) -> Done:
        """What a process said, once it is certain that no token and no traceback is in it."""
        written = [
            path.read_bytes()
            for path in self.folder.rglob("*")
            if path.is_file() and path.suffix != ".token"
        ]
        for token in self.world.tokens:
            for text in (out, err, *written):
                assert token.encode() not in text, "a token shows"
        done = Done(code, out.decode("utf-8"), err.decode("utf-8"))
        assert "Traceback" not in done.err, done.err
        assert "internal error" not in done.err, done.err
        return done


@pytest.fixture
def world() -> World:
    """A world to fill."""
    return World()


@pytest.fixture
def server(world: World) -> Iterator[GitLabServer]:
    """It, served."""
    with GitLabServer(world) as running:
        yield running


@pytest.fixture
def gitlab(world: World, server: GitLabServer, tmp_path: Path) -> GitLab:
    """Runs commands against it."""
    return GitLab(world, server, tmp_path)
