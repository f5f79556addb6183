"""Reads a job's log from the server, piece by piece, and no further than it is needed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http import HTTPStatus

import requests

from gpu_pipeline.errors import GitLabError, RefusedError
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.bodies import pieces
from gpu_pipeline.gitlab.connection import Connection
from gpu_pipeline.gitlab.evidence import Evidence, read_evidence
from gpu_pipeline.gitlab.trace import clean_lines

_MOST = 2 * 2**30  # bytes; GitLab's own limit is 100 MB by default, and beyond this a log is cut
_A_SIGN_OF_LIFE = 2**16  # bytes that must come within the deadline, again and again
_PAUSE = 0.2  # seconds, doubled with each further try
# Before these a runner has nothing to write; what a job that waits is asked for would be empty.
_SILENT = frozenset(("created", "manual", "scheduled", "waiting_for_resource", "pending"))


def read_log(
    connection: Connection, attempt: Attempt, *, deadline: float, commands: int | None = None
) -> Evidence:
    """What the log of a job says, or its beginning until so many `commands` have run.

    Nothing for a job that cannot have a log yet, or whose log is gone: it expired, or somebody
    erased it. The connection may break while the log is read;
    then it is read again from its start, for `deadline` seconds. Raises GitLabError when they are
    over, or for a refusal.
    """
    if attempt.status in _SILENT or (attempt.status == "skipped" and attempt.started is None):
        return Evidence()
    what = f"the log of job {attempt.id} ({attempt.name})"
    began, pause = time.monotonic(), _PAUSE
    while True:
        try:
            with connection.asking(what, role="Reporter"):
                return _read(connection, attempt, deadline, commands)
        except RefusedError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return Evidence()
        except _BrokenError as error:
            if time.monotonic() - began + pause > deadline:
                raise GitLabError(
                    f"{what}: the connection broke or stood still for {deadline:g} s "
                    f"({error}); --deadline gives it longer"
                ) from None
            time.sleep(pause)
            pause *= 2


class _BrokenError(Exception):
    """The connection ended before the log did."""


def _read(
    connection: Connection, attempt: Attempt, deadline: float, commands: int | None
) -> Evidence:
    """The response is asked for raw, for only so it can be closed early."""
    project = connection.project_of(attempt.project)
    response = connection.client.http_get(
        f"/projects/{project.encoded_id}/jobs/{attempt.id}/trace", streamed=True, raw=True
    )
    if not isinstance(response, requests.Response):
        raise TypeError(f"a response was expected, not {type(response).__name__}")
    with response:
        return read_evidence(clean_lines(_pieces(response, deadline)), commands=commands)


def _pieces(response: requests.Response, deadline: float) -> Iterator[bytes]:
    """The log as it arrives, as long as it does arrive."""
    began, received, total = time.monotonic(), 0, 0
    try:
        for piece in pieces(response):
            yield piece
            received, total = received + len(piece), total + len(piece)
            if total > _MOST:
                return
            if time.monotonic() - began > deadline:
                if received < _A_SIGN_OF_LIFE:
                    raise _BrokenError("it hardly moves")
                began, received = time.monotonic(), 0
    except requests.ConnectionError as error:
        raise _BrokenError(str(error)) from None
