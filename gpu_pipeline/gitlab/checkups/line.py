"""One line of a check-up, and asking the server for what a line needs."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeVar

from gitlab.v4.objects import Project

from gpu_pipeline.ci_file import CiFile
from gpu_pipeline.errors import RefusedError
from gpu_pipeline.gitlab.connection import Connection
from gpu_pipeline.loading import LoadedRouting
from gpu_pipeline.record import Record

T = TypeVar("T")


class Level(enum.StrEnum):
    """An error keeps the night from working; a warning may, or could not be looked at."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


class Line(Record):
    """What was found about a subject, and how to mend it."""

    level: Level
    subject: str
    message: str
    fix: str = ""


class Unread(Line, kw_only=True):
    """A warning about what may not be read; `status` is what GitLab answered."""

    status: int | None


class Case(Record):
    """What all check-ups look at; `protected` is whether the branch is, None when unknown."""

    connection: Connection
    project: Project
    routed: LoadedRouting
    parent: CiFile
    ref: str
    protected: bool | None


def ok(subject: str, message: str) -> Line:
    """A line about something that is as it should be."""
    return Line(level=Level.OK, subject=subject, message=message)


def warning(subject: str, message: str, fix: str) -> Line:
    """A line about something that may go wrong."""
    return Line(level=Level.WARNING, subject=subject, message=message, fix=fix)


def error(subject: str, message: str, fix: str) -> Line:
    """A line about something that will go wrong."""
    return Line(level=Level.ERROR, subject=subject, message=message, fix=fix)


def ask(connection: Connection, subject: str, role: str, read: Callable[[], T]) -> T | Unread:
    """What `read` reads, or a line that says why it may not be read.

    Raises GitLabError when the server cannot be reached or does not take the token at all.
    """
    try:
        with connection.asking(f"reading {subject}", role=role):
            return read()
    except RefusedError as refused:
        if refused.status == 401:
            raise
        return Unread(
            level=Level.WARNING,
            subject=subject,
            message=f"cannot be checked: {refused}",
            fix=f"use a token with the role {role}",
            status=refused.status,
        )
