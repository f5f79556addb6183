"""Commands that need little start quickly: nobody waits for what they do not use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import ROOT

SLOW = {"gitlab", "jinja2", "msgspec", "re2", "requests", "rich", "shtab", "tabulate", "yaml"}
LOADED = {"msgspec", "re2", "tabulate", "yaml"}  # what reads and shows a routing
SHOW_MODULES = """\
import sys
from gpu_pipeline.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["render", "--help"], set()),
        (["diff", "--help"], set()),
        (["plan", "--help"], set()),
        (["gitlab", "trigger", "--help"], set()),
        (["--version"], set()),
        (["completion", "bash"], {"shtab"}),
        (["init", "--help"], set()),
        (["eval", '"a" == "a"'], {"msgspec", "re2"}),
        (["-o", "-"], {"jinja2", "msgspec", "re2", "yaml"}),
        (["preview"], LOADED),
        (["cluster", "fit"], LOADED),
        (["plan"], LOADED),
        (["diff", "routing.toml"], LOADED),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_loads_only_what_it_needs(arguments: list[str], needed: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, *arguments],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout
    assert set(done.stderr.split()) & SLOW <= needed


def test_rendering_loads_no_reports_no_runner_and_no_other_commands_options() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOW_MODULES, "-o", "-", "--source", "web"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stderr.split())
    assert "gpu_pipeline.render" in loaded
    assert not [name for name in loaded if name.startswith("gpu_pipeline.reports")]
    assert not loaded & {
        "difflib",
        "gpu_pipeline.cluster.runner_config",
        "gpu_pipeline.commands.diff_options",
        "gpu_pipeline.commands.gitlab_options",
        "gpu_pipeline.commands.plan_options",
    }
