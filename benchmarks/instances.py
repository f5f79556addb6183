"""Random workloads to plan, for the quality figures and for tests; a seed always gives the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product

from msgspec.structs import replace

from gpu_pipeline.plan.model import Figure, PlannedJob, PlannedPool, Source, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.variants import regrouped

Share = Callable[[random.Random], float]
SHARES: dict[str, Share] = {
    "all alike (0.34)": lambda _: 0.34,
    "0.02 to 1": lambda draw: draw.uniform(0.02, 1),
    "0.02 to 0.6": lambda draw: draw.uniform(0.02, 0.6),
    "0.1 or 0.9": lambda draw: draw.choice([0.1, 0.9]),
}


def figure(value: float) -> Figure:
    """A figure whose source does not matter."""
    return Figure(value=value, source=Source.CONFIGURED, origin="")


def pool(name: str, *, concurrency: int, max_nodes: int) -> PlannedPool:
    """A pool of nodes with 8 cores and one GPU, scaled from 0."""
    return PlannedPool(
        name=name, gpu="NVIDIA L40S", gpus=1, concurrency=concurrency, min_nodes=0,
        max_nodes=max_nodes, allocatable=(8000, 96 * 10**9, None), boot=figure(600),
        pull=figure(300), idle=figure(600), price=1.47,
    )  # fmt: skip


def job(name: str, pool_name: str, seconds: float, share: float) -> PlannedJob:
    """A job of one core."""
    return PlannedJob(
        name=name, task="train", family="f", models=(name,), pool=pool_name,
        seconds=figure(seconds), gpu=figure(share), cpu=figure(1.0),
        requests=(1000, 16 * 10**9, 0), timeout=10.0**9,
    )  # fmt: skip


def large(draw: random.Random, share: Share) -> Workload:
    """20 to 200 jobs on 1 to 3 pools, at least four jobs a slot."""
    count, pools = draw.randint(20, 200), draw.randint(1, 3)
    made, jobs = {}, []
    for number in range(pools):
        mine = count // pools + (number < count % pools)
        concurrency, nodes = draw.randint(1, 4), draw.randint(1, 3)
        while concurrency * nodes * 4 > mine:
            concurrency, nodes = (concurrency, nodes - 1) if nodes > 1 else (concurrency - 1, 1)
        name = f"pool-{number}"
        made[name] = pool(name, concurrency=concurrency, max_nodes=nodes)
        jobs += [job(f"{name}-{n}", name, _seconds(draw), share(draw)) for n in range(mine)]
    return regrouped(Workload(jobs=tuple(jobs), pools=made))


def small(draw: random.Random, share: Share) -> Workload:
    """Up to nine jobs on one pool of two to four slots."""
    slots = draw.choice([(2, 1), (3, 1), (4, 1), (1, 2), (2, 2), (1, 3)])
    only = pool("pool", concurrency=slots[0], max_nodes=slots[1])
    count = draw.randint(2, 9)
    jobs = tuple(job(f"j{n}", "pool", _seconds(draw), share(draw)) for n in range(count))
    return regrouped(Workload(jobs=jobs, pools={"pool": only}))


def _seconds(draw: random.Random) -> float:
    return draw.choice([draw.uniform(300, 3000), draw.lognormvariate(8, 0.7)])


def best_makespan(workload: Workload) -> float:
    """The shortest makespan of all ways to deal the jobs of one pool to its slots."""
    slots = next(iter(workload.pools.values())).slots
    jobs = sorted(workload.jobs, key=lambda each: -each.seconds.value)
    best = float("inf")
    for dealt in product(range(slots), repeat=len(jobs)):
        if _is_first_of_its_kind(dealt):
            made = tuple(
                replace(each, group=f"pool/{slot + 1}")
                for each, slot in zip(jobs, dealt, strict=True)
            )
            best = min(best, simulate(replace(workload, jobs=made)).makespan)
    return best


def _is_first_of_its_kind(dealt: Sequence[int]) -> bool:
    """Slots are alike, so only deals that use a new slot in ascending order are looked at."""
    highest = -1
    for slot in dealt:
        if slot > highest + 1:
            return False
        highest = max(highest, slot)
    return True
