"""The bytes of a job's log, piece by piece, as clean lines.

What GitLab Runner puts around the text is taken away: timestamps (FF_TIMESTAMPS, the default since
18.7), colours, marks of sections. A carriage return ends a line as a line feed does, so that each
state of a progress bar is a line of its own. Nothing longer than a line is ever kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gpu_pipeline.record import Record

_LONGEST = 16 * 2**10  # bytes of one line that are kept; what follows up to its end is dropped
_ENDS = re.compile(rb"[\r\n]")
# gitlab-runner docs/configuration/feature-flags: FF_TIMESTAMPS. Time, stream, kind, continuation.
_STAMP = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z ([0-9a-f]{2}[OE])([ +])")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_]?)")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SECTION = re.compile(r"section_(start|end):\d+:([\w.-]+)(?:\[[^\]]*\])?\s*")
# The runner's shell writers print each command in bold green before they run it
# (gitlab-runner: shells/bash.go, Noticef).
_COMMAND = re.compile(r"(?:\x1b\[0K)*\x1b\[32;1m\$ ")


class Line(Record):
    """One line of a log.

    `is_command` says that the shell echoes a command, which `text` then holds without its "$ ".
    A mark of a section is a line whose `section` is the section's name and `opens` its side.
    `is_cut`: the log breaks off in it, so that its text may lack its end.
    """

    text: str
    is_command: bool = False
    section: str = ""
    opens: bool = False
    is_cut: bool = False


def clean_lines(pieces: Iterable[bytes]) -> Iterator[Line]:
    """The lines of a log that comes in pieces of any size; empty ones are left out."""
    coloured = False
    for raw, is_cut in _joined(_raw_lines(pieces)):
        text = raw.decode("utf-8", "replace")
        coloured = coloured or "\x1b[" in text
        line = _line(text, coloured=coloured, is_cut=is_cut)
        if line.text or line.section:
            yield line


def _line(text: str, *, coloured: bool, is_cut: bool) -> Line:
    mark = _SECTION.match(_ESCAPE.sub("", text)) if "section_" in text else None
    if mark:
        return Line(text="", section=mark[2], opens=mark[1] == "start")
    # A log without any colour is of a runner that was told so: only the "$ " is left to go by.
    echo = _COMMAND.match(text) if coloured else re.match(r"\$ ", text)
    bare = text[echo.end() :] if echo else text
    bare = _CONTROL.sub("", _ESCAPE.sub("", bare)).rstrip()
    return Line(text=bare, is_command=echo is not None, is_cut=is_cut)


def _raw_lines(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each line and what ended it, b"" for the last one; shortened where it is too long."""
    held = b""
    for piece in pieces:
        start = 0
        for end in _ENDS.finditer(piece):
            yield (held + piece[start : end.start()])[:_LONGEST], end[0]
            held, start = b"", end.end()
        held = (held + piece[start:])[:_LONGEST]
    if held:
        yield held, b""


def _joined(lines: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bool]]:
    """The lines without their timestamps, continued ones put together; whether one is cut off.

    A `+` after the timestamp continues the line above it, if that one is of the same stream and
    ended by a line feed: what follows a carriage return stands alone.
    """
    held: bytes | None = None
    stream, ended_by = b"", b"\n"
    for raw, end in lines:
        stamp = _STAMP.match(raw)
        content = raw[stamp.end() :] if stamp else raw
        goes_on = stamp is not None and stamp[2] == b"+" and (stamp[1], b"\n") == (stream, ended_by)
        if held is not None and not goes_on:
            yield held, False
        held = (held + content)[:_LONGEST] if held is not None and goes_on else content
        stream, ended_by = (stamp[1] if stamp else b""), end
    if held is not None:
        yield held, not ended_by
