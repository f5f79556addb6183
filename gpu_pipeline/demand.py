"""What each job asks of its node when it has it for itself: as the routing says, or assumed."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_pipeline.jobs import Job
from gpu_pipeline.problems import Origin
from gpu_pipeline.record import Record

# Where nothing at all was measured. Any number would order and deal the jobs in the same way.
SECONDS_PER_EPOCH = 600.0


class TrainingTime(Record):
    """Seconds of a job; `origin` is the line that says so, `assumed` why there is none."""

    seconds: float
    origin: Origin | None
    assumed: str = ""


class _PerEpoch(Record):
    seconds: float
    reason: str


def training_times(jobs: Sequence[Job]) -> dict[str, TrainingTime]:
    """The training time of each job, by name.

    A model of which nothing is said counts, per epoch, as the mean of its pool, else as that of all
    pools.
    """
    known: dict[str, list[float]] = {}
    for job in jobs:
        for model in job.models:
            seconds = job.seconds_of(model)
            if seconds is not None:
                known.setdefault(job.pool.value, []).append(seconds / job.epochs_in_all)
    everywhere = [each for values in known.values() for each in values]
    assumed = {
        pool: _assumption(pool, known.get(pool), everywhere)
        for pool in dict.fromkeys(job.pool.value for job in jobs)
    }
    return {job.name: _time_of(job, assumed[job.pool.value]) for job in jobs}


def _assumption(pool: str, here: list[float] | None, everywhere: list[float]) -> _PerEpoch:
    known, where = (here, f"on {pool}") if here else (everywhere, "elsewhere")
    if known:
        mean = sum(known) / len(known)
        return _PerEpoch(seconds=mean, reason=f"the mean of what is known {where}")
    return _PerEpoch(seconds=SECONDS_PER_EPOCH, reason="nothing is known")


def _time_of(job: Job, assumed: _PerEpoch) -> TrainingTime:
    said = [job.seconds_of(model) for model in job.models]
    seconds = sum(job.epochs_in_all * assumed.seconds if each is None else each for each in said)
    if None in said:
        reason = f"{assumed.seconds:.0f} s an epoch: {assumed.reason}"
        return TrainingTime(seconds=seconds, origin=None, assumed=reason)
    first = job.models[0]
    sourced = job.expected.get(first) or job.seconds_per_epoch[first]
    return TrainingTime(seconds=seconds, origin=sourced.origin)
