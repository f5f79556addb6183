"""The durations file: how long jobs took. `gitlab history` writes it, `plan` reads it.

A job's seconds are its run time on the runner, of successful jobs only. Times within a run count
from the creation of its child pipeline, in seconds.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gpu_pipeline.errors import FileError, Problem
from gpu_pipeline.files import display, read_bytes
from gpu_pipeline.problems import dotted

_Seconds = Annotated[float, Field(ge=0, le=10_000_000, allow_inf_nan=False)]
_Positive = Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)]


class _Entry(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class MeasuredJob(_Entry):
    """The run times of one job's newest successful attempts: median, 90th percentile and mean.

    `model` is None for a job that trains a whole family.
    """

    name: str
    task: str | None = None
    model: str | None = None
    pool: str
    samples: Annotated[int, Field(ge=1)]
    p50: _Positive
    p90: _Positive
    mean: _Positive
    newest: datetime.datetime


class RunJob(_Entry):
    """When a job of a run was created or became ready, began and ended."""

    name: str
    queued: _Seconds
    started: _Seconds
    finished: _Seconds


class MeasuredRun(_Entry):
    """One child pipeline with the jobs of it that succeeded."""

    pipeline: int
    created: datetime.datetime
    jobs: Annotated[tuple[RunJob, ...], Field(strict=False)]


class Durations(_Entry):
    """The whole file; `runs` stand newest first."""

    format: Literal["gpu-pipeline durations 1"] = "gpu-pipeline durations 1"
    jobs: Annotated[tuple[MeasuredJob, ...], Field(strict=False)]
    runs: Annotated[tuple[MeasuredRun, ...], Field(strict=False)] = ()


def read_durations(path: Path) -> Durations:
    """The file at `path`. Raises UsageError when unreadable, FileError with all that is wrong."""
    data = read_bytes(path, "--durations")
    try:
        return Durations.model_validate_json(data)
    except ValidationError as error:
        raise FileError(
            Problem(
                file=display(path),
                line=1,
                path=dotted(tuple(each["loc"])),
                message=f"{each['msg']}; `gitlab history` writes this file",
            )
            for each in error.errors(include_url=False)
        ) from None


def durations_text(durations: Durations) -> str:
    """The file's content; the same durations give the same text."""
    return durations.model_dump_json(indent=2) + "\n"
