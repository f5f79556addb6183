"""Examples of findings: a file, what it is checked with, and what is found.

Comments say what belongs to it: `# routing: FILE` (default: the shipped one), `# runner: FILE`,
`# options: …`; `# expect: CODE LINE` lists the findings, save notes that are not the point. A RUN
file is a runner's configuration, a FIT file a routing.
"""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.commands.cluster import runner_findings
from gpu_pipeline.commands.cluster_options import add_runner_arguments
from gpu_pipeline.loading import load_routing

from ..conftest import ROOT, SHIPPED, TEMPLATES

FINDINGS = ROOT / "tests" / "findings"


def comments(path: Path, name: str) -> list[str]:
    """What the comments `# name: …` of a file say."""
    return re.findall(rf"^# {name}: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)


def check(routing: Path, *options: str | Path) -> list[Finding]:
    """The findings of `check` about a routing and, with `--runner FILE`, a runner."""
    parser = argparse.ArgumentParser()
    add_runner_arguments(parser)
    parsed = parser.parse_args([str(option) for option in options])
    return runner_findings(load_routing(routing, TEMPLATES), parsed)


def findings_of(path: Path) -> list[Finding]:
    """The findings of an example's own kind; what is said of its routing has lines of that."""
    options = [part for line in comments(path, "options") for part in shlex.split(line)]
    if path.parent.name.startswith("RUN"):
        routing = next((ROOT / file for file in comments(path, "routing")), SHIPPED)
        found = check(routing, "--runner", path, *options)
        return [each for each in found if each.code.startswith("RUN")]
    runner = [
        part for file in comments(path, "runner") for part in ("--runner", path.parent / file)
    ]
    found = check(path, *runner, *options)
    return [each for each in found if each.code.startswith("FIT")]
