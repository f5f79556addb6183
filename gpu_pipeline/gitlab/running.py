"""A pipeline that runs: its children, the jobs that wait for somebody, and its end."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gitlab.exceptions import GitlabError
from gitlab.v4.objects import ProjectPipeline

from gpu_pipeline.console import tell
from gpu_pipeline.errors import AnswerLostError, GitLabError, UsageError
from gpu_pipeline.gitlab.connection import Connection
from gpu_pipeline.gitlab.refusals import status_of
from gpu_pipeline.gitlab.retrying import Time
from gpu_pipeline.names import did_you_mean

# doc/api/pipelines: statuses of pipelines. `manual` waits for a person, for ever if need be.
ENDED = ("success", "failed", "canceled", "skipped", "manual")
FAILED = ("failed", "canceled")


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long to wait and how often to look, in seconds."""

    timeout: float
    interval: float
    clock: Time = field(default_factory=Time)


@dataclass(frozen=True, kw_only=True)
class Member:
    """A pipeline of the family: the parent itself, or one that a bridge of it triggered."""

    project_id: int
    id: int
    status: str
    web_url: str


@dataclass(frozen=True, kw_only=True)
class Family:
    """A parent and its children; `open_bridges` have triggered nothing yet."""

    members: tuple[Member, ...]
    open_bridges: tuple[str, ...]

    @property
    def has_ended(self) -> bool:
        """Whether nothing will happen any more by itself."""
        return all(each.status in ENDED for each in self.members)

    @property
    def is_settled(self) -> bool:
        """Whether all children that there will be are there."""
        return not self.open_bridges or self.members[0].status in ENDED

    def __str__(self) -> str:
        return ", ".join(f"pipeline {each.id} {each.status}" for each in self.members)


@dataclass(frozen=True, kw_only=True)
class JobState:
    """The newest attempt of a job; the name stays the same when GitLab retries it."""

    project_id: int
    pipeline_id: int
    id: int
    name: str
    status: str

    @property
    def key(self) -> tuple[int, str]:
        """What stays when the job is retried."""
        return self.pipeline_id, self.name


def family_of(connection: Connection, pipeline: ProjectPipeline) -> Family:
    """The pipeline and its children as they are now."""
    now = connection.project.pipelines.get(pipeline.id)
    members = [Member(project_id=now.project_id, id=now.id, status=now.status, web_url=now.web_url)]
    waiting = []
    for bridge in now.bridges.list(get_all=True):
        below = bridge.downstream_pipeline
        if below:
            members.append(
                Member(
                    project_id=below["project_id"],
                    id=below["id"],
                    status=below["status"],
                    web_url=below["web_url"],
                )
            )
        elif bridge.status not in (*FAILED, "skipped", "manual"):
            waiting.append(bridge.name)
    if not members[1:] and now.status not in ENDED and not waiting:
        waiting.append("a trigger job")  # the pipeline has only just been created
    return Family(members=tuple(members), open_bridges=tuple(waiting))


def wait_for_end(
    connection: Connection,
    pipeline: ProjectPipeline,
    patience: Patience,
    played: Sequence[JobState] = (),
) -> tuple[Family, list[JobState]]:
    """Follow a pipeline and its children to their end; each change is said on stderr.

    Of the `played` jobs the end is told as well: they are optional, so that their failure does not
    fail the pipeline. Raises GitLabError when it takes longer than the timeout.
    """
    keys = {each.key for each in played}
    for family in _looks(connection, pipeline, patience):
        if family.has_ended and family.is_settled:
            # A pipeline counts as ended until a moment after a job of it was played.
            jobs = [each for each in _jobs(connection, family) if each.key in keys] if keys else []
            if all(each.status in ENDED and each.status != "manual" for each in jobs):
                return family, jobs
    raise GitLabError(
        f"pipeline {pipeline.id} has not ended within {patience.timeout:g} s; it goes on: "
        f"{pipeline.web_url}"
    )


def play(
    connection: Connection,
    pipeline: ProjectPipeline,
    globs: Sequence[str],
    patience: Patience,
) -> list[JobState]:
    """Start the on-demand jobs that the globs name, as soon as they are there.

    What it returns are those that run now, also when somebody else had started them.

    Raises UsageError for a glob that no job matches, GitLabError after the timeout.
    """
    for family in _looks(connection, pipeline, patience):
        if not family.is_settled:
            continue
        jobs = list(_jobs(connection, family))
        _check_globs(globs, [each.name for each in jobs], pipeline)
        chosen = [job for job in jobs if any(fnmatch.fnmatchcase(job.name, glob) for glob in globs)]
        if any(each.status == "created" for each in chosen) and not family.has_ended:
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


def _check_globs(globs: Sequence[str], names: Sequence[str], pipeline: ProjectPipeline) -> None:
    for glob in globs:
        if not any(fnmatch.fnmatchcase(name, glob) for name in names):
            raise UsageError(
                f"--play {glob}: no job of pipeline {pipeline.id} or its children is named so"
                f"{did_you_mean(glob, names)}; the pipeline goes on: {pipeline.web_url}"
            )


def _looks(
    connection: Connection, pipeline: ProjectPipeline, patience: Patience
) -> Iterator[Family]:
    """The family, again and again until the timeout; what changed is said."""
    end = patience.clock.now() + patience.timeout
    said = ""
    while True:
        with connection.asking(f"reading pipeline {pipeline.id}", role="Reporter"):
            family = family_of(connection, pipeline)
        if str(family) != said:
            said = str(family)
            tell(said)
        yield family
        if patience.clock.now() + patience.interval > end:
            return
        patience.clock.sleep(patience.interval)


def _jobs(connection: Connection, family: Family) -> Iterator[JobState]:
    """Every job of the family, in its newest attempt."""
    for member in family.members:
        with connection.asking(f"listing the jobs of pipeline {member.id}", role="Reporter"):
            pipelines = connection.project_of(member.project_id).pipelines
            for job in pipelines.get(member.id, lazy=True).jobs.list(iterator=True):
                yield JobState(
                    project_id=member.project_id,
                    pipeline_id=member.id,
                    id=job.id,
                    name=job.name,
                    status=job.status,
                )


def _play_one(connection: Connection, job: JobState) -> None:
    """Play a job. To repeat it is safe: GitLab plays a job that waits only once."""
    jobs = connection.project_of(job.project_id).jobs
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
