"""What a check says: a code, how bad it is, where it stands, why, and what to do."""

from __future__ import annotations

import enum
from typing import Self

from gpu_pipeline.problems import Origin
from gpu_pipeline.record import Record


class Severity(enum.StrEnum):
    """How bad a finding is. An error fails, or does something else than was meant."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Place(Record, order=True):
    """Where a finding stands: a file and line (from 1), a job and a key of it, as far as known."""

    file: str
    line: int = 0
    job: str = ""
    key: str = ""

    @classmethod
    def at(cls, origin: Origin) -> Self:
        """The place of a key of routing.toml."""
        return cls(file=origin.file, line=origin.line, key=origin.path)

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        subject = f"{self.job}:{self.key}" if self.job and self.key else self.job or self.key
        return f"{where}: {subject}" if subject else where


class Finding(Record):
    """One finding; `code` is stable and has its page in docs/findings."""

    code: str
    severity: Severity
    place: Place
    message: str
    fix: str

    def __str__(self) -> str:
        """The finding in one line, as compilers print them."""
        return f"{self.place}: {self.severity} {self.code}: {self.message}; {self.fix}"

    @property
    def sort_key(self) -> tuple[Place, str, str]:
        """Findings are shown in the order of files and lines."""
        return self.place, self.code, self.message
