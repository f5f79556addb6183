"""What `history` has fetched already, kept beside its output, so that no run fetches it twice."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from gpu_pipeline.console import tell
from gpu_pipeline.errors import UsageError
from gpu_pipeline.files import display, read_bytes, write_atomically
from gpu_pipeline.gitlab.measured import PastRun


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    format: Literal["gpu-pipeline history 1"] = "gpu-pipeline history 1"
    server: str
    project: str
    names: str
    runs: tuple[PastRun, ...]


class Cache:
    """The runs of one project on one server, on disk after each that is added.

    `names` identifies which jobs were looked at: a run that was read for others is read again.
    """

    def __init__(self, path: Path, *, server: str, project: str, names: str) -> None:
        self._path = path
        self._server, self._project, self._names = server, project, names
        self._runs = {run.pipeline: run for run in self._read()}
        self._asked: set[int] = set()

    def _read(self) -> tuple[PastRun, ...]:
        """What the file holds; nothing if it is damaged, too large or of other jobs: it is said."""
        if not self._path.exists():
            return ()
        try:
            file = msgspec.json.decode(read_bytes(self._path, "-o"), type=_File)
        except (UsageError, msgspec.DecodeError, RecursionError):
            tell(f"note: {display(self._path)} cannot be read and is begun anew")
            return ()
        if (file.server, file.project, file.names) != (self._server, self._project, self._names):
            tell(f"note: {display(self._path)} is of another project or routing and is begun anew")
            return ()
        return file.runs

    def get(self, pipeline: int, updated: str) -> PastRun | None:
        """A run that was fetched before and has not changed since."""
        self._asked.add(pipeline)
        run = self._runs.get(pipeline)
        return run if run is not None and run.updated == updated else None

    def add(self, run: PastRun) -> None:
        """Keep a run. Raises OutputError when it cannot be written."""
        self._runs[run.pipeline] = run
        self._write()

    def forget_others(self) -> None:
        """Drop the runs that nobody asked for, or the file would grow with each night.

        Raises OutputError when it cannot be written.
        """
        if self._runs.keys() - self._asked:
            self._runs = {number: self._runs[number] for number in self._runs.keys() & self._asked}
            self._write()

    def _write(self) -> None:
        file = _File(
            server=self._server,
            project=self._project,
            names=self._names,
            runs=tuple(self._runs[number] for number in sorted(self._runs)),
        )
        write_atomically(self._path, msgspec.json.encode(file).decode() + "\n")
