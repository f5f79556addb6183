"""Commands that need little start quickly: nobody waits for what they do not use."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .conftest import ROOT

SLOW = {"jinja2", "pydantic", "re2", "tabulate", "yaml"}
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
        (["eval", '"a" == "a"'], {"re2"}),
        (["preview"], SLOW - {"jinja2"}),
        (["cluster", "fit"], SLOW - {"jinja2"}),
        (["diff", "routing.toml"], SLOW - {"jinja2"}),
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
