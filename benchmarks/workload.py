"""What is measured: the shipped routing with more models, and a stopwatch that counts CPU time."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from gpu_pipeline.child import Child, plan_child
from gpu_pipeline.context import Context
from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.loading import LoadedRouting, parse_routing
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.record import Record
from gpu_pipeline.render import render
from gpu_pipeline.routing_model import Pipeline

REFERENCE = Path(__file__).resolve().parent.parent / "tests" / "reference"
TEMPLATES = REFERENCE / "templates"
_SHIPPED_JOBS = 19
_FIRST_MODEL = '"tft"'


class Workload(Record):
    """A routing of `count` jobs; `data` is its routing.toml."""

    data: bytes
    routed: LoadedRouting
    contexts: tuple[Context, ...]
    child: Child

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(self.child.jobs)

    def plan(self) -> Child:
        """Decide what the child contains, under a push to main."""
        pipeline = self.routed.routing.pipeline or Pipeline()
        return plan_child(
            self.routed.jobs, self.contexts[0], pipeline=pipeline, fingerprint="0" * 16
        )

    def render(self) -> str:
        """From resolved jobs to the proven text."""
        return render(self.plan(), TEMPLATES)

    def evaluate(self) -> None:
        """Decide every job under every kind of parent pipeline."""
        for context in self.contexts:
            outcome_of(self.child, context)

    def load(self) -> None:
        """From the bytes of routing.toml to resolved jobs."""
        parse_routing(self.data, "routing.toml", TEMPLATES)

    def with_own_variables(self) -> Workload:
        """The same, but no two jobs alike: nothing that is decided for one holds for another."""
        jobs = tuple(
            replace(job, variables={**job.variables, "RUN_NAME": job.name})
            for job in self.child.jobs
        )
        return replace(self, child=replace(self.child, jobs=jobs))


def workload(jobs: int) -> Workload:
    """The shipped routing, enlarged to `jobs` jobs or one less: each model has two."""
    shipped = (REFERENCE / "routing.toml").read_text(encoding="utf-8")
    added = "".join(f'"m{n:05}", ' for n in range(max(0, jobs - _SHIPPED_JOBS) // 2))
    data = shipped.replace(_FIRST_MODEL, added + _FIRST_MODEL, 1).encode("utf-8")
    routed = parse_routing(data, "routing.toml", TEMPLATES)
    contexts = tuple(parent_contexts(routed.routing))
    pipeline = routed.routing.pipeline or Pipeline()
    child = plan_child(routed.jobs, contexts[0], pipeline=pipeline, fingerprint="0" * 16)
    return Workload(data=data, routed=routed, contexts=contexts, child=child)


def seconds(work: Callable[[], object], *, runs: int = 5) -> float:
    """The CPU time of the best of several runs: the others were disturbed."""
    return min(_once(work) for _ in range(runs))


def _once(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
