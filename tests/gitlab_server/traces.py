"""Job logs as a runner writes them: timestamps, stream marks, colours and section marks."""

from __future__ import annotations

import datetime
from collections.abc import Iterable


def raw_trace(
    lines: Iterable[str | bytes],
    *,
    start: datetime.datetime | None = None,
    timestamps: bool = True,
    step: float = 1.0,
) -> bytes:
    """A log of `lines`, which stand for themselves, one every `step` seconds.

    Texts get the escapes that the runner puts around its lines; bytes stay as they are. With
    `timestamps` (FF_TIMESTAMPS, the runner's default since 18.7) each line begins with its time and
    stream. `section:NAME` and `end:NAME` become marks of a section.
    """
    now = start or datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    out = []
    for line in lines:
        stamp = f"{now:%Y-%m-%dT%H:%M:%S.%f}Z 00O ".encode() if timestamps else b""
        out.append(stamp + _body(line, int(now.timestamp())) + b"\n")
        now += datetime.timedelta(seconds=step)
    return b"".join(out)


def _body(line: str | bytes, seconds: int) -> bytes:
    if isinstance(line, bytes):
        return line
    for mark, word in (("section:", "section_start"), ("end:", "section_end")):
        if line.startswith(mark):
            return f"{word}:{seconds}:{line.removeprefix(mark)}\r\x1b[0K".encode()
    if line.startswith("ERROR: "):
        return f"\x1b[31;1m{line}\x1b[0;m".encode()
    if line.startswith("$ "):
        return f"\x1b[32;1m{line}\x1b[0;m".encode()
    return f"\x1b[0K{line}\x1b[0;m".encode()
