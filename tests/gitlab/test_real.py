"""The scenario against a real project: `make e2e`, described in docs/gitlab.md."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import gitlab as python_gitlab
import pytest

from tests.gitlab_server import World

from . import scenario
from .conftest import GitLab
from .process import TOPICS

_NEEDED = ("E2E_SERVER", "E2E_PROJECT", "E2E_TOKEN")
_MISSING = [name for name in _NEEDED if not os.environ.get(name)]

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.timeout(3 * 3600),
    pytest.mark.skipif(
        not os.environ.get("E2E") or bool(_MISSING),
        reason="`make e2e` runs this against a real project: docs/gitlab.md says which variables "
        f"it needs (not set: {', '.join(_MISSING) or 'none'})",
    ),
]


@pytest.fixture
def target(tmp_path: Path) -> Iterator[scenario.Target]:
    """The real project. Whatever the scenario makes there is taken away again."""
    url, number, token = (os.environ[name] for name in _NEEDED)
    world = World()
    world.tokens.clear()
    runner = GitLab(world, SimpleNamespace(url=url), tmp_path)  # type: ignore[arg-type]
    world.tokens[token] = next(iter(world.tokens.values()))
    runner.token, runner.as_users_do = token, set(TOPICS)
    name = f"e2e-{secrets.token_hex(4)}"
    ca_file = os.environ.get("REQUESTS_CA_BUNDLE")
    with python_gitlab.Gitlab(url, private_token=token, ssl_verify=ca_file or True) as client:
        project = client.projects.get(number)
        ref = os.environ.get("E2E_REF") or project.default_branch
        yield scenario.Target(
            gitlab=runner,
            project=number,
            ref=ref,
            description=name,
            run_id=name,
            interval=float(os.environ.get("E2E_INTERVAL", "15")),
            play=tuple(os.environ.get("E2E_PLAY", "").split()),
        )
        for schedule in project.pipelineschedules.list(iterator=True):
            if schedule.description == name:
                schedule.delete()
        for pipeline in project.pipelines.list(per_page=20, page=1, ref=ref, source="api"):
            variables = {each.key: each.value for each in pipeline.variables.list(get_all=True)}
            if variables.get("ROUTE_RUN_ID") == name:
                pipeline.cancel()


def test_a_night_passes_from_end_to_end(target: scenario.Target) -> None:
    scenario.prepare(target)
    scenario.train(target)
    scenario.measure(target)
    if number := os.environ.get("E2E_MERGE_REQUEST"):
        scenario.annotate(target, int(number))
