"""How many requests the commands make: as many as docs/gitlab.md says."""

from __future__ import annotations

import pytest

from tests.gitlab_server import GitLabServer, World

from .conftest import SHIPPED_WITH_PARENT, GitLab
from .test_night import make_ready


# doctor: ten, one for each of two sets of tags, one for the runner, two for the schedule.
@pytest.mark.parametrize(
    ("command", "number"),
    [
        (("doctor", *SHIPPED_WITH_PARENT), 10 + 2 + 1 + 2),
        (("lint", *SHIPPED_WITH_PARENT), 2),
        (("trigger",), 3),
        (("trigger", "--ref", "main"), 2),
        (("schedule", "--dry-run"), 3),
        (("note", "--merge-request", "12", "--body-file", "-"), 2),
    ],
    ids=lambda value: " ".join(map(str, value[:1])) if isinstance(value, tuple) else "",
)
def test_a_command_makes_few_requests(
    command: tuple[object, ...], number: int, gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    make_ready(world)
    world.add_schedule(variables={"TRAIN_VALIDATE": "true"})
    gitlab(*command, stdin="x")
    assert len(server.requests) == number, server.requests
