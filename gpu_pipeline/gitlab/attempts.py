"""What GitLab's API says of a job: one attempt of it, and which attempt is the newest."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from gpu_pipeline.record import Record

# doc/api/jobs: statuses; pipelines have these too. A job of another status still waits or runs.
FINISHED = frozenset(("success", "failed", "canceled", "skipped"))
NOT_STARTED = frozenset(("created", "scheduled"))


class Attempt(Record):
    """One job of the API; times in seconds, None where GitLab gives none.

    `older` is the number of earlier attempts of the same job.
    """

    id: int
    name: str
    status: str
    project: int | str
    pipeline: int
    failure_reason: str = ""
    stage: str = ""
    url: str = ""
    runner: str = ""
    duration: float | None = None
    queued: float | None = None
    created: datetime.datetime | None = None
    started: datetime.datetime | None = None
    finished: datetime.datetime | None = None
    older: int = 0

    @property
    def is_finished(self) -> bool:
        """Whether nothing more will happen to it by itself."""
        return self.status in FINISHED


def attempt_from(facts: Mapping[str, Any], *, project: int | str, pipeline: int) -> Attempt:
    """An attempt from a job or bridge as the API describes it (doc/api/jobs)."""
    runner = facts.get("runner") or {}
    return Attempt(
        id=int(facts["id"]),
        name=str(facts["name"]),
        status=str(facts["status"]),
        project=project,
        pipeline=pipeline,
        failure_reason=str(facts.get("failure_reason") or ""),
        stage=str(facts.get("stage") or ""),
        url=str(facts.get("web_url") or ""),
        runner=str(runner.get("description") or ""),
        duration=_seconds(facts.get("duration")),
        queued=_seconds(facts.get("queued_duration")),
        created=moment(facts.get("created_at")),
        started=moment(facts.get("started_at")),
        finished=moment(facts.get("finished_at")),
    )


def newest_attempts(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The newest attempt of each job, by its id, with the number of older ones; oldest first."""
    newest: dict[str, Attempt] = {}
    numbers: dict[str, int] = {}
    for each in attempts:
        numbers[each.name] = numbers.get(each.name, -1) + 1
        if each.name not in newest or each.id > newest[each.name].id:
            newest[each.name] = each
    found = (replace(each, older=numbers[name]) for name, each in newest.items())
    return sorted(found, key=lambda each: each.id)


def moment(text: object) -> datetime.datetime | None:
    """A time of the API, such as 2026-01-02T03:04:05.000Z; None for anything else."""
    try:
        found = datetime.datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found.replace(tzinfo=datetime.UTC) if found and found.tzinfo is None else found


def _seconds(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]
