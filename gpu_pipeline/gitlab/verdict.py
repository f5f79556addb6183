"""A planned job, what GitLab says of it and what its log says: a verdict on each aspect.

Nothing passes because nothing was said against it. What is not there proves something only where
the log is whole: the runner writes a line for each request that it follows, so a whole preparation
without the line is a request that was ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.gitlab.aspects import Aspect, Verdict, failed, passed, unproven, worst
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.evidence import Evidence
from gpu_pipeline.gitlab.gpu import judge_gpu
from gpu_pipeline.gitlab.outcomes import Ended, Ending, ended
from gpu_pipeline.gitlab.overwrites import judge_route, judge_sizes
from gpu_pipeline.gitlab.planned import PlannedJob
from gpu_pipeline.gitlab.ran import Ran, judge_epochs, judge_fingerprint, judge_marker, what_ran
from gpu_pipeline.outcomes import Mode
from gpu_pipeline.record import Record

_UNDECIDED = frozenset((Ending.NOT_PLAYED, Ending.UNFINISHED))


class JobVerdict(Record):
    """All aspects of one job. `attempt` is None for a job that the pipeline lacks.

    `node` is the Kubernetes node as far as the log names it.
    """

    name: str
    pool: str
    attempt: Attempt | None
    ending: Ending
    aspects: tuple[Aspect, ...]
    node: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst of all aspects."""
        return worst(each.verdict for each in self.aspects)


def judge(planned: PlannedJob, attempt: Attempt, seen: Evidence) -> JobVerdict:
    """The verdict on the newest attempt of a planned job."""
    end = ended(attempt, seen)
    return JobVerdict(
        name=planned.name,
        pool=planned.pool,
        attempt=attempt,
        ending=end.kind,
        aspects=tuple(_aspects(planned, seen, what_ran(planned, seen), end)),
        node=seen.node,
    )


def _aspects(planned: PlannedJob, seen: Evidence, ran: Ran, end: Ended) -> Iterator[Aspect]:
    gpu = judge_gpu(planned, seen)
    yield judge_route(planned, seen, gpu.verdict)
    yield from judge_sizes(planned, seen)
    yield gpu
    yield judge_marker(planned, seen, ran)
    yield judge_epochs(planned, seen, ran)
    yield judge_fingerprint(planned, seen, ran)
    yield _outcome(planned, end, seen)


def _outcome(planned: PlannedJob, end: Ended, seen: Evidence) -> Aspect:
    detail = f"{end.kind}: {end.detail}"
    if end.kind is Ending.NOT_PLAYED and planned.mode is Mode.AUTOMATIC:
        return failed("outcome", f"{detail}, but it was planned to start by itself")
    if end.succeeded:
        return passed("outcome", detail)
    if end.kind in _UNDECIDED:
        waiting = f" (waiting: {seen.waiting})" if seen.waiting else ""
        return unproven("outcome", f"{detail}{waiting}")
    return failed("outcome", detail)


def missing(planned: PlannedJob, why: str) -> JobVerdict:
    """The verdict on a job that was planned and is not there."""
    return JobVerdict(
        name=planned.name,
        pool=planned.pool,
        attempt=None,
        ending=Ending.MISSING,
        aspects=(failed("outcome", f"{Ending.MISSING}: {why}"),),
    )


def not_yet(planned: PlannedJob, why: str) -> JobVerdict:
    """The verdict on a job that was planned and may still come."""
    return JobVerdict(
        name=planned.name,
        pool=planned.pool,
        attempt=None,
        ending=Ending.UNFINISHED,
        aspects=(unproven("outcome", why),),
    )


def unplanned(attempt: Attempt) -> JobVerdict:
    """The verdict on a job of the child that the plan does not know."""
    aspect = unproven("planned", "not in the plan, so there is nothing to hold it against")
    kind = ended(attempt, Evidence()).kind
    return JobVerdict(name=attempt.name, pool="", attempt=attempt, ending=kind, aspects=(aspect,))
