"""Collects everything that is wrong with routing.toml, each with the line it stands in."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from gpu_pipeline.errors import Problem, RoutingError
from gpu_pipeline.record import Record
from gpu_pipeline.toml_lines import Path


class Origin(Record):
    """Where a value stands: a file, a line (from 1) and the key."""

    file: str
    line: int
    key: Path

    @property
    def path(self) -> str:
        """The key as TOML would write it."""
        return dotted(self.key)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Problems:
    """The problems of one file, in the making."""

    def __init__(self, file: str, lines: Mapping[Path, int]) -> None:
        self.file = file
        self._lines = lines
        self._origins: dict[Path, Origin] = {}
        self._found: list[Problem] = []
        self._cut: set[Path] = set()
        self._noted: set[Path] = set()

    def add(self, path: Path, message: str) -> None:
        """Note a problem with the key at `path`, unless its value was cut out already."""
        if path in self._cut:
            return
        self._noted.add(path)
        origin = self.origin(path)
        self._found.append(
            Problem(file=self.file, line=origin.line, path=origin.path, message=message)
        )

    def origin(self, path: Path) -> Origin:
        """Where `path` stands; a key that is not in the file stands where its table begins."""
        if path not in self._origins:
            known = path
            while known and known not in self._lines:
                known = known[:-1]
            line = self._lines.get(known, 1)
            self._origins[path] = Origin(file=self.file, line=line, key=path)
        return self._origins[path]

    def cut(self, path: Path, message: str) -> None:
        """Note a problem with a value of the wrong shape, which nobody will see any further."""
        self.add(path, message)
        self._cut.add(path)

    def has_cut(self, path: Path) -> bool:
        """Whether the value at `path`, something in it or the table around it was cut out."""
        return any(cut[: len(path)] == path[: len(cut)] for cut in self._cut)

    def has_cut_last(self, key: str) -> bool:
        """Whether a value of a key of this name, or an item of it, was cut out anywhere."""
        return any(
            [part for part in cut if isinstance(part, str)][-1:] == [key] for cut in self._cut
        )

    def has_noted(self, last: str) -> bool:
        """Whether a problem was found with a key of this name, anywhere."""
        return any(path[-1:] == (last,) for path in self._noted)

    def any(self) -> bool:
        """Whether anything was found so far."""
        return bool(self._found)

    def raise_if_any(self) -> None:
        """Raise RoutingError with everything found so far."""
        if self._found:
            raise RoutingError(self._found)


def dotted(path: Path) -> str:
    """A path as TOML would write it, with array items in brackets: `families.rl.models[1]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            plain = re.fullmatch(r"[A-Za-z0-9_-]+", part)
            text += ("." if text else "") + (part if plain else json.dumps(part))
    return text
