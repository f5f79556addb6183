"""A project that nobody has pushed to has no default branch: a branch must be named."""

from __future__ import annotations

import pytest

from tests.gitlab_server import GitLabServer, World

from .conftest import SHIPPED_WITH_PARENT, GitLab


@pytest.mark.parametrize(
    "arguments", [("schedule",), ("trigger",), ("doctor", *SHIPPED_WITH_PARENT)]
)
def test_without_a_default_branch_one_must_be_named(
    arguments: tuple[object, ...], gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    world.project.default_branch = None
    done = gitlab(*arguments)
    assert done.code == 2
    assert "no default branch yet; push one, or name it with --ref" in done.err
    assert {verb for verb, _ in server.requests} == {"GET"}
