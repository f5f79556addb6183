"""`make bench-peers`: whole processes at growing sizes, next to other tools and to each other.

gcip (PyPI) writes the same jobs; gitlab-ci-local (npm) lists them. Who is absent is left out, with
the reason. What gcip wrote is compared with ours before its time counts.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tabulate import tabulate

from benchmarks.process import FLOOR, SCRIPT, Cost, FailedError, cost
from benchmarks.workload import TEMPLATES, Workload, workload

Row = tuple[str, str, float, float | None]
_SIZES = (19, 134, 500, 1_700)
_GROWTH = (100, 900, 1_700)
_GCIP = os.environ.get("GCIP_PYTHON", "")
_GCIP_SCRIPT = Path(__file__).resolve().parent / "gcip_jobs.py"
_CLIENT = SCRIPT.parent / "tests/clients/node_modules/.bin/gitlab-ci-local"
# Of `workflow`, `variables` and a job's keys, what gcip 9.2 has no way to say.
_NOT_IN_GCIP = ("interruptible",)
# A peer is given up after so many seconds, or when it wants more memory: gcip's grows with the
# square of the jobs.
_LIMIT = "1800"
_MEMORY_GIB = int(os.environ.get("PEER_MEMORY_GIB", "2"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A routing of some size on disk, and the child that is rendered from it."""

    jobs: int
    routing: Path
    other: Path
    child: Path

    def command(self, *arguments: str | Path) -> tuple[str | Path, ...]:
        """One of ours, as a whole process."""
        inputs = ("--routing", self.routing, "--templates", TEMPLATES)
        return (sys.executable, SCRIPT, *arguments, *inputs)


def make_case(folder: Path, jobs: int) -> Case:
    """Write what is measured at one size."""
    load: Workload = workload(jobs)
    case = Case(
        jobs=load.count,
        routing=folder / f"{jobs}.toml",
        other=folder / f"{jobs}-other.toml",
        child=folder / f"{jobs}.yml",
    )
    case.routing.write_bytes(load.data)
    case.other.write_bytes(load.data.replace(b"epochs = 15", b"epochs = 12"))
    case.child.write_text(load.render(), encoding="utf-8")
    return case


def own_commands(case: Case) -> dict[str, tuple[str | Path, ...]]:
    """What is measured of ours."""
    return {
        "render": case.command("render", "-o", "-"),
        "check": case.command("check", "--quiet"),
        "preview --all": case.command("preview", "--all"),
        "plan": case.command("plan"),
        "diff": case.command("diff", case.other),
    }


def beside_peers(cases: Sequence[Case], folder: Path) -> Iterator[Row]:
    """Each peer against our rendering of the same jobs; more than 1 is how much slower it is."""
    for case in cases:
        ours = cost(own_commands(case)["render"])
        if not _missing_gcip():
            theirs = _gcip(case, folder)
            tail = "" if theirs.code == 0 else f", given up at {_MEMORY_GIB} GiB"
            yield f"gcip writes {case.jobs} jobs{tail}", "render", *_ratios(theirs, ours)
        if not _missing_client():
            theirs = _list(case, folder)
            yield f"gitlab-ci-local lists {case.jobs} jobs", "render", *_ratios(theirs, ours)


def beside_rendering(cases: Sequence[Case]) -> Iterator[Row]:
    """Our other commands against rendering the same jobs, and rendering against the floor."""
    floor = cost(FLOOR, runs=9)
    for case in cases:
        commands = own_commands(case)
        ours = cost(commands.pop("render"), runs=5)
        yield f"render {case.jobs} jobs", "import jinja2, yaml", *_ratios(ours, floor)
        for name, command in commands.items():
            yield f"{name} {case.jobs} jobs", "render", *_ratios(cost(command), ours)


def growth(few: Case, some: Case, many: Case) -> Iterator[Row]:
    """What the second 800 jobs add against the first 800: 1 is linear, 2 or more quadratic."""
    for name in own_commands(few):
        first, second, third = (cost(own_commands(each)[name]) for each in (few, some, many))
        time = (third.seconds - second.seconds) / (second.seconds - first.seconds)
        memory = third.mebibytes / first.mebibytes
        yield f"{name}: {some.jobs} → {many.jobs}", f"{few.jobs} → {some.jobs}", time, memory


def _ratios(one: Cost, other: Cost) -> tuple[float, float]:
    return one.seconds / other.seconds, one.mebibytes / other.mebibytes


def _gcip(case: Case, folder: Path) -> Cost:
    """What gcip needs, after a look at what it wrote. Large ones run once: they take minutes."""
    jobs, written = folder / "jobs.json", folder / "gcip.yml"
    document = yaml.load(case.child.read_text(encoding="utf-8"), yaml.CSafeLoader)
    wanted = resolved(document)
    jobs.write_text(json.dumps({"workflow": document["workflow"], "jobs": wanted}), "utf-8")
    limited = f'ulimit -v {_MEMORY_GIB * 2**20}; exec "$@"'
    command = ("timeout", "-s", "KILL", _LIMIT, "sh", "-c", limited, "sh")
    needed = cost(
        (*command, _GCIP, _GCIP_SCRIPT, jobs, written),
        runs=3 if case.jobs < 200 else 1,
        codes=(0, 1),
        environment={},
    )
    if needed.code and needed.mebibytes < _MEMORY_GIB * 2**9:  # far from the bound: not memory
        raise FailedError(f"gcip failed with {case.jobs} jobs")
    if needed.code:
        return needed
    found = yaml.load(written.read_text(encoding="utf-8"), yaml.CSafeLoader)
    if differing := differences(wanted, found):
        raise SystemExit(f"gcip did not write the same jobs: {', '.join(differing[:5])}")
    return needed


def resolved(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The visible jobs with `extends` worked out, in the keys that gcip has.

    It has no before_script: the commands come first in the script.
    """
    jobs = {}
    for name, own in document.items():
        if isinstance(own, dict) and "extends" in own:
            job = _merged(document[own["extends"]], own)
            job["script"] = [*job.pop("before_script"), *job["script"]]
            jobs[name] = {
                key: value for key, value in job.items() if key not in ("extends", *_NOT_IN_GCIP)
            }
    return jobs


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """As `extends` does: mappings are merged, anything else is replaced."""
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        both = isinstance(value, dict) and isinstance(below, dict)
        merged[key] = _merged(below, value) if both else value
    return merged


def differences(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Where what gcip wrote differs, apart from what it always does.

    It ends a job's name with its stage, writes an image as a mapping, names the artifacts, and
    drops the slash at the end of a path.
    """
    differing = sorted(found.keys() - {f"{n}-{job['stage']}" for n, job in wanted.items()})
    differing = [name for name in differing if name not in ("workflow", "stages")]
    for name, job in wanted.items():
        theirs = dict(found.get(f"{name}-{job['stage']}", {}))
        theirs["image"] = theirs.get("image", {}).get("name")
        theirs["artifacts"] = {k: v for k, v in theirs.get("artifacts", {}).items() if k != "name"}
        paths = [path.rstrip("/") for path in job["artifacts"]["paths"]]
        ours = {**job, "artifacts": {**job["artifacts"], "paths": paths}}
        differing += [
            f"{name}:{key}"
            for key in dict.fromkeys([*ours, *theirs])
            if ours.get(key) != theirs.get(key)
        ]
    return differing


def _list(case: Case, folder: Path) -> Cost:
    """What gitlab-ci-local needs to list the jobs of the child, in a folder of its own."""
    place = folder / f"list-{case.jobs}"
    place.mkdir(exist_ok=True)
    shutil.copyfile(case.child, place / "child.yml")
    arguments = ("--file", "child.yml", "--list-json")
    command = ("timeout", "-s", "KILL", _LIMIT, "node", _CLIENT.resolve(), *arguments)
    return cost(command, runs=2 if case.jobs < 1_000 else 1, environment={}, folder=place)


def _missing_gcip() -> str:
    if not _GCIP:
        return "GCIP_PYTHON does not name a Python that has gcip (make bench-peers sets one up)"
    if shutil.which(_GCIP) is None:
        return f"{_GCIP} is absent"
    done = subprocess.run([_GCIP, "-c", "import gcip"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"{_GCIP} has no gcip"


def _missing_client() -> str:
    for tool in ("node", "timeout"):
        if shutil.which(tool) is None:
            return f"{tool} is absent"
    return "" if _CLIENT.exists() else "gitlab-ci-local is not installed (make test installs it)"


def main() -> None:
    """Measure everything and print one table."""
    for peer, reason in (("gcip", _missing_gcip()), ("gitlab-ci-local", _missing_client())):
        if reason:
            print(f"{peer} is left out: {reason}", file=sys.stderr)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [make_case(folder, jobs) for jobs in _SIZES]
        few, some, many = (make_case(folder, jobs) for jobs in _GROWTH)
        rows: list[Row] = []
        for row in itertools.chain(
            beside_rendering(cases), beside_peers(cases, folder), growth(few, some, many)
        ):
            print(*row, sep=" | ", file=sys.stderr)  # some take minutes
            rows.append(row)
    headers = ("measured", "against", "CPU time", "peak memory")
    print(tabulate(rows, headers=headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
