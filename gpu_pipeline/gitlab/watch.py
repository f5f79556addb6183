"""`gitlab watch PIPELINE`: look, show what changed, wait, until the pipeline has ended.

Watching changes nothing: whoever stops it leaves the pipeline as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import math
import sys
from collections.abc import Callable, Iterator, Mapping

from gpu_pipeline.console import show, tell
from gpu_pipeline.durations_file import Durations, read_durations
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, GitLabError, RefusedError
from gpu_pipeline.gitlab.connection import Connection, connect
from gpu_pipeline.gitlab.logs import read_log
from gpu_pipeline.gitlab.pipelines import JobsOf, Node, walk
from gpu_pipeline.gitlab.progress import Expected, Progress, changes, progress_of
from gpu_pipeline.gitlab.retrying import Time
from gpu_pipeline.jobs import Job
from gpu_pipeline.loading import load_routing
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.routing_model import Pipeline

# How long a server may be away, for an upgrade say, before a watch that had begun gives up.
_AWAY = 900.0


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Exit 0 when the pipeline and its children ended well, 1 when one failed.

    Raises GitLabError when --timeout runs out or the server is away for too long.
    """
    expected = _expected(options)
    connection = connect(options, environment, to="follow pipelines")
    last: Progress | None = None
    try:
        with _display() as display:
            for progress in _looks(connection, options, expected):
                display(last, progress)
                last = progress
    except KeyboardInterrupt:
        tell(f"{_named(options.pipeline, last)} is no longer watched; it goes on")
        raise
    if last is None or not last.has_ended:
        raise GitLabError(
            f"{_named(options.pipeline, last)} has not ended within {options.timeout:g} s; it goes "
            "on"
        )
    return EXIT_DIFFERS if last.failed else EXIT_OK


def _named(number: int, last: Progress | None) -> str:
    return f"pipeline {number} ({last.pipeline.url})" if last else f"pipeline {number}"


def _looks(
    connection: Connection, options: argparse.Namespace, expected: Mapping[str, Expected]
) -> Iterator[Progress]:
    """The pipeline, again and again until it has ended or the time is up."""
    clock = Time()
    end = clock.now() + (options.timeout or math.inf)
    seen_at: float | None = None
    pods = _Pods(connection, options.deadline)
    while True:
        try:
            pipeline = walk(connection, options.pipeline, jobs=JobsOf.ALL)
            reasons = pods.reasons(pipeline)
        except GitLabError as error:
            if seen_at is None or clock.now() - seen_at > _AWAY or _is_for_good(error):
                raise
            tell(f"{error}; trying on")
        else:
            seen_at = clock.now()
            now = datetime.datetime.now(datetime.UTC)
            progress = progress_of(pipeline, expected, reasons, now)
            yield progress
            if progress.has_ended:
                return
        if clock.now() + options.interval > end:
            return
        clock.sleep(options.interval)


def _is_for_good(error: GitLabError) -> bool:
    """Whether to wait is no use: the token was revoked, or lost its role."""
    return isinstance(error, RefusedError) and error.status in (401, 403)


class _Pods:
    """Why the pods of running jobs wait. A log is looked at until the job's commands begin."""

    def __init__(self, connection: Connection, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._started: set[int] = set()

    def reasons(self, pipeline: Node) -> dict[int, str]:
        """By the id of the job; a job that is not waiting is not there."""
        found = {}
        for attempt in pipeline.all_jobs():
            if attempt.status != "running" or attempt.id in self._started:
                continue
            seen = read_log(self._connection, attempt, deadline=self._deadline, commands=0)
            if seen.started:
                self._started.add(attempt.id)
            elif seen.waiting:
                node_name = f" on {seen.node}" if seen.node else ""
                found[attempt.id] = f"{seen.waiting}{node_name}"
        return found


def _expected(options: argparse.Namespace) -> dict[str, Expected]:
    """What the routing and, if given, the durations file say of each job."""
    routed = load_routing(options.routing, options.templates)
    measured = read_durations(options.durations) if options.durations else None
    queue = (routed.routing.pipeline or Pipeline()).queue
    found = {}
    for queued in queue_up(routed.jobs, queue):
        job, group = queued.job, queued.group
        pool = job.pool_settings
        found[job.name] = Expected(
            pool=job.pool.value,
            lane=group or job.pool.value,
            lanes=1 if group else (pool.concurrency or 1) * (pool.max_nodes or 1),
            seconds=_seconds(job, measured),
        )
    return found


def _seconds(job: Job, measured: Durations | None) -> float | None:
    """The median of the job in its pool, else what the routing expects."""
    for each in measured.jobs if measured else ():
        if (each.name, each.pool) == (job.name, job.pool.value):
            return each.p50
    return job.expected_seconds


@contextlib.contextmanager
def _display() -> Iterator[Callable[[Progress | None, Progress], None]]:
    """A live table on a terminal; elsewhere a line for each change."""
    if sys.stdout is None or not sys.stdout.isatty():
        yield _lines
        return
    from rich.console import Console
    from rich.live import Live

    from gpu_pipeline.gitlab.watch_view import table_of

    with Live(console=Console(), auto_refresh=False) as live:
        yield lambda _before, now: live.update(table_of(now), refresh=True)


def _lines(before: Progress | None, now: Progress) -> None:
    stamp = f"{datetime.datetime.now(datetime.UTC):%H:%M:%S}"
    for line in changes(before, now):
        show(f"{stamp} {line}")
