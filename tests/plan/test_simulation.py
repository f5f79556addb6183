"""Small runs that can be reckoned by hand."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from benchmarks.instances import figure, job, pool
from gpu_pipeline.plan.model import PlannedJob, PlannedPool, Reason, Run, Schedule, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import summarise

START = 900.0  # boot 600 s and image pull 300 s


def play(
    *jobs: PlannedJob, concurrency: int = 2, max_nodes: int = 1, **changes: object
) -> Schedule:
    made = replace(pool("p", concurrency=concurrency, max_nodes=max_nodes), **changes)  # type: ignore[arg-type]
    return simulate(Workload(jobs=jobs, pools={"p": made}))


def spans(schedule: Schedule) -> dict[str, tuple[float, float]]:
    return {run.job.name: (run.start - START, run.end - START) for run in schedule.runs}


def only(schedule: Schedule, name: str) -> Run:
    return next(run for run in schedule.runs if run.job.name == name)


def test_a_job_waits_for_the_node_and_its_image() -> None:
    run = play(job("a", "p", 100, 0.5)).runs[0]
    assert (run.start, run.end) == (START, START + 100)
    assert [(wait.reason, wait.end) for wait in run.waits] == [(Reason.BOOT, START)]


@pytest.mark.parametrize(
    ("shares", "end"),
    [
        ((0.5, 0.5), 100),  # together exactly a GPU: nobody is slowed down
        ((0.34, 0.34), 100),
        ((1.0, 1.0), 200),  # two whole GPUs of work on one
        ((0.9, 0.6), 150),  # each at 1/1.5 of its speed
    ],
)
def test_jobs_on_one_gpu_share_it(shares: tuple[float, float], end: float) -> None:
    found = spans(play(job("a", "p", 100, shares[0]), job("b", "p", 100, shares[1])))
    assert found == {"a": (0, pytest.approx(end)), "b": (0, pytest.approx(end))}


def test_a_job_runs_faster_once_the_other_is_done() -> None:
    """Both at half speed until b's 100 s are done after 200; a has 100 s left, now alone."""
    found = spans(play(job("a", "p", 200, 1.0), job("b", "p", 100, 1.0)))
    assert found["b"] == (0, pytest.approx(200))
    assert found["a"] == (0, pytest.approx(300))


def test_jobs_share_the_cores_of_a_node_in_the_same_way() -> None:
    busy = replace(job("a", "p", 100, 0.1), cpu=figure(6.0))
    found = spans(play(busy, replace(busy, name="b")))  # 12 cores asked of 8
    assert found["a"] == (0, pytest.approx(150))


def test_two_gpus_of_a_node_are_not_shared_while_there_is_a_free_one() -> None:
    found = spans(play(job("a", "p", 100, 1.0), job("b", "p", 100, 1.0), gpus=2))
    assert found["a"] == found["b"] == (0, pytest.approx(100))


def test_a_resource_group_lets_one_job_run_at_a_time() -> None:
    jobs = [replace(job(name, "p", 100, 0.1), group="p/1") for name in "ab"]
    schedule = play(*jobs)
    assert spans(schedule) == {"a": (0, 100), "b": (100, 200)}
    assert [wait.reason for wait in only(schedule, "b").waits] == [Reason.GROUP]


def test_pods_without_a_group_wait_for_a_slot_of_the_node() -> None:
    schedule = play(*(job(name, "p", 100, 0.1) for name in "abc"))
    assert spans(schedule)["c"] == (100, 200)
    waits = only(schedule, "c").waits
    assert [(wait.reason, wait.end - wait.start) for wait in waits] == [
        (Reason.BOOT, START),
        (Reason.SLOT, 100),
    ]
    assert only(schedule, "c").hopeless is None, "100 s are less than the runner waits"


def test_a_pod_that_is_pending_for_too_long_is_said() -> None:
    schedule = play(*(job(name, "p", 200, 0.1) for name in "abc"))
    assert [run.job.name for run in summarise(schedule).hopeless] == ["c"]


def test_equal_requests_fit_exactly_and_a_millicore_more_does_not() -> None:
    half = replace(job("a", "p", 100, 0.1), requests=(4000, 0, 0))
    assert spans(play(half, replace(half, name="b")))["b"] == (0, 100)
    more = replace(half, name="b", requests=(4001, 0, 0))
    schedule = play(half, more)
    assert spans(schedule)["b"] == (100, 200)
    assert only(schedule, "b").waits[-1].reason is Reason.CPU


def test_a_small_pod_passes_one_that_does_not_fit_yet() -> None:
    large = replace(job("large", "p", 100, 0.1), requests=(6000, 0, 0))
    small = job("small", "p", 100, 0.1)
    found = spans(play(large, replace(large, name="second"), small, concurrency=3))
    assert found["small"][0] == 0
    assert found["second"][0] == 100


def test_a_pod_that_fits_no_node_never_starts_nor_does_what_needs_it() -> None:
    huge = replace(job("huge", "p", 100, 0.1), requests=(9000, 0, 0), group="p/1")
    after = replace(job("after", "p", 100, 0.1), needs=("huge",))
    last = replace(job("last", "p", 100, 0.1), needs=("after",))
    behind = replace(job("behind", "p", 100, 0.1), group="p/1")
    schedule = play(huge, after, last, behind)
    assert [stuck.job.name for stuck in schedule.stuck] == ["huge", "after", "last"]
    assert "CPU" in schedule.stuck[0].why
    assert [run.job.name for run in schedule.runs] == ["behind"], "its group is free again"


def test_a_needed_job_comes_first_and_a_delay_counts_from_its_end() -> None:
    first = job("first", "p", 100, 0.1)
    second = replace(job("second", "p", 100, 0.1), needs=("first",), delay=50)
    schedule = play(second, first)
    assert spans(schedule)["second"] == (150, 250)
    reasons = [wait.reason for wait in only(schedule, "second").waits]
    assert reasons == [Reason.NEEDS, Reason.DELAY]


def test_the_runner_takes_no_more_than_it_may() -> None:
    jobs = [replace(job(name, "p", 100, 0.1), runner="r") for name in "abc"]
    only_pool = pool("p", concurrency=3, max_nodes=1)
    for limits in ({"": 1}, {"r": 1}, {"r": 2, "": 1}):
        schedule = simulate(Workload(jobs=tuple(jobs), pools={"p": only_pool}, limits=limits))
        assert spans(schedule) == {"a": (0, 100), "b": (100, 200), "c": (200, 300)}
        assert only(schedule, "b").waits[-1].reason is Reason.RUNNER


def lives(schedule: Schedule) -> list[tuple[float, float]]:
    return [(node.created, node.removed) for node in schedule.nodes]


def test_a_node_is_paid_from_its_creation_until_it_was_idle_for_long_enough() -> None:
    schedule = play(job("a", "p", 100, 0.5))
    assert lives(schedule) == [(0, START + 100 + 600)]
    use = summarise(schedule).pools[0]
    assert (use.booting, use.busy, use.idle) == (START, 100, 600)
    assert use.cost == pytest.approx((START + 700) / 3600 * 1.47)
    assert use.gpu_busy == pytest.approx(0.5)


def test_a_node_that_is_used_again_in_time_stays() -> None:
    first = job("first", "p", 100, 0.1)
    for delay, nodes in ((500, 1), (700, 2)):
        second = replace(job("second", "p", 100, 0.1), needs=("first",), delay=delay)
        assert len(play(first, second).nodes) == nodes, delay


def test_nodes_that_are_always_there_need_no_boot_and_are_paid_until_the_end() -> None:
    schedule = play(job("a", "p", 100, 0.1), min_nodes=1)
    assert schedule.runs[0].start == 300, "the image is pulled all the same"
    assert lives(schedule) == [(0, 400)]


def test_from_zero_the_autoscaler_sees_the_real_gpus_only() -> None:
    """Three small jobs would fit on one node, and yet a node is made for each."""
    jobs = [job(name, "p", 100, 0.1) for name in "abc"]
    assert len(play(*jobs, concurrency=4, max_nodes=3).nodes) == 3
    assert len(play(*jobs, concurrency=4, max_nodes=1).nodes) == 1


def test_nodes_are_made_only_as_far_as_the_pool_allows() -> None:
    jobs = [job(f"j{n}", "p", 100, 0.1) for n in range(9)]
    schedule = play(*jobs, concurrency=2, max_nodes=2)
    assert len(schedule.nodes) == 2
    assert schedule.makespan == START + 300


def test_the_timeout_counts_from_when_the_runner_takes_the_job() -> None:
    run = play(replace(job("a", "p", 100, 0.1), timeout=999)).runs[0]
    assert run.is_late, "900 s of waiting for the node and 100 s of work"
    assert not play(replace(job("a", "p", 100, 0.1), timeout=1000)).runs[0].is_late


def test_nothing_to_plan_takes_no_time() -> None:
    schedule = simulate(Workload(jobs=(), pools={}))
    assert (schedule.makespan, schedule.nodes) == (0, ())
    assert summarise(schedule).bound is None


def test_a_pool_without_a_price_has_no_cost_and_the_plan_none_either() -> None:
    schedule = play(job("a", "p", 100, 0.5), price=None)
    plan = summarise(schedule)
    assert plan.pools[0].cost is None
    assert plan.cost is None


def test_the_type_of_a_pool_is_kept(shipped: Workload) -> None:
    assert all(isinstance(each, PlannedPool) for each in shipped.pools.values())
    assert {each.speed for each in shipped.pools.values()} == {0.35, 1.0}
