"""From past jobs to durations: which samples count, and their percentiles. Pure."""

from __future__ import annotations

import datetime
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from gpu_pipeline.durations_file import Durations, MeasuredJob, MeasuredRun, RunJob

_SHORTEST, _LONGEST = 0.1, 10_000_000.0  # seconds; the file's bounds, far beyond GitLab's own
_Seconds = Annotated[float, Meta(ge=0, le=1e12)]


class PastJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job that succeeded. Times within the run count from its pipeline's creation, in seconds.

    `pool` and `epochs` are what the job's own marker says; None where its log has none.
    """

    id: int
    name: str
    pool: str | None
    epochs: str | None
    seconds: _Seconds
    queued: _Seconds
    started: _Seconds
    finished: _Seconds
    ended: datetime.datetime


class PastRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A child pipeline that has ended, as it was when it was read."""

    pipeline: int
    created: datetime.datetime
    updated: str
    jobs: tuple[PastJob, ...]


def measured(
    runs: Iterable[PastRun], kinds: Mapping[str, tuple[str, str | None]], *, samples: int
) -> Durations:
    """The durations of the jobs whose task and model are in `kinds`.

    A job is measured by its newest `samples` in each pool. Only those with the epochs of the newest
    one count: a search with 15 epochs says nothing about one with 8.
    """
    ordered = sorted(runs, key=lambda run: -run.pipeline)
    found: dict[tuple[str, str], list[PastJob]] = {}
    for run in ordered:
        for job in run.jobs:
            is_one = _SHORTEST <= job.seconds <= _LONGEST
            if job.name in kinds and job.pool is not None and is_one:
                found.setdefault((job.name, job.pool), []).append(job)
    return Durations(
        jobs=tuple(
            _measured_job(name, pool, kinds[name], jobs, samples)
            for (name, pool), jobs in sorted(found.items())
        ),
        runs=tuple(_run(run) for run in ordered if run.jobs),
    )


def _measured_job(
    name: str, pool: str, kind: tuple[str, str | None], jobs: Sequence[PastJob], samples: int
) -> MeasuredJob:
    newest = sorted(jobs, key=lambda job: job.ended, reverse=True)
    seconds = [job.seconds for job in newest if job.epochs == newest[0].epochs][:samples]
    return MeasuredJob(
        name=name,
        task=kind[0],
        model=kind[1],
        pool=pool,
        samples=len(seconds),
        p50=round(percentile(seconds, 50), 1),
        p90=round(percentile(seconds, 90), 1),
        mean=round(statistics.fmean(seconds), 1),
        newest=newest[0].ended,
    )


def percentile(values: Sequence[float], percent: float) -> float:
    """The percentile of one value or more, between two of them in proportion."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _run(run: PastRun) -> MeasuredRun:
    """A run without the jobs that somebody ran again months later."""
    return MeasuredRun(
        pipeline=run.pipeline,
        created=run.created,
        jobs=tuple(
            RunJob(name=job.name, queued=job.queued, started=job.started, finished=job.finished)
            for job in run.jobs
            if max(job.queued, job.finished) <= _LONGEST
        ),
    )
