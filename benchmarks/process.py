"""What a whole process costs: CPU time, and the memory that it needs at its peak."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "generate_pipeline.py"
# What any tool that renders templates to YAML must import.
FLOOR = (sys.executable, "-c", "import jinja2, yaml")
# The generate job of a push to main; neither git nor anybody's own environment is asked.
IN_CI = {
    "CI": "true",
    "GITLAB_CI": "true",
    "CI_PIPELINE_SOURCE": "push",
    "CI_COMMIT_BRANCH": "main",
    "REGISTRY": "registry.example.com/team",
}
# A process begins with the peak of the one that starts it, so a small one has to do that.
_STARTER = """\
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


class FailedError(Exception):
    """A command ended with an exit code that was not expected."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """CPU time in seconds and peak memory in MiB, children included; `code` is how it ended."""

    seconds: float
    mebibytes: float
    code: int = 0


def cost(
    command: Sequence[str | Path],
    *,
    runs: int = 3,
    codes: Sequence[int] = (0,),
    environment: Mapping[str, str] = IN_CI,
    folder: Path | None = None,
) -> Cost:
    """The least that `command` needed in several runs: the others were disturbed.

    `codes` are the exit codes of success, `folder` is where it runs. Raises FailedError for another
    code.
    """
    words = [str(part) for part in command]
    results = [_run(words, codes, environment, folder) for _ in range(runs)]
    return Cost(
        seconds=min(each.seconds for each in results),
        mebibytes=min(each.mebibytes for each in results),
        code=max(each.code for each in results),
    )


def _run(
    command: Sequence[str],
    codes: Sequence[int],
    environment: Mapping[str, str],
    folder: Path | None,
) -> Cost:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", _STARTER, *command],
        env={**kept, **environment},
        cwd=folder,
        capture_output=True,
        check=True,
    )
    code, seconds, mebibytes = json.loads(done.stdout)
    if code not in codes:
        raise FailedError(f"{' '.join(command[:4])} … ended with exit code {code}")
    return Cost(seconds=seconds, mebibytes=mebibytes, code=code)
