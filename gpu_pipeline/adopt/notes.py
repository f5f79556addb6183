"""What a person must know about an adopted file besides the routing itself."""

from __future__ import annotations

import enum

from gpu_pipeline.record import Record


class Kind(enum.StrEnum):
    """How much a note matters; the order is that of the report."""

    LOST = "could not express"
    MISSING = "to fill in"
    ASSUMED = "assumed"
    LEFT_OUT = "left out"


class Note(Record):
    """Something about a line of the hand-written file; `about` is a job and key, or ""."""

    kind: Kind
    line: int
    about: str
    message: str


class Notes:
    """The notes of one run, each once."""

    def __init__(self) -> None:
        self._found: dict[Note, None] = {}

    def add(self, kind: Kind, line: int, about: str, message: str) -> None:
        """Note something about a line, counted from 1."""
        self._found[Note(kind=kind, line=line, about=about, message=message)] = None

    def lost(self, line: int, about: str, message: str) -> None:
        """Something that no routing or template can say."""
        self.add(Kind.LOST, line, about, message)

    def assumed(self, line: int, about: str, message: str) -> None:
        """Something that the file does not say, or not so."""
        self.add(Kind.ASSUMED, line, about, message)

    def of(self, kind: Kind) -> list[Note]:
        """The notes of a kind, in the order of the lines."""
        return sorted(
            (note for note in self._found if note.kind is kind),
            key=lambda note: (note.line, note.about, note.message),
        )
