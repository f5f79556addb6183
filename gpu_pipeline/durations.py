"""Durations as GitLab spells them in `timeout`: "12h", "1h 30m", "90 minutes"."""

from __future__ import annotations

import re

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_WORDS = {
    word: seconds
    for letter, words in {
        "s": "s sec secs second seconds",
        "m": "m min mins minute minutes",
        "h": "h hr hrs hour hours",
        "d": "d day days",
        "w": "w week weeks",
    }.items()
    for seconds in [_SECONDS[letter]]
    for word in words.split()
}
_PART = re.compile(r"\s*([0-9]{1,9})\s*([a-z]+)\s*")
# GitLab refuses a job timeout above one month (doc/ci/yaml: timeout).
MAX_TIMEOUT_SECONDS = 30 * _SECONDS["d"]


class DurationError(ValueError):
    """The text is not a duration with units."""


def parse_duration(text: str) -> int:
    """Seconds of a duration such as "1h 30m". Raises DurationError.

    Only whole numbers with a unit are taken: GitLab reads a bare "90" as seconds, which nobody
    means, and its parser guesses at anything else.
    """
    total = position = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None or part[2] not in _WORDS:
            break
        total += int(part[1]) * _WORDS[part[2]]
        position = part.end()
    if position < len(text) or not total:
        raise DurationError(f'"{text}" is not a duration; write for example "12h" or "1h 30m"')
    return total


def format_duration(seconds: float) -> str:
    """Hours and minutes, as short as they can be said: "12h", "2h 27m", "45s"."""
    if seconds < 60:
        return f"{round(seconds)}s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join(f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m")) if n)
