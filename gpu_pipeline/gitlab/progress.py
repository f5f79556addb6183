"""A pipeline that runs, as a person follows it: each job's state, and when all of it may end. Pure.

The forecast lets each resource group work off its jobs one after another, as GitLab does, and takes
for each what it took before. It knows nothing of nodes that have yet to boot.
"""

from __future__ import annotations

import datetime
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_pipeline.durations import format_duration
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.pipelines import FAILED, Node
from gpu_pipeline.record import Record

_WAITS = {
    "created": "for what it needs",
    "waiting_for_resource": "for its resource group",
    "preparing": "for its environment",
    "pending": "for a runner",
    "scheduled": "for its delay to pass",
    "manual": "for somebody to start it",
}


class Expected(Record):
    """What is known of a job beforehand. `lanes` is how many jobs like it run at once.

    Jobs of one `lane` share them. `seconds` is None where nobody knows.
    """

    pool: str
    lane: str
    lanes: int
    seconds: float | None


class JobProgress(Record):
    """One job as it stands; `waiting` says what for, "" if it does not wait."""

    attempt: Attempt
    expected: Expected | None
    waiting: str
    elapsed: float | None

    @property
    def state(self) -> str:
        """The status, with the number of the attempt from the second on."""
        again = f" (attempt {self.attempt.older + 1})" if self.attempt.older else ""
        return f"{self.attempt.status}{again}"

    @property
    def is_on_demand(self) -> bool:
        """Whether it only runs if somebody starts it."""
        return self.attempt.status == "manual"


class Progress(Record):
    """The whole pipeline. `end` is None when it is not known, `unknown` are the jobs at fault."""

    pipeline: Node
    jobs: tuple[JobProgress, ...]
    end: datetime.datetime | None
    unknown: tuple[str, ...]

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.pipeline.has_ended

    @property
    def failed(self) -> bool:
        """Whether the pipeline, or one that it triggered, ended otherwise than well."""
        # Nothing ran, and no button is there that somebody could press.
        is_empty = self.pipeline.status == "skipped" and not any(j.is_on_demand for j in self.jobs)
        return is_empty or any(node.status in FAILED for node in self.pipeline.all_nodes())

    @property
    def counted(self) -> tuple[int, int]:
        """How many jobs have ended, and how many there are that run by themselves or did run."""
        jobs = [job for job in self.jobs if not job.is_on_demand]
        return sum(job.attempt.is_finished for job in jobs), len(jobs)


def progress_of(
    pipeline: Node,
    expected: Mapping[str, Expected],
    reasons: Mapping[int, str],
    now: datetime.datetime,
) -> Progress:
    """The progress of a pipeline; `reasons` are those of pods that wait, by the job's id."""
    jobs = tuple(
        JobProgress(
            attempt=attempt,
            expected=expected.get(attempt.name),
            waiting=_waiting(attempt, reasons),
            elapsed=_elapsed(attempt, now),
        )
        for attempt in pipeline.all_jobs()
    )
    open_jobs = [job for job in jobs if not job.attempt.is_finished and not job.is_on_demand]
    known = [job for job in open_jobs if job.expected is not None]
    unknown = tuple(job.attempt.name for job in known if _left(job) is None)
    # Without a child there is nothing to add up yet.
    is_known = bool(known) and not unknown
    end = now + datetime.timedelta(seconds=_makespan(known)) if is_known else None
    return Progress(pipeline=pipeline, jobs=jobs, end=end, unknown=unknown)


def _waiting(attempt: Attempt, reasons: Mapping[int, str]) -> str:
    if attempt.status == "running":
        return f"for its pod: {reasons[attempt.id]}" if attempt.id in reasons else ""
    return _WAITS.get(attempt.status, "")


def _elapsed(attempt: Attempt, now: datetime.datetime) -> float | None:
    if attempt.is_finished and attempt.duration is not None:
        return attempt.duration
    if attempt.started is None:
        return None
    return max(0.0, ((attempt.finished or now) - attempt.started).total_seconds())


def _left(job: JobProgress) -> float | None:
    """How many seconds a job still takes; 0 for one that takes longer than it was expected to."""
    if job.expected is None or job.expected.seconds is None:
        return None
    return max(0.0, job.expected.seconds - (job.elapsed or 0.0))


def _makespan(jobs: Iterable[JobProgress]) -> float:
    """Seconds until every lane has worked off its jobs: those that run first, then by age."""
    lanes: dict[str, list[JobProgress]] = {}
    for job in jobs:
        if job.expected:
            lanes.setdefault(job.expected.lane, []).append(job)
    return max((_worked_off(lane) for lane in lanes.values()), default=0.0)


def _worked_off(jobs: Sequence[JobProgress]) -> float:
    number = max(job.expected.lanes for job in jobs if job.expected)
    ordered = sorted(jobs, key=lambda job: (job.attempt.status != "running", job.attempt.id))
    ends = [0.0] * number
    for job in ordered:
        heapq.heapreplace(ends, ends[0] + (_left(job) or 0.0))
    return max(ends)


def changes(before: Progress | None, now: Progress) -> Iterator[str]:
    """A line for each job whose state or reason to wait is another than before; all at first."""
    old = {_key(job): _said(job) for job in before.jobs} if before else {}
    for job in now.jobs:
        if old.get(_key(job)) != _said(job):
            yield f"{job.attempt.name}: {_said(job)}{_times(job)}"
    if before is None or _standing(before) != _standing(now):
        yield standing(now)


def _key(job: JobProgress) -> tuple[int, str]:
    return job.attempt.pipeline, job.attempt.name


def _said(job: JobProgress) -> str:
    pool = f" on {job.expected.pool}" if job.expected else ""
    waiting = f", waits {job.waiting}" if job.waiting else ""
    reason = f" ({job.attempt.failure_reason})" if job.attempt.failure_reason else ""
    return f"{job.state}{reason}{pool}{waiting}"


def _times(job: JobProgress) -> str:
    if job.attempt.is_finished and job.elapsed is not None:
        return f", took {format_duration(job.elapsed)}"
    if job.attempt.status == "running" and job.expected and job.expected.seconds is not None:
        return f", expected to take {format_duration(job.expected.seconds)}"
    return ""


def _standing(progress: Progress) -> tuple[object, ...]:
    return progress.counted, progress.pipeline.statuses


def standing(progress: Progress) -> str:
    """Where the pipeline and its children stand, and when they may end."""
    ended, number = progress.counted
    waiting = sum(job.is_on_demand for job in progress.jobs)
    on_demand = f", {waiting} more on demand" if waiting else ""
    counted = f"{ended} of {number} jobs ended{on_demand}"
    return f"{progress.pipeline.statuses}; {counted}; {forecast(progress)}"


def forecast(progress: Progress) -> str:
    """When the training jobs may end, or why that cannot be said."""
    if progress.has_ended:
        return "ended"
    if progress.end is not None:
        return f"forecast of the end: {progress.end:%Y-%m-%d %H:%M} UTC"
    if progress.unknown:
        more = f" and {len(progress.unknown) - 3} more" if len(progress.unknown) > 3 else ""
        names = ", ".join(progress.unknown[:3])
        return f"forecast of the end: unknown, for nobody knows how long {names}{more} takes"
    return "forecast of the end: unknown, for there is no training job yet that will run"
