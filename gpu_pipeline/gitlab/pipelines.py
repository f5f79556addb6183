"""A pipeline and all that it triggered, as trees of plain facts.

The jobs of a child are behind its parent's bridges (trigger jobs), perhaps in another project, and
lists come in pages: whoever looks at the first page of the parent alone sees no training job.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterator, Mapping
from typing import Any

from gpu_pipeline.gitlab.attempts import Attempt, attempt_from, moment, newest_attempts
from gpu_pipeline.gitlab.connection import Connection
from gpu_pipeline.record import Record

# GitLab nests children two deep (doc/ci/pipelines/downstream_pipelines); pipelines of other
# projects may trigger each other further, or in a circle.
MAX_DEPTH = 4
# doc/api/pipelines: what a pipeline may stay in for ever. `manual` waits for somebody.
ENDED = frozenset(("success", "failed", "canceled", "skipped", "manual"))
FAILED = frozenset(("failed", "canceled"))


class JobsOf(enum.Enum):
    """Whose jobs a walk reads: those of the pipeline that triggers others do not train."""

    NONE = enum.auto()
    CHILDREN = enum.auto()
    ALL = enum.auto()


class Bridge(Record):
    """The newest attempt of a trigger job, and the pipeline that it started, if it did.

    `is_cut`: it started one that was not looked into, for it is too deep or was seen before.
    """

    attempt: Attempt
    downstream: Node | None
    is_cut: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it may still create its pipeline."""
        return self.downstream is None and not self.is_cut and not self.attempt.is_finished


class Node(Record):
    """One pipeline; of each job the newest attempt.

    `is_tag`: `ref` is a tag. Of pipelines that another one started GitLab does not say it.
    """

    id: int
    project: int | str
    status: str
    source: str
    ref: str
    url: str
    created: datetime.datetime | None
    jobs: tuple[Attempt, ...]
    bridges: tuple[Bridge, ...]
    is_tag: bool = False

    def all_nodes(self) -> Iterator[Node]:
        """This pipeline and all below it."""
        yield self
        for bridge in self.bridges:
            if bridge.downstream:
                yield from bridge.downstream.all_nodes()

    def all_bridges(self) -> Iterator[Bridge]:
        """The bridges of this pipeline and of all below it."""
        return (bridge for node in self.all_nodes() for bridge in node.bridges)

    def all_jobs(self) -> Iterator[Attempt]:
        """The jobs of this pipeline and of all below it, as far as they were read."""
        return (job for node in self.all_nodes() for job in node.jobs)

    @property
    def is_settled(self) -> bool:
        """Whether all children are there that will come by themselves."""
        if any(node.is_about_to_trigger for node in self.all_nodes()):
            return False
        # One that has only just been created has no trigger job yet.
        return self.status in ENDED or any(bridge.downstream for bridge in self.bridges)

    @property
    def is_about_to_trigger(self) -> bool:
        """Whether a trigger job of it, to which something still leads, will start a pipeline."""
        held = ("manual", "created") if self.status in ENDED else ("manual",)
        return any(each.is_open and each.attempt.status not in held for each in self.bridges)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will happen by itself, here and below."""
        return self.is_settled and all(node.status in ENDED for node in self.all_nodes())

    @property
    def statuses(self) -> str:
        """This pipeline and all below it in a line."""
        return ", ".join(f"pipeline {node.id} {node.status}" for node in self.all_nodes())


def short_ref(ref: str) -> str:
    """A branch or tag as pipelines show it; schedules have its full name."""
    return ref.removeprefix("refs/heads/").removeprefix("refs/tags/")


def walk(connection: Connection, pipeline: int, *, jobs: JobsOf = JobsOf.CHILDREN) -> Node:
    """Read a pipeline and everything below it. Raises GitLabError.

    Requests: one for the pipeline, then for each pipeline one for every hundred bridges and, of
    those whose `jobs` are asked for, one for every hundred jobs.
    """
    with connection.asking(f"pipeline {pipeline}", role="Reporter"):
        found = connection.project.pipelines.get(pipeline)
        return _Walk(connection, jobs).node(found.attributes, depth=0)


class _Walk:
    def __init__(self, connection: Connection, jobs: JobsOf) -> None:
        self._connection = connection
        self._jobs = jobs
        self._seen: set[int] = set()

    def node(self, facts: Mapping[str, Any], *, depth: int) -> Node:
        number, project = int(facts["id"]), facts["project_id"]
        self._seen.add(number)
        lazy = self._connection.project_of(project).pipelines.get(number, lazy=True)
        bridges = [
            (attempt_from(each.attributes, project=project, pipeline=number), each.attributes)
            for each in lazy.bridges.list(iterator=True, include_retried=True)
        ]
        jobs: list[Attempt] = []
        trains = self._jobs is JobsOf.CHILDREN and (depth > 0 or not bridges)
        if trains or self._jobs is JobsOf.ALL:
            jobs = newest_attempts(
                attempt_from(each.attributes, project=project, pipeline=number)
                for each in lazy.jobs.list(iterator=True, include_retried=True)
            )
        raw = {attempt.id: attributes for attempt, attributes in bridges}
        newest = newest_attempts(attempt for attempt, _ in bridges)
        return Node(
            id=number,
            project=project,
            status=str(facts.get("status") or ""),
            source=str(facts.get("source") or ""),
            ref=str(facts.get("ref") or ""),
            url=str(facts.get("web_url") or ""),
            created=moment(facts.get("created_at")),
            jobs=tuple(jobs),
            bridges=tuple(self._bridge(each, raw[each.id], depth) for each in newest),
            is_tag=facts.get("tag") is True,
        )

    def _bridge(self, attempt: Attempt, facts: Mapping[str, Any], depth: int) -> Bridge:
        below = facts.get("downstream_pipeline")
        if not below:
            return Bridge(attempt=attempt, downstream=None)
        if depth + 1 >= MAX_DEPTH or int(below["id"]) in self._seen:
            return Bridge(attempt=attempt, downstream=None, is_cut=True)
        return Bridge(attempt=attempt, downstream=self.node(below, depth=depth + 1))
