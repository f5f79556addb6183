"""`gitlab history`: how long past jobs took, from the server into the durations file.

Newest child pipelines first. A pipeline that has ended is fetched once: what it held is in a cache
beside the output, written after each pipeline, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import hashlib
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitlab.v4.objects import ProjectPipeline

from gpu_pipeline.console import show, tell
from gpu_pipeline.durations import format_duration
from gpu_pipeline.durations_file import Durations, durations_text
from gpu_pipeline.errors import EXIT_OK, NothingToRunError, UsageError
from gpu_pipeline.files import display, write_atomically
from gpu_pipeline.gitlab.attempts import FINISHED, Attempt, attempt_from, moment, newest_attempts
from gpu_pipeline.gitlab.connection import Connection, connect
from gpu_pipeline.gitlab.history_cache import Cache
from gpu_pipeline.gitlab.logs import read_log
from gpu_pipeline.gitlab.measured import PastJob, PastRun, measured
from gpu_pipeline.gitlab.outputs import check_outputs
from gpu_pipeline.gitlab.parallel import in_parallel
from gpu_pipeline.gitlab.ran import printed_route
from gpu_pipeline.jobs import Job
from gpu_pipeline.loading import load_routing
from gpu_pipeline.names import CHILD_SOURCE
from gpu_pipeline.reports.layout import table
from gpu_pipeline.results import output_of
from gpu_pipeline.words import count

# The marker is the first command; a runner's own pre_build_script may run a few before it.
_FIRST_COMMANDS = 6


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write the durations file. Raises NothingToRunError if no job was measured."""
    check_outputs(options)
    if output_of(options) is None:
        raise UsageError("-o -: the cache stands beside it; name a file")
    jobs = {job.name: job for job in load_routing(options.routing, options.templates).jobs}
    connection = connect(options, environment, to="list pipelines and read logs")
    cache = Cache(
        _cache_path(options.output),
        server=connection.server,
        project=connection.project_path,
        names=hashlib.sha256("\n".join(sorted(jobs)).encode()).hexdigest()[:16],
    )
    runs = list(_runs(connection, jobs, cache, options))
    cache.forget_others()
    kinds = {name: (job.task, job.model) for name, job in jobs.items()}
    found = measured(runs, kinds, samples=options.samples)
    if not found.jobs:
        raise NothingToRunError(
            f"none of the {count(len(runs), 'child pipeline')} looked at holds a successful job of "
            f"{display(options.routing)} whose log names its pool; "
            f"{display(options.output)} is not written"
        )
    write_atomically(options.output, durations_text(found))
    show(_report(found))
    tell(f"wrote {display(options.output)}: {_summary(found)}")
    return EXIT_OK


def _runs(
    connection: Connection, jobs: Mapping[str, Job], cache: Cache, options: argparse.Namespace
) -> Iterator[PastRun]:
    """The newest child pipelines that have ended, from the cache or from the server."""
    with connection.asking("listing child pipelines", role="Reporter"):
        listed = connection.project.pipelines.list(
            iterator=True,
            source=CHILD_SOURCE,
            order_by="id",
            sort="desc",
            **({"ref": options.ref} if options.ref else {}),
        )
        ended = (each for each in listed if each.status in FINISHED)
        fetched = 0
        try:
            for each in itertools.islice(ended, options.pipelines):
                known = cache.get(each.id, str(each.updated_at))
                if known is None:
                    known = _fetched(connection, each, jobs, options)
                    cache.add(known)
                    fetched += 1
                yield known
        finally:
            tell(f"fetched {count(fetched, 'child pipeline')}")


def _fetched(
    connection: Connection,
    pipeline: ProjectPipeline,
    jobs: Mapping[str, Job],
    options: argparse.Namespace,
) -> PastRun:
    lazy = connection.project.pipelines.get(pipeline.id, lazy=True)
    with connection.asking(f"the jobs of pipeline {pipeline.id}", role="Reporter"):
        attempts = newest_attempts(
            attempt_from(each.attributes, project=connection.project_path, pipeline=pipeline.id)
            for each in lazy.jobs.list(iterator=True, scope=["success"])
        )
    wanted = [each for each in attempts if each.name in jobs and each.started and each.finished]
    created = moment(pipeline.created_at) or datetime.datetime.fromtimestamp(0, datetime.UTC)
    past = functools.partial(_past_job, connection, created, options.deadline)
    return PastRun(
        pipeline=pipeline.id,
        created=created,
        updated=str(pipeline.updated_at),
        jobs=tuple(
            each for each in in_parallel(past, wanted, at_once=options.parallel) if each is not None
        ),
    )


def _past_job(
    connection: Connection, created: datetime.datetime, deadline: float, attempt: Attempt
) -> PastJob | None:
    """A job with the pool and epochs that the beginning of its log names."""
    if attempt.started is None or attempt.finished is None:
        return None
    seen = read_log(connection, attempt, deadline=deadline, commands=_FIRST_COMMANDS)
    route = printed_route(seen.commands)
    started = (attempt.started - created).total_seconds()
    finished = (attempt.finished - created).total_seconds()
    ran = attempt.duration if attempt.duration is not None else finished - started
    ready = (attempt.created - created).total_seconds() if attempt.created else 0.0
    queued = started - attempt.queued if attempt.queued is not None else ready
    return PastJob(
        id=attempt.id,
        name=attempt.name,
        pool=route.pool if route else None,
        epochs=route.epochs if route else None,
        seconds=max(0.0, round(ran, 1)),
        queued=max(0.0, round(queued, 1)),
        started=max(0.0, round(started, 1)),
        finished=max(0.0, round(finished, 1)),
        ended=attempt.finished,
    )


def _report(found: Durations) -> str:
    rows = [
        {
            "job": job.name,
            "pool": job.pool,
            "samples": job.samples,
            "median": format_duration(job.p50),
            "90 %": format_duration(job.p90),
            "newest": f"{job.newest:%Y-%m-%d}",
        }
        for job in found.jobs
    ]
    return table(rows, "text")


def _summary(found: Durations) -> str:
    samples = sum(job.samples for job in found.jobs)
    names = len({job.name for job in found.jobs})
    return f"{count(names, 'job')}, {count(samples, 'sample')}, {count(len(found.runs), 'run')}"


def _cache_path(output: Path) -> Path:
    """Where the cache of a durations file stands."""
    return output.with_name(f"{output.name}.cache")
