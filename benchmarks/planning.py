"""`make bench-plans`: how good plans are, and for `make bench` what planning costs.

Large instances are held against what no plan can beat, small ones against the best of all ways to
deal their jobs, which takes some minutes to find.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Iterator

from tabulate import tabulate

from benchmarks.instances import SHARES, Share, best_makespan, large, small
from benchmarks.workload import Workload, seconds
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.workload import Circumstances, workload_of
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.routing_model import Pipeline

Row = tuple[str, str, float]
_COUNT = 200
_NEAR = 1.0001


def quality() -> Iterator[tuple[str, str, str, str]]:
    """A line for each mix of GPU utilizations: large and small instances."""
    for name, share in SHARES.items():
        yield (f"GPU utilization {name}", *_large(share), *_small(share))


def _large(share: Share) -> tuple[str]:
    draw = random.Random(7)
    above = [summarise(simulate(large(draw, share))).above_bound for _ in range(_COUNT)]
    mean, most = sum(above) / len(above), max(above)
    return (f"mean {mean:.2%}, most {most:.1%}",)


def _small(share: Share) -> tuple[str, str]:
    draw = random.Random(11)
    ratios = []
    for _ in range(_COUNT):
        workload = small(draw, share)
        ratios.append(simulate(workload).makespan / best_makespan(workload))
    equal = sum(ratio <= _NEAR for ratio in ratios) / len(ratios)
    return f"{equal:.1%}", f"{max(ratios) - 1:.1%}"


def planning(load: Workload) -> Callable[[], Plan]:
    """From resolved jobs to the whole plan."""
    jobs, pipeline = load.routed.jobs, load.routed.routing.pipeline or Pipeline()

    def plan() -> Plan:
        queue = queue_up(jobs, pipeline.queue)
        return summarise(simulate(workload_of(queue, Circumstances(), pipeline)))

    return plan


def speed(few: Workload, many: Workload, tenfold: Workload) -> Iterator[Row]:
    """Planning against rendering, and how it grows; the collector's runs would blur the growth."""
    once = seconds(planning(many))
    yield f"plan {many.count} jobs", "rendering them", once / seconds(many.render)
    gc.disable()
    few_seconds, many_seconds = seconds(planning(few)), seconds(planning(many))
    yield f"plan {many.count} jobs", f"{few.count} jobs", many_seconds / few_seconds
    tenfold_seconds = seconds(planning(tenfold), runs=2)
    yield f"plan {tenfold.count} jobs", f"{many.count} jobs", tenfold_seconds / many_seconds
    gc.enable()


def main() -> None:
    """Print the quality figures."""
    headers = (
        f"{_COUNT} random instances of each kind",
        "large: above the lower bound",
        "small: as short as the best deal",
        "at most above it",
    )
    print(tabulate(list(quality()), headers=headers))


if __name__ == "__main__":
    main()
