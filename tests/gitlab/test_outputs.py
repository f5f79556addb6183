"""`-o` and `--junit` of the topics of `gitlab`: no input is overwritten."""

from __future__ import annotations

import shutil

import pytest

from tests.gitlab_server import GitLabServer

from .conftest import PARENT, REFERENCE, GitLab
from .nights import CHILD

INPUTS = ("--routing", "routing.toml", "--templates", REFERENCE / "templates")
FILES = ("--parent", "parent.yml")
CHOOSE = "this is an input; choose another file"


@pytest.fixture
def files(gitlab: GitLab) -> dict[str, bytes]:
    """Copies of the inputs in the folder of the commands."""
    shutil.copy(REFERENCE / "routing.toml", gitlab.folder / "routing.toml")
    shutil.copy(PARENT, gitlab.folder / "parent.yml")
    shutil.copy(CHILD, gitlab.folder / "child.yml")
    (gitlab.folder / "my.token").write_text(gitlab.token, encoding="utf-8")
    return {path.name: path.read_bytes() for path in gitlab.folder.iterdir()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("history", *INPUTS, "-o", "routing.toml"), f"-o routing.toml: {CHOOSE}"),
        (("history", *INPUTS, "-o", "-"), "-o -: the cache stands beside it; name a file"),
        (("verify", 1, *INPUTS, "-o", "./routing.toml"), CHOOSE),
        (("verify", 1, *INPUTS, "--child", "child.yml", "-o", "child.yml"), CHOOSE),
        (("verify", 1, *INPUTS, "--junit", "routing.toml"), f"--junit routing.toml: {CHOOSE}"),
        (("verify", 1, *INPUTS, "--junit", "a.xml", "-o", "a.xml"), "-o writes there as well"),
        (("doctor", *INPUTS, *FILES, "-o", "parent.yml"), CHOOSE),
        (("doctor", *INPUTS, *FILES, "--token-file", "my.token", "-o", "my.token"), CHOOSE),
        (("lint", *INPUTS, *FILES, "--child", "child.yml", "-o", "child.yml"), CHOOSE),
    ],
)
def test_no_input_is_overwritten(
    arguments: tuple[object, ...],
    said: str,
    gitlab: GitLab,
    server: GitLabServer,
    files: dict[str, bytes],
) -> None:
    done = gitlab(*arguments)
    assert done.code == 2
    assert said in done.err
    assert not server.requests
    assert {path.name: path.read_bytes() for path in gitlab.folder.iterdir()} == files
