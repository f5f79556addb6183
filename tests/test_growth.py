"""Twice the jobs take about twice the time. Growth is asserted, never seconds."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator

import pytest

from benchmarks.workload import Workload, workload
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.reports.rules import matrix

FEW, MANY = 600, 1200


@pytest.fixture(autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    """Its runs come when they come, and would be counted for whoever is measured just then."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def few() -> Workload:
    return workload(FEW)


@pytest.fixture(scope="module")
def many() -> Workload:
    return workload(MANY)


def preview(load: Workload) -> str:
    return matrix([outcome_of(load.child, context) for context in load.contexts], "text")


@pytest.mark.parametrize(
    "work",
    [
        Workload.load,
        Workload.render,
        Workload.evaluate,
        lambda load: load.with_own_variables().evaluate(),
        preview,
    ],
    ids=["load", "render", "evaluate", "evaluate jobs of which no two are alike", "preview --all"],
)
def test_twice_the_jobs_cost_less_than_three_times_as_much(
    work: Callable[[Workload], object], few: Workload, many: Workload
) -> None:
    assert costs_less(lambda: work(many), 3, lambda: work(few))


def costs_less(one: Callable[[], object], times: float, other: Callable[[], object]) -> bool:
    """Whether one costs less than some times the other: the best of three runs, or of ten.

    On a machine that has much else to do three may all be disturbed.
    """
    ones, others = [], []
    for number in range(1, 11):
        ones.append(cpu_time(one))
        others.append(cpu_time(other))
        if number >= 3 and min(ones) < times * min(others):
            return True
    return False


def cpu_time(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def test_evaluating_under_every_parent_costs_less_than_rendering_once(many: Workload) -> None:
    assert costs_less(many.evaluate, 1, many.render)
