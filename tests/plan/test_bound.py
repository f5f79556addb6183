"""What each part of the lower bound says, in cases where it is the highest."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from benchmarks.instances import figure, job, pool
from gpu_pipeline.plan.bound import Limit, lower_bound
from gpu_pipeline.plan.model import PlannedJob, Workload

START = 900.0


def bound_of(*jobs: PlannedJob, concurrency: int = 2, **limits: int) -> tuple[Limit, float]:
    made = pool("p", concurrency=concurrency, max_nodes=1)
    found = lower_bound(Workload(jobs=jobs, pools={"p": made}, limits=limits))
    assert found is not None
    return found.limit, found.seconds - START


def jobs(*seconds: float, share: float = 0.1) -> list[PlannedJob]:
    return [job(f"j{n}", "p", each, share) for n, each in enumerate(seconds)]


def test_the_longest_job() -> None:
    assert bound_of(*jobs(500, 100)) == (Limit.LONGEST, 500)


def test_work_over_slots() -> None:
    assert bound_of(*jobs(100, 100, 100, 100, 100, 100)) == (Limit.SLOTS, 300)


def test_the_jobs_that_must_share_a_slot() -> None:
    assert bound_of(*jobs(300, 300, 290)) == (Limit.PAIR, 590)


def test_gpu_work() -> None:
    assert bound_of(*jobs(100, 100, 100, share=0.9), concurrency=3) == (
        Limit.GPU,
        pytest.approx(270),
    )


def test_cpu_work() -> None:
    busy = [replace(each, cpu=figure(8)) for each in jobs(100, 100)]
    assert bound_of(*busy) == (Limit.CPU, 200)


def test_requests_that_let_only_one_pod_fit() -> None:
    large = [replace(each, requests=(6000, 0, 0)) for each in jobs(100, 100)]
    assert bound_of(*large) == (Limit.CPU_REQUESTS, 150)


def test_a_chain_of_needs() -> None:
    first, second, third = jobs(100, 100, 100)
    chain = (third, replace(second, needs=("j0",)), first)
    chain = (replace(chain[0], needs=("j1",), delay=20.0), *chain[1:])
    assert bound_of(*chain) == (Limit.CHAIN, 320)


def test_the_limit_of_the_runner() -> None:
    mine = [replace(each, runner="r") for each in jobs(100, 100, 100)]
    assert bound_of(*mine, concurrency=3, r=1) == (Limit.RUNNER, 300)


def test_a_longer_chain_than_python_recurses() -> None:
    made = jobs(*[1.0] * 3000)
    chain = [replace(each, needs=(f"j{n - 1}",) if n else ()) for n, each in enumerate(made)]
    assert bound_of(*chain) == (Limit.CHAIN, 3000)
