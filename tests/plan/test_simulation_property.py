"""What holds for every run, whatever jobs, pools, groups, needs and limits there are."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.instances import figure, job, pool
from gpu_pipeline.plan.bound import lower_bound
from gpu_pipeline.plan.model import PlannedPool, Run, Schedule, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import summarise
from tests.effort import examples

NEAR = 1e-6
FEWER = settings(max_examples=examples(25))


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    pools: dict[str, PlannedPool] = {}
    for name in ["p", "q"][: draw(st.integers(1, 2))]:
        most = draw(st.integers(1, 3))
        pools[name] = replace(
            pool(name, concurrency=draw(st.integers(1, 4)), max_nodes=most),
            gpus=draw(st.integers(1, 2)),
            min_nodes=draw(st.integers(0, most)),
            idle=figure(draw(st.sampled_from([1.0, 60.0, 5000.0]))),
            allocatable=draw(st.sampled_from([(8000, 10**10, None), (None, None, None)])),
        )
    jobs = []
    for number in range(draw(st.integers(0, 14))):
        name = draw(st.sampled_from(sorted(pools)))
        group = draw(st.none() | st.integers(1, 3))
        earlier = [each.name for each in jobs]
        made = job(
            f"j{number}", name,
            draw(st.floats(1, 5000)), draw(st.floats(0.01, 1)),
        )  # fmt: skip
        jobs.append(
            replace(
                made,
                group=None if group is None else f"{name}/{group}",
                cpu=figure(draw(st.sampled_from([0.0, 1.0, 6.5]))),
                requests=(draw(st.sampled_from([0, 1000, 3000, 8000])), 10**9, 0),
                delay=draw(st.sampled_from([0.0, 0.0, 300.0])),
                needs=tuple(draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True)))
                if earlier
                else (),
                runner=draw(st.sampled_from(["", "r"])),
            )
        )
    limits = draw(st.dictionaries(st.sampled_from(["", "r"]), st.integers(1, 4)))
    order = draw(st.permutations(jobs))
    return Workload(jobs=tuple(order), pools=pools, limits=limits)


def overlapping(runs: list[Run]) -> list[list[Run]]:
    """The jobs that run at the instant just after each start."""
    return [
        [each for each in runs if each.start <= run.start + NEAR and each.end > run.start + NEAR]
        for run in runs
    ]


@FEWER
@given(workloads())
def test_every_job_runs_once(workload: Workload) -> None:
    schedule = simulate(workload)
    assert Counter(run.job.name for run in schedule.runs) == Counter(
        each.name for each in workload.jobs
    )
    assert not schedule.stuck


@FEWER
@given(workloads())
def test_no_node_holds_more_than_it_has(workload: Workload) -> None:
    schedule = simulate(workload)
    nodes: dict[tuple[str, int], list[Run]] = defaultdict(list)
    for run in schedule.runs:
        nodes[run.job.pool, run.node].append(run)
    for (name, _), runs in nodes.items():
        settings = workload.pools[name]
        for together in overlapping(runs):
            assert len(together) <= settings.concurrency
            assert len({run.slot for run in together}) == len(together)
            assert all(1 <= run.slot <= settings.concurrency for run in together)
            for i, amount in enumerate(settings.allocatable):
                assert amount is None or sum(run.job.requests[i] for run in together) <= amount


@FEWER
@given(workloads())
def test_groups_needs_delays_and_limits_are_kept(workload: Workload) -> None:
    schedule = simulate(workload)
    ended = {run.job.name: run.end for run in schedule.runs}
    for run in schedule.runs:
        for needed in run.job.needs:
            assert run.start + NEAR >= ended[needed] + run.job.delay
        assert run.start + NEAR >= run.job.delay
    for run in schedule.runs:
        at_once = [
            each
            for each in schedule.runs
            if each.picked <= run.picked + NEAR and each.end > run.picked + NEAR
        ]
        assert (
            run.job.group is None or [each.job.group for each in at_once].count(run.job.group) == 1
        )
        for runner, limit in workload.limits.items():
            assert sum(runner in ("", each.job.runner) for each in at_once) <= limit


@FEWER
@given(workloads())
def test_gpu_work_done_is_gpu_work_asked_and_no_gpu_gives_more_than_it_has(
    workload: Workload,
) -> None:
    schedule = simulate(workload)
    for name, allowed in workload.pools.items():
        asked = sum(
            each.seconds.value * each.gpu.value for each in workload.jobs if each.pool == name
        )
        stretches = [
            stretch for node in schedule.nodes if node.pool == name for stretch in node.stretches
        ]
        done = sum((each.end - each.start) * each.gpu * allowed.gpus for each in stretches)
        assert done == pytest.approx(asked, rel=1e-6, abs=1e-3)
        assert all(each.gpu <= 1 + NEAR for each in stretches)
        assert all(each.jobs <= allowed.concurrency for each in stretches)


@FEWER
@given(workloads())
def test_cost_is_node_time_times_price_and_node_time_has_no_gaps(workload: Workload) -> None:
    plan = summarise(simulate(workload))
    for use in plan.pools:
        nodes = [node for node in plan.schedule.nodes if node.pool == use.pool.name]
        paid = sum(node.removed - node.created for node in nodes)
        assert use.cost == pytest.approx(paid / 3600 * (use.pool.price or 0))
        assert use.paid == pytest.approx(paid, abs=1e-3)
        for node in nodes:
            moments = [node.ready, *(each.end for each in node.stretches)]
            assert moments == sorted(moments)
            starts = [each.start for each in node.stretches]
            assert starts == pytest.approx(moments[: len(starts)])


@FEWER
@given(workloads())
def test_no_more_nodes_than_the_pool_allows_at_any_instant(workload: Workload) -> None:
    schedule = simulate(workload)
    for name, allowed in workload.pools.items():
        nodes = [node for node in schedule.nodes if node.pool == name]
        for node in nodes:
            alive = [
                each
                for each in nodes
                if each.created <= node.created + NEAR and each.removed > node.created + NEAR
            ]
            assert len(alive) <= allowed.max_nodes


@FEWER
@given(workloads())
def test_waits_follow_each_other_from_creation_to_start(workload: Workload) -> None:
    for run in simulate(workload).runs:
        edges = [0.0, *(wait.end for wait in run.waits)]
        assert [wait.start for wait in run.waits] == pytest.approx(edges[:-1], abs=NEAR)
        assert edges[-1] == pytest.approx(run.start, abs=NEAR)


@FEWER
@given(workloads())
def test_no_run_is_shorter_than_the_lower_bound(workload: Workload) -> None:
    bound = lower_bound(workload)
    schedule = simulate(workload)
    assert (bound is None) == (not workload.jobs)
    if bound is not None:
        assert schedule.makespan >= bound.seconds - 1e-3, bound


@FEWER
@given(workloads())
def test_the_same_workload_gives_the_same_schedule(workload: Workload) -> None:
    first, second = simulate(workload), simulate(workload)
    assert isinstance(first, Schedule)
    assert first == second
