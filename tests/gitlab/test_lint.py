"""`gitlab lint`: what the server says of both files, led back to what to change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.gitlab.lint_places import Spot, spot_of
from tests.conftest import SHIPPED as ROUTING
from tests.gitlab_server import REPORTER, GitLabServer, World

from .conftest import SHIPPED, SHIPPED_WITH_PARENT, GitLab


def line_of(text: str, path: Path = ROUTING) -> int:
    return path.read_text(encoding="utf-8").split("\n").index(text) + 1


def answering(
    errors: list[str], warnings: list[str] = (), *, asked: list[dict[str, Any]] | None = None
) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """A lint that says this of the child, and nothing of the parent."""

    def lint(content: str, options: dict[str, Any]) -> dict[str, Any]:
        if asked is not None:
            asked.append(options)
        is_child = "gpu-route" in content
        found = errors if is_child else []
        return {"valid": not found, "errors": found, "warnings": list(warnings) if is_child else [],
                "merged_yaml": None, "includes": [], "jobs": []}  # fmt: skip

    return lint


def test_both_files_are_sent_to_the_project_and_never_as_a_dry_run(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    asked: list[dict[str, Any]] = []
    world.lint = answering([], asked=asked)
    done = gitlab("lint", *SHIPPED_WITH_PARENT)
    assert done.code == 0, done.err
    assert done.out.endswith("GitLab takes both\n")
    assert [each["dry_run"] for each in asked] == [False, False]
    assert server.asked("POST") == ["/api/v4/projects/7/ci/lint"] * 2


def test_errors_and_warnings_are_lines_with_their_origin(gitlab: GitLab, world: World) -> None:
    world.lint = answering(
        [
            "jobs:hyperopt-dqn:timeout config should be a duration",
            "jobs:hyperopt-tft:image config is bad",
        ],
        ["jobs:train-validate-rl may allow multiple pipelines to run for a single action"],
    )
    done = gitlab("lint", *SHIPPED_WITH_PARENT)
    assert done.code == 1
    first, second, third, summary = done.out.splitlines()
    assert first.startswith("child-pipeline.yml:")
    assert ": error: jobs:hyperopt-dqn:timeout config should be a duration (from " in first
    assert "templates/tasks/hyperopt.yml.j2" in first
    timeout = 'timeout = "12h"'
    assert f"routing.toml:{line_of(timeout)}" in first
    # The image stands in the base, and in the routing's [pipeline].
    assert "templates/bases/train-validate-base.yml.j2" in second
    image = 'image = "${REGISTRY}/training:${CI_COMMIT_SHA}"'
    assert f"routing.toml:{line_of(image)}" in second
    assert ": warning: jobs:train-validate-rl may allow" in third
    assert summary.endswith("2 errors, 1 warning")


def test_the_line_is_the_one_that_render_writes(gitlab: GitLab, world: World) -> None:
    world.lint = answering(["jobs:hyperopt-dqn:timeout config should be a duration"])
    done = gitlab("lint", *SHIPPED_WITH_PARENT, "--format", "json")
    (found,) = json.loads(done.out)
    from gpu_pipeline import cli

    cli.main(["-o", "child.yml", "--quiet", *map(str, SHIPPED), "--source", "push"])
    lines = Path("child.yml").read_text(encoding="utf-8").splitlines()
    assert lines[found["line"] - 1] == '  timeout: "12h"'


def test_a_child_that_was_rendered_is_linted_as_it_stands(gitlab: GitLab, world: World) -> None:
    text = "# gpu-route\nstages: [train]\nodd:\n  script: [x]\n  timeout: soon\n"
    (gitlab.folder / "child.yml").write_text(text, encoding="utf-8")
    world.lint = answering(["jobs:odd:timeout config should be a duration", "nothing we know"])
    done = gitlab("lint", *SHIPPED_WITH_PARENT, "--child", "child.yml")
    assert done.code == 1
    assert done.out.splitlines()[:2] == [
        "child.yml:5: error: jobs:odd:timeout config should be a duration",
        "child.yml: error: nothing we know",
    ]


def test_invalid_without_a_reason_is_an_error(gitlab: GitLab, world: World) -> None:
    world.lint = lambda content, options: {"valid": False, "errors": [], "warnings": []}
    done = gitlab("lint", *SHIPPED_WITH_PARENT)
    assert done.code == 1
    assert done.out.count("does not say why") == 2


def test_an_old_server_is_told_from_a_wrong_file(gitlab: GitLab, server: GitLabServer) -> None:
    server.faults.always("POST", "/ci/lint$", "410")
    done = gitlab("lint", *SHIPPED_WITH_PARENT)
    assert done.code == 4
    assert "since version 16" in done.err


def test_faults_in_every_request_change_nothing(
    gitlab: GitLab, world: World, server: GitLabServer
) -> None:
    server.faults.lose_posts()
    done = gitlab("lint", *SHIPPED_WITH_PARENT)
    assert done.code == 0, done.err


def test_a_role_that_is_too_low_is_named(gitlab: GitLab, world: World) -> None:
    done = gitlab("lint", *SHIPPED_WITH_PARENT, token=world.token(access=REPORTER))
    assert done.code == 4
    assert "linting child-pipeline.yml" in done.err
    assert "this needs Developer" in done.err


def test_a_file_that_is_not_there_is_named(gitlab: GitLab, server: GitLabServer) -> None:
    done = gitlab("lint", *SHIPPED_WITH_PARENT, "--child", "absent.yml")
    assert done.code == 2
    assert "absent.yml: cannot be read" in done.err
    assert not server.requests


TEXT = """\
stages: [train]
variables:
  A: "1"
.base:
  image: x
train:
  extends: .base
  variables:
    B: "2"
train: [a b]:
  script: [x]
train-more:
  script: [x]
"""
FILE = parse_ci_file(TEXT.replace("train: [a b]:", '"train: [a b]":'), "child.yml")


@pytest.mark.parametrize(
    ("message", "spot"),
    [
        ("jobs:train:variables:B is odd", Spot(entry="train", keys=("variables", "B"), line=9)),
        ("jobs:train:image config is odd", Spot(entry="train", keys=("image",), line=6)),
        ("jobs:train-more config is odd", Spot(entry="train-more", line=12)),
        ("jobs:train: [a b] config is odd", Spot(entry="train: [a b]", line=10)),
        ("jobs:.base:image config is odd", Spot(entry=".base", keys=("image",), line=5)),
        ("'train-more' job needs 'nothing' job", Spot(entry="train-more", line=12)),
        ("train-more job: undefined need: x", Spot(entry="train-more", line=12)),
        ("variables:A config is odd", Spot(entry="variables", keys=("A",), line=3)),
        ("(<unknown>): did not find expected key at line 7 column 1", Spot(line=7)),
        ("retraining is odd", Spot()),
        ("", Spot()),
    ],
)  # fmt: skip
def test_a_message_names_its_place(message: str, spot: Spot) -> None:
    assert spot_of(message, FILE) == spot


@pytest.mark.parametrize("message", ["jobs:train config", "", "line 99999999999999999999"])
def test_a_file_that_cannot_be_read_has_only_lines(message: str) -> None:
    assert spot_of(message, None).entry == ""
