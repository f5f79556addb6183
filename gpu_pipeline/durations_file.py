"""The durations file: how long jobs took. `gitlab history` writes it, `plan` and `watch` read it.

A job's seconds are its run time on the runner, of successful jobs only. Times within a run count
from the creation of its child pipeline, in seconds.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gpu_pipeline.errors import FileError, Problem
from gpu_pipeline.files import display, read_bytes
from gpu_pipeline.problems import dotted
from gpu_pipeline.validation import converted, faults

_Seconds = Annotated[float, Meta(ge=0, le=10_000_000)]
_Positive = Annotated[float, Meta(gt=0, le=10_000_000)]


class _Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the file, without keys that it does not know."""


class MeasuredJob(_Entry, frozen=True, kw_only=True):
    """The run times of one job's newest successful attempts: median, 90th percentile and mean.

    `model` is None for a job that trains a whole family.
    """

    name: str
    task: str | None = None
    model: str | None = None
    pool: str
    samples: Annotated[int, Meta(ge=1)]
    p50: _Positive
    p90: _Positive
    mean: _Positive
    newest: datetime.datetime


class RunJob(_Entry, frozen=True, kw_only=True):
    """When a job of a run was created or became ready, began and ended."""

    name: str
    queued: _Seconds
    started: _Seconds
    finished: _Seconds

    def __post_init__(self) -> None:
        if not self.started <= self.finished:
            raise ValueError("finished before it started")


class MeasuredRun(_Entry, frozen=True, kw_only=True):
    """One child pipeline with the jobs of it that succeeded."""

    pipeline: int
    created: datetime.datetime
    jobs: tuple[RunJob, ...]


class Durations(_Entry, frozen=True, kw_only=True):
    """The whole file; `runs` stand newest first."""

    format: Literal["gpu-pipeline durations 1"] = "gpu-pipeline durations 1"
    jobs: tuple[MeasuredJob, ...]
    runs: tuple[MeasuredRun, ...] = ()


def read_durations(path: Path) -> Durations:
    """The file at `path`. Raises UsageError when unreadable, FileError with all that is wrong."""
    data = read_bytes(path, "--durations")
    try:
        content = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise FileError([_problem(path, "", f"is not JSON that can be read: {error}")]) from None
    try:
        return converted(content, Durations)
    except msgspec.ValidationError:
        found = faults(content, Durations)
    raise FileError(_problem(path, dotted(fault.path), fault.message) for fault in found)


def _problem(path: Path, key: str, message: str) -> Problem:
    message = f"{message}; `gitlab history` writes this file"
    return Problem(file=display(path), line=1, path=key, message=message)


def durations_text(durations: Durations) -> str:
    """The file's content; the same durations give the same text."""
    return msgspec.json.format(msgspec.json.encode(durations), indent=2).decode() + "\n"
