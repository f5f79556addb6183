"""A plan, a pipeline and its logs in; verdicts out. No requests are made here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from gpu_pipeline.gitlab.aspects import Aspect, Verdict, failed, passed, unproven, worst
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.pipelines import Bridge, Node
from gpu_pipeline.gitlab.planned import PlannedJob
from gpu_pipeline.gitlab.verdict import JobVerdict, missing, not_yet, unplanned
from gpu_pipeline.names import CHILD_SOURCE
from gpu_pipeline.record import Record


class Verification(Record):
    """The verdicts on a pipeline: on its trigger jobs first, then on each job of its children."""

    pipeline: Node
    bridges: tuple[Aspect, ...]
    jobs: tuple[JobVerdict, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst of all."""
        return worst([*(each.verdict for each in self.bridges), *(j.verdict for j in self.jobs)])


def verify(
    pipeline: Node,
    plan: Sequence[PlannedJob],
    judged: Callable[[Sequence[tuple[PlannedJob, Attempt]]], Iterable[JobVerdict]],
    *,
    others: bool = True,
) -> Verification:
    """Find each planned job and have it `judged`; what is not there, and what is not planned.

    `others` is whether jobs that the plan lacks are mentioned.
    """
    found = {each.name: each for each in _child_jobs(pipeline)}
    bridges = [*_bridges(pipeline)]
    present = [(planned, found[planned.name]) for planned in plan if planned.name in found]
    verdicts = {each.name: each for each in judged(present)}
    waits = any(bridge.is_open for bridge in pipeline.all_bridges())
    for planned in plan:
        if planned.name not in verdicts:
            verdicts[planned.name] = (
                not_yet(planned, "the pipeline that holds it is not created yet")
                if waits
                else missing(planned, _why_missing(pipeline))
            )
    more = [each for name, each in found.items() if others and name not in verdicts]
    return Verification(
        pipeline=pipeline,
        bridges=tuple(bridges),
        jobs=(*(verdicts[planned.name] for planned in plan), *map(unplanned, more)),
    )


def _child_jobs(pipeline: Node) -> list[Attempt]:
    """The jobs of all children; those of the pipeline itself only if it is a child."""
    nodes = pipeline.all_nodes() if _is_child(pipeline) else list(pipeline.all_nodes())[1:]
    return [job for node in nodes for job in node.jobs]


def _is_child(pipeline: Node) -> bool:
    return pipeline.source == CHILD_SOURCE


def _bridges(pipeline: Node) -> list[Aspect]:
    aspects = [_bridge(each) for each in pipeline.all_bridges()]
    if not aspects and not _is_child(pipeline):
        text = "no trigger job: the pipeline started no child"
        return [failed(f"pipeline {pipeline.id}", text)]
    return aspects


def _bridge(bridge: Bridge) -> Aspect:
    attempt, child = bridge.attempt, bridge.downstream
    if child is not None:
        return passed(attempt.name, f"pipeline {child.id}, {child.status}")
    if bridge.is_cut:
        return unproven(attempt.name, "triggers a pipeline too far down, or one seen before")
    if bridge.is_open:
        return unproven(attempt.name, f"{attempt.status}: no child pipeline yet")
    reason = f" ({attempt.failure_reason})" if attempt.failure_reason else ""
    return failed(attempt.name, f"{attempt.status}{reason}: it created no child pipeline")


def _why_missing(pipeline: Node) -> str:
    children = [f"{node.id}" for node in pipeline.all_nodes() if node.jobs]
    if not children:
        return "there is no child pipeline with jobs"
    return f"planned, but not among the jobs of pipeline {', '.join(children)}"


def fails(verification: Verification, *, strict: bool) -> bool:
    """Whether the exit code is to say so: for FAIL, and when `strict` for UNPROVEN as well."""
    bad: Collection[Verdict] = (Verdict.FAIL, Verdict.UNPROVEN) if strict else (Verdict.FAIL,)
    return verification.verdict in bad
