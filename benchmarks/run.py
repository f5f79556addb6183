"""`make bench`: how long the generator takes, as ratios to something measured in the same run.

Seconds say as much about the machine as about the program; a ratio holds on any.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import yaml
from tabulate import tabulate

from benchmarks.planning import speed
from benchmarks.workload import Workload, seconds, workload
from gpu_pipeline.checks.child.entry import check_child
from gpu_pipeline.checks.runner import check_runner
from gpu_pipeline.cluster.runner_config import RunnerFile
from gpu_pipeline.cluster.runner_file import read_runner_file
from gpu_pipeline.cluster.runner_settings import runner_toml

Row = tuple[str, str, float]
_SCRIPT = Path(__file__).resolve().parent.parent / "generate_pipeline.py"
_MANY = 1_700


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


def start_up() -> Iterator[Row]:
    """Whole processes, against a Python that does nothing."""
    base = _process("-c", "pass")
    for arguments in (
        ["--help"],
        ["eval", '"a" == "a"'],
        ["check", "--quiet"],
        ["-o", "-"],
        ["plan"],
    ):
        yield " ".join(arguments), "python -c pass", _process(str(_SCRIPT), *arguments) / base


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


def _process(*arguments: str) -> float:
    """The CPU time of a Python process, best of several."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def once() -> float:
        before = used()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
        return used() - before

    return min(once() for _ in range(7))


def main() -> None:
    """Measure everything and print one table."""
    many, twice = workload(_MANY), workload(2 * _MANY)
    rows = [
        *rendering([workload(19), workload(500), many]),
        *evaluating(many),
        *growth(many, twice),
        *speed(workload(_MANY // 10), many, workload(10 * _MANY)),
        *start_up(),
    ]
    print(tabulate(rows, headers=("measured", "against", "ratio"), floatfmt=".2f"))


if __name__ == "__main__":
    main()
