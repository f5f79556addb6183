"""What a person or a pipe sees: results on stdout, everything else on stderr.

Texts from files and the environment may be quoted in either; control characters are shown, never
sent, so that no value can move the cursor or reorder a line. Secrets are never shown.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Literal

from gpu_pipeline.errors import OutputError

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


_SHORTEST_SECRET = 8
_secrets: set[str] = set()


def conceal(secret: str) -> None:
    """From now on whatever is shown has [MASKED] in place of `secret`.

    Words too short to be a token are not looked for: they would stand in ordinary text as well.
    """
    if len(secret) >= _SHORTEST_SECRET:
        _secrets.add(secret)


def masked(text: str) -> str:
    """`text` without secrets."""
    for secret in _secrets:
        text = text.replace(secret, "[MASKED]")
    return text


def printable(text: str) -> str:
    """`text` with control, direction and broken characters as escapes, which JSON takes too."""
    text = masked(text)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_asked = {"quiet": False}


def hush(*, quiet: bool) -> None:
    """Whether `tell` is silent from now on."""
    _asked["quiet"] = quiet


def tell(message: str) -> None:
    """A line on stderr that is no error, unless --quiet."""
    if not _asked["quiet"]:
        say(message)


def say(message: str) -> None:
    """A line on stderr. When nobody can read stderr there is nobody to tell."""
    if sys.stderr is None:
        return
    text = printable(message)
    if wants_colour("stderr"):
        from gpu_pipeline.colours import painted

        text = painted(text)
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _forget(sys.stderr.fileno())


def write_result(text: str, *, otherwise: str = "") -> None:
    """Exactly `text` on stdout, in UTF-8 whatever the locale.

    `otherwise` says what writes elsewhere, for where there is no stdout. Raises OutputError when it
    cannot be written; BrokenPipeError when the reader has gone.
    """
    if sys.stdout is None:
        raise OutputError(f"stdout is closed{f'; {otherwise}' if otherwise else ''}")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(masked(text).encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        _forget(sys.stdout.fileno())
        raise
    except OSError as error:
        _forget(sys.stdout.fileno())
        raise OutputError(f"stdout cannot be written ({error.strerror})") from None


def show(text: str, *, paint: Callable[[str], str] | None = None, otherwise: str = "") -> None:
    """A report on stdout, in printable characters; `paint` puts colours on them.

    `otherwise` and what it raises are those of `write_result`.
    """
    text = printable(text)
    write_result((paint(text) if paint else text) + "\n", otherwise=otherwise)


def wants_colour(stream: Literal["stdout", "stderr"]) -> bool:
    """Whether whoever reads the stream sees colours and wants them.

    NO_COLOR and FORCE_COLOR count when they are not empty (no-color.org, force-color.org), the
    first one more.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    file = sys.stdout if stream == "stdout" else sys.stderr
    return file is not None and file.isatty() and os.environ.get("TERM") != "dumb"


def _forget(descriptor: int) -> None:
    """Send what is still buffered nowhere, so that Python does not complain about it at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)
