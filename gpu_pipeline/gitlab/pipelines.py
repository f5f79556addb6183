"""A pipeline and all that it triggered, as trees of plain facts.

The jobs of a child are behind its parent's bridges (trigger jobs), perhaps in another project, and
lists come in pages: whoever looks at the first page of the parent alone sees no training job.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpu_pipeline.gitlab.attempts import Attempt, attempt_from, moment, newest_attempts
from gpu_pipeline.gitlab.connection import Connection

# GitLab nests children two deep (doc/ci/pipelines/downstream_pipelines); pipelines of other
# projects may trigger each other further, or in a circle.
MAX_DEPTH = 4
CHILD_SOURCE = "parent_pipeline"


@dataclass(frozen=True, kw_only=True)
class Bridge:
    """The newest attempt of a trigger job, and the pipeline that it started, if it did.

    `is_cut`: it started one that was not looked into, for it is too deep or was seen before.
    """

    attempt: Attempt
    downstream: Node | None
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class Node:
    """One pipeline; of each job the newest attempt."""

    id: int
    project: int | str
    status: str
    source: str
    ref: str
    url: str
    created: datetime.datetime | None
    jobs: tuple[Attempt, ...]
    bridges: tuple[Bridge, ...]

    def all_nodes(self) -> Iterator[Node]:
        """This pipeline and all below it."""
        yield self
        for bridge in self.bridges:
            if bridge.downstream:
                yield from bridge.downstream.all_nodes()

    def all_bridges(self) -> Iterator[Bridge]:
        """The bridges of this pipeline and of all below it."""
        return (bridge for node in self.all_nodes() for bridge in node.bridges)


def walk(connection: Connection, pipeline: int, *, parents_jobs: bool = False) -> Node:
    """Read a pipeline and everything below it. Raises GitLabError.

    Requests: one for the pipeline, then for each pipeline one for every hundred jobs and one for
    every hundred bridges. The jobs of a pipeline that triggers others are left out unless
    `parents_jobs` asks for them: they are not those that train.
    """
    with connection.asking(f"pipeline {pipeline}", role="Reporter"):
        found = connection.project.pipelines.get(pipeline)
        facts = {**found.attributes, "project_id": connection.project_path}
        return _Walk(connection, parents_jobs=parents_jobs).node(facts, depth=0)


class _Walk:
    def __init__(self, connection: Connection, *, parents_jobs: bool) -> None:
        self._connection = connection
        self._parents_jobs = parents_jobs
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
        if not bridges or depth or self._parents_jobs:
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
        )

    def _bridge(self, attempt: Attempt, facts: Mapping[str, Any], depth: int) -> Bridge:
        below = facts.get("downstream_pipeline")
        if not below:
            return Bridge(attempt=attempt, downstream=None)
        if depth + 1 >= MAX_DEPTH or int(below["id"]) in self._seen:
            return Bridge(attempt=attempt, downstream=None, is_cut=True)
        return Bridge(attempt=attempt, downstream=self.node(below, depth=depth + 1))
