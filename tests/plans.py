"""Plans to show: the reference routing, and small ones with everything that can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from gpu_pipeline.loading import load_routing
from gpu_pipeline.plan.model import Figure, PlannedJob, PlannedPool, Source, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.workload import Circumstances, workload_of
from gpu_pipeline.queueing import queue_up

from .conftest import ROOT, SHIPPED, TEMPLATES

SINGLE_POOL = ROOT / "examples/single-pool.toml"


def plan_of(routing: Path) -> Plan:
    routed = load_routing(routing, TEMPLATES)
    pipeline = routed.routing.pipeline
    queue = queue_up(routed.jobs, pipeline.queue)
    return planned(workload_of(queue, Circumstances(), pipeline))


def planned(workload: Workload) -> Plan:
    return summarise(simulate(workload))


def shipped() -> Plan:
    return plan_of(SHIPPED)


def single_pool() -> Plan:
    return plan_of(SINGLE_POOL)


def figure(value: float, source: Source = Source.CONFIGURED, origin: str = "a:1") -> Figure:
    return Figure(value=value, source=source, origin=origin)


def job(name: str, seconds: float | Figure = 1000.0, **changes: object) -> PlannedJob:
    base = PlannedJob(
        name=name,
        task="hyperopt",
        family="rl",
        models=("dqn",),
        pool="small",
        seconds=seconds if isinstance(seconds, Figure) else figure(seconds),
        gpu=figure(0.5),
        cpu=figure(1.0),
        requests=(1000, 10, 10),
        timeout=7200.0,
    )
    return replace(base, **changes)


def pool(name: str = "small", **changes: object) -> PlannedPool:
    base = PlannedPool(
        name=name,
        gpu="NVIDIA L4",
        gpus=1,
        concurrency=2,
        min_nodes=0,
        max_nodes=2,
        allocatable=(8000, 100, None),
        boot=figure(300.0),
        pull=figure(60.0),
        idle=figure(600.0),
        price=1.0,
    )
    return replace(base, **changes)


def workload(
    jobs: Sequence[PlannedJob], pools: Sequence[PlannedPool] = (pool(),), currency: str = "EUR"
) -> Workload:
    return Workload(jobs=tuple(jobs), pools={each.name: each for each in pools}, currency=currency)


def troubled() -> Plan:
    """A pool without a price, a job that its timeout ends, one that never starts."""
    return planned(
        workload(
            [
                job("quick", figure(600, Source.MEASURED, "runs.json: median of 5")),
                job("late", 9000, timeout=3600.0),
                job("huge", requests=(9000, 10, 10)),
                job("after-huge", needs=("huge",)),
                job("other", figure(500, Source.ASSUMED, "a guess"), pool="large", family="nets"),
            ],
            [pool(), pool("large", price=None, max_nodes=1)],
        )
    )


def many(jobs: int) -> Plan:
    """Jobs of differing lengths on two pools of several nodes."""
    return planned(
        workload(
            [
                job(
                    f"hyperopt-model-{n:05}",
                    300.0 + 7919 * n % 5000,
                    pool="large" if n % 3 else "small",
                    family="nets" if n % 3 else "rl",
                )
                for n in range(jobs)
            ],
            [pool(max_nodes=4), pool("large", concurrency=4, max_nodes=6)],
        )
    )
