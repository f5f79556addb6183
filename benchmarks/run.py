"""`make bench`: how long the generator takes, as ratios to something measured in the same run.

Seconds say as much about the machine as about the program; a ratio holds on any.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import yaml
from tabulate import tabulate

from benchmarks.planning import speed
from benchmarks.process import FLOOR, SCRIPT, cost
from benchmarks.workload import Workload, seconds, workload
from gpu_pipeline.checks.child.entry import check_child
from gpu_pipeline.checks.runner import check_runner
from gpu_pipeline.cluster.runner_config import RunnerFile
from gpu_pipeline.cluster.runner_file import read_runner_file
from gpu_pipeline.cluster.runner_settings import runner_toml

Row = tuple[str, str, float]
_MANY = 1_700
_RUNS = 9
_OTHER = SCRIPT.parent / "examples/single-pool.toml"
_WITH_MSGSPEC = "import jinja2, yaml, msgspec"


def rendering(sizes: Sequence[Workload]) -> Iterator[Row]:
    """Rendering against what any proof of the text must do at least: parse it once."""
    for each in sizes:
        base = seconds(_parsing(each.render()))
        yield f"load {each.count} jobs", "parsing their YAML", seconds(each.load) / base
        yield f"render {each.count} jobs", "parsing their YAML", seconds(each.render) / base


def evaluating(many: Workload) -> Iterator[Row]:
    """The rules of all jobs under all kinds of parent, against rendering the jobs once."""
    base = seconds(many.render)
    what = f"evaluate {many.count} jobs × {len(many.contexts)} contexts"
    yield what, "rendering them", seconds(many.evaluate) / base
    distinct = many.with_own_variables()
    yield f"{what}, no two alike", "rendering them", seconds(distinct.evaluate) / base
    yield f"check_child {many.count} jobs", "rendering them", seconds(_child_check(many)) / base


def growth(many: Workload, twice: Workload) -> Iterator[Row]:
    """Twice the jobs: 2 is linear, 4 quadratic."""
    runner = _runner_file(many)
    for what, once, double in (
        ("load", many.load, twice.load),
        ("render", many.render, twice.render),
        ("evaluate", many.evaluate, twice.evaluate),
        ("check_child", _child_check(many), _child_check(twice)),
        ("check_runner", _runner_check(many, runner), _runner_check(twice, runner)),
    ):
        yield f"{what} {twice.count} jobs", f"{many.count} jobs", seconds(double) / seconds(once)


def start_up(folder: Path) -> Iterator[Row]:
    """Whole processes: against a Python that does nothing, and against what any such tool loads."""
    nothing = cost((sys.executable, "-c", "pass"), runs=_RUNS).seconds
    for arguments in (["--help"], ["eval", '"a" == "a"']):
        needed = cost((sys.executable, SCRIPT, *arguments), runs=_RUNS).seconds
        yield " ".join(arguments), "python -c pass", needed / nothing
    floor = cost(FLOOR, runs=_RUNS).seconds
    for name, command in (
        ("import msgspec as well", (sys.executable, "-c", _WITH_MSGSPEC)),
        ("render", (sys.executable, SCRIPT, "-o", "-")),
        ("render, first run after a clone", (sys.executable, "-B", _clone(folder), "-o", "-")),
        ("preview --all", (sys.executable, SCRIPT, "preview", "--all")),
        ("check --quiet", (sys.executable, SCRIPT, "check", "--quiet")),
        ("plan", (sys.executable, SCRIPT, "plan")),
        ("diff examples/single-pool.toml", (sys.executable, SCRIPT, "diff", _OTHER)),
    ):
        yield name, "import jinja2, yaml", cost(command, runs=_RUNS).seconds / floor


def _clone(folder: Path) -> Path:
    """The script in a copy of the repository in which nothing is compiled yet."""
    root = SCRIPT.parent
    for part in ("gpu_pipeline", "templates"):
        shutil.copytree(root / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(root / "routing.toml", folder)
    return Path(shutil.copy(SCRIPT, folder))


def _parsing(text: str) -> Callable[[], object]:
    return lambda: yaml.load(text, yaml.CSafeLoader)


def _child_check(load: Workload) -> Callable[[], object]:
    text = load.render()
    return lambda: check_child(text, "child.yml")


def _runner_file(load: Workload) -> RunnerFile:
    routed = load.routed
    text = runner_toml(routed.jobs, routed.routing, locate=routed.lines.origin, tags=())
    return read_runner_file(text.encode("utf-8"), "config.toml")


def _runner_check(load: Workload, file: RunnerFile) -> Callable[[], object]:
    routed = load.routed
    return lambda: check_runner(routed.jobs, routed.routing, file, locate=routed.lines.origin)


def main() -> None:
    """Measure everything and print one table."""
    many, twice = workload(_MANY), workload(2 * _MANY)
    rows = [
        *rendering([workload(19), workload(500), many]),
        *evaluating(many),
        *growth(many, twice),
        *speed(workload(_MANY // 10), many, workload(10 * _MANY)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        rows += start_up(Path(folder))
    print(tabulate(rows, headers=("measured", "against", "ratio"), floatfmt=".2f"))


if __name__ == "__main__":
    main()
