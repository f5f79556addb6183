"""The progress of a pipeline: what it waits for, what changed, when it may end."""

from __future__ import annotations

import datetime

import pytest

from gpu_pipeline.gitlab.attempts import Attempt, newest_attempts
from gpu_pipeline.gitlab.pipelines import Bridge, Node
from gpu_pipeline.gitlab.progress import (
    Expected,
    Progress,
    changes,
    forecast,
    progress_of,
    standing,
)

NOW = datetime.datetime(2026, 1, 2, 3, 0, tzinfo=datetime.UTC)


def attempt(number: int, name: str, status: str, *, since: float | None = None) -> Attempt:
    started = None if since is None else NOW - datetime.timedelta(seconds=since)
    ended = status in ("success", "failed")
    return Attempt(
        id=number,
        name=name,
        status=status,
        project=7,
        pipeline=2,
        started=started,
        duration=since if ended else None,
    )


def node(*jobs: Attempt, status: str = "running", bridges: tuple[Bridge, ...] = ()) -> Node:
    return Node(
        id=2, project=7, status=status, source="schedule", ref="main", url="", created=NOW,
        jobs=jobs, bridges=bridges,
    )  # fmt: skip


def expected(lane: str = "l4/1", seconds: float | None = 1000.0, lanes: int = 1) -> Expected:
    return Expected(pool="l4", lane=lane, lanes=lanes, seconds=seconds)


def look(*jobs: Attempt, known: dict[str, Expected], status: str = "running") -> Progress:
    return progress_of(node(*jobs, status=status), known, {}, NOW)


def seconds_left(progress: Progress) -> float | None:
    return None if progress.end is None else (progress.end - NOW).total_seconds()


@pytest.mark.parametrize(
    ("jobs", "known", "left"),
    [
        pytest.param([("a", "running", 400)], {"a": expected()}, 600, id="what is left"),
        pytest.param([("a", "running", 4000)], {"a": expected()}, 0, id="late, so any moment"),
        pytest.param(
            [("a", "running", 400), ("b", "waiting_for_resource", None)],
            {"a": expected(), "b": expected()}, 1600, id="one after another in a lane",
        ),
        pytest.param(
            [("a", "running", 400), ("b", "running", 100)],
            {"a": expected("l4/1"), "b": expected("l4/2")}, 900, id="lanes side by side",
        ),
        pytest.param(
            [("a", "pending", None), ("b", "pending", None), ("c", "pending", None)],
            {name: expected("l4", lanes=2) for name in "abc"}, 2000, id="a pool without groups",
        ),
        pytest.param(
            [("a", "success", 900), ("b", "running", 1)],
            {"a": expected(seconds=None), "b": expected()}, 999, id="what has ended is no matter",
        ),
        pytest.param(
            [("a", "manual", None), ("b", "running", 1)],
            {"a": expected(seconds=None), "b": expected()}, 999, id="nor is what nobody starts",
        ),
        pytest.param(
            [("generate", "running", 1), ("b", "running", 1)],
            {"b": expected()}, 999, id="jobs that do not train are left out",
        ),
        pytest.param([("a", "running", 1)], {"a": expected(seconds=None)}, None, id="unknown"),
        pytest.param([("generate", "running", 1)], {"a": expected()}, None, id="no child yet"),
    ],
)  # fmt: skip
def test_the_end_is_forecast(
    jobs: list[tuple[str, str, float | None]], known: dict[str, Expected], left: float | None
) -> None:
    progress = look(
        *(attempt(n, *job[:2], since=job[2]) for n, job in enumerate(jobs)), known=known
    )
    assert seconds_left(progress) == left


def test_an_unknown_forecast_names_the_jobs_at_fault() -> None:
    names = ["a", "b", "c", "d"]
    progress = look(
        *(attempt(n, name, "pending") for n, name in enumerate(names)),
        known=dict.fromkeys(names, expected(seconds=None)),
    )
    assert forecast(progress).endswith("nobody knows how long a, b, c and 1 more takes")


def test_only_changes_are_told() -> None:
    known = {"a": expected(), "b": expected("l4/2", None)}
    first = look(attempt(1, "a", "running", since=5), attempt(2, "b", "pending"), known=known)
    assert list(changes(None, first))[:2] == [
        "a: running on l4, expected to take 17m",
        "b: pending on l4, waits for a runner",
    ]
    again = look(attempt(1, "a", "running", since=9), attempt(2, "b", "pending"), known=known)
    assert list(changes(first, again)) == []
    later = look(attempt(1, "a", "success", since=600), attempt(2, "b", "pending"), known=known)
    told = list(changes(again, later))
    assert told[0] == "a: success on l4, took 10m"
    assert told[1].startswith("pipeline 2 running; 1 of 2 jobs ended; ")


def test_a_retried_job_says_its_attempt() -> None:
    jobs = [attempt(5, "a", "failed", since=1), attempt(9, "a", "running", since=1)]
    (newest,) = newest_attempts(jobs)
    assert (newest.id, newest.older) == (9, 1)
    assert next(changes(None, look(newest, known={}))) == "a: running (attempt 2)"


def test_the_reason_why_a_pod_waits_is_told() -> None:
    job = attempt(1, "a", "running", since=5)
    progress = progress_of(node(job), {}, {1: "Unschedulable: 0/1 nodes"}, NOW)
    assert next(changes(None, progress)) == (
        "a: running, waits for its pod: Unschedulable: 0/1 nodes"
    )


@pytest.mark.parametrize(
    ("status", "below", "ended", "failed"),
    [
        ("success", "success", True, False),
        ("success", "skipped", True, False),  # a child of optional buttons
        ("success", "manual", True, False),
        ("success", "failed", True, True),
        ("failed", "failed", True, True),
        ("canceled", "success", True, True),
        ("success", "running", False, False),
        ("running", "success", False, False),
        ("success", None, False, False),
    ],
)
def test_it_has_ended_when_everything_below_has(
    status: str, below: str | None, ended: bool, failed: bool
) -> None:
    child = node(status=below) if below else None
    bridge = attempt(1, "train", "success" if below else "pending")
    bridges = (Bridge(attempt=bridge, downstream=child),)
    progress = progress_of(node(status=status, bridges=bridges), {}, {}, NOW)
    assert (progress.has_ended, progress.failed) == (ended, failed)


def test_on_demand_jobs_are_counted_apart() -> None:
    jobs = [attempt(1, "a", "manual"), attempt(2, "b", "success", since=1)]
    assert "1 of 1 jobs ended, 1 more on demand; ended" in standing(
        look(*jobs, known={}, status="success")
    )
