"""What docs/gitlab.md shows is what the commands take."""

from __future__ import annotations

import re
import shlex

import pytest

from gpu_pipeline import cli
from gpu_pipeline.commands.gitlab_options import _TOPICS
from gpu_pipeline.commands.help import EXAMPLES
from tests.conftest import ROOT

GUIDE = (ROOT / "docs/gitlab.md").read_text(encoding="utf-8")
SHOWN = re.findall(
    r"^\.venv/bin/python generate_pipeline\.py (gitlab .*?)\s*(?:#.*)?$", GUIDE, re.MULTILINE
)
SHOWN_BY_HELP = [
    f"{command} {example}"
    for command, examples in EXAMPLES.items()
    if command.startswith("gitlab ")
    for example in examples
]


@pytest.mark.parametrize("line", [*SHOWN, *SHOWN_BY_HELP])
def test_every_command_that_is_shown_is_understood(line: str) -> None:
    words = shlex.split(line)
    assert cli._parse(words).topic == words[1]


def test_the_guide_shows_every_topic() -> None:
    assert {line.split()[1] for line in SHOWN} == set(_TOPICS)


def test_the_guide_names_every_option() -> None:
    """Those that have a section of their own here; the others are described by their help."""
    for name in ("--token-file", "--ca-file", "--deadline", "--run-id", "--no-variables", "--play",
                 "--wait", "--timeout", "--dry-run", "--inactive", "--description", "--key",
                 "--merge-request", "--body-file", "--schedule", "--child"):  # fmt: skip
        assert name in GUIDE, name
