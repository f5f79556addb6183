"""A pipeline that runs: the jobs of it that wait for somebody, and its end."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

from gitlab.exceptions import GitlabError
from gitlab.v4.objects import ProjectPipeline
from msgspec import field

from gpu_pipeline.console import tell
from gpu_pipeline.errors import AnswerLostError, GitLabError
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.connection import Connection
from gpu_pipeline.gitlab.pipelines import JobsOf, Node, walk
from gpu_pipeline.gitlab.refusals import status_of
from gpu_pipeline.gitlab.retrying import Time
from gpu_pipeline.names import check_globs
from gpu_pipeline.record import Record


class Patience(Record):
    """How long to wait and how often to look, in seconds."""

    timeout: float
    interval: float
    clock: Time = field(default_factory=Time)


def wait_for_end(
    connection: Connection,
    pipeline: ProjectPipeline,
    patience: Patience,
    played: Sequence[Attempt] = (),
) -> tuple[Node, list[Attempt]]:
    """Follow a pipeline and its children to their end; each change is said on stderr.

    Of the `played` jobs the end is told as well: they are optional, so that their failure does not
    fail the pipeline. Raises GitLabError when it takes longer than the timeout.
    """
    keys = {_key(each) for each in played}
    wanted = JobsOf.ALL if played else JobsOf.NONE
    for node in _looks(connection, pipeline, patience, wanted):
        # A pipeline counts as ended until a moment after a job of it was played.
        jobs = [each for each in node.all_jobs() if _key(each) in keys]
        if node.has_ended and all(each.is_finished for each in jobs):
            return node, jobs
    raise GitLabError(
        f"pipeline {pipeline.id} has not ended within {patience.timeout:g} s; it goes on: "
        f"{pipeline.web_url}"
    )


def _key(job: Attempt) -> tuple[int, str]:
    """What stays when the job is retried."""
    return job.pipeline, job.name


def play(
    connection: Connection,
    pipeline: ProjectPipeline,
    globs: Sequence[str],
    patience: Patience,
) -> list[Attempt]:
    """Start the on-demand jobs that the globs name, as soon as they are there.

    What it returns are those that run now, also when somebody else had started them.

    Raises NothingToRunError for a glob that no job matches, GitLabError after the timeout.
    """
    for node in _looks(connection, pipeline, patience, JobsOf.ALL):
        if not node.is_settled:
            continue
        jobs = list(node.all_jobs())
        goes_on = f"pipeline {pipeline.id} goes on: {pipeline.web_url}"
        check_globs(globs, [each.name for each in jobs], goes_on)
        chosen = [job for job in jobs if any(fnmatch.fnmatchcase(job.name, glob) for glob in globs)]
        if any(each.status == "created" for each in chosen) and not node.has_ended:
            continue  # GitLab has not yet decided what waits for whom
        for job in chosen:
            if job.status == "manual":
                _play_one(connection, job)
            elif job.status == "created":
                tell(f"{job.name} cannot be played: what it needs has not run")
            else:
                tell(f"{job.name} is {job.status} already")
        return [each for each in chosen if each.status != "created"]
    raise GitLabError(
        f"no job to play appeared within {patience.timeout:g} s; pipeline {pipeline.id} goes on: "
        f"{pipeline.web_url}"
    )


def _looks(
    connection: Connection, pipeline: ProjectPipeline, patience: Patience, jobs: JobsOf
) -> Iterator[Node]:
    """The pipeline, again and again until the timeout; what changed is said."""
    end = patience.clock.now() + patience.timeout
    said = ""
    while True:
        node = walk(connection, pipeline.id, jobs=jobs)
        if node.statuses != said:
            said = node.statuses
            tell(said)
        yield node
        if patience.clock.now() + patience.interval > end:
            return
        patience.clock.sleep(patience.interval)


def _play_one(connection: Connection, job: Attempt) -> None:
    """Play a job. To repeat it is safe: GitLab plays a job that waits only once."""
    jobs = connection.project_of(job.project).jobs
    with connection.asking(f"playing {job.name}"):
        try:
            jobs.get(job.id, lazy=True).play()
        except AnswerLostError:
            if jobs.get(job.id).status == "manual":
                jobs.get(job.id, lazy=True).play()
        except GitlabError as error:
            if status_of(error) != 400 or jobs.get(job.id).status == "manual":
                raise
            # Somebody else was faster.
    tell(f"played {job.name}")
