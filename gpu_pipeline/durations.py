"""Durations such as "12h", "1h 30m" or "90 minutes", as GitLab reads them (chronic_duration)."""

from __future__ import annotations

import functools
import math
import re

UNITS = {
    **dict.fromkeys(("seconds", "second", "secs", "sec", "s"), 1),
    **dict.fromkeys(("minutes", "minute", "mins", "min", "m"), 60),
    **dict.fromkeys(("hours", "hour", "hrs", "hr", "h"), 3_600),
    **dict.fromkeys(("days", "day", "dy", "d"), 86_400),
    **dict.fromkeys(("weeks", "week", "wks", "wk", "w"), 7 * 86_400),
    **dict.fromkeys(("months", "month", "mos", "mo"), 30 * 86_400),
    **dict.fromkeys(("years", "year", "yrs", "yr", "y"), 365 * 86_400),
}
# GitLab refuses a job timeout above one month (doc/ci/yaml: timeout).
MAX_TIMEOUT_SECONDS = UNITS["month"]

_JOINING_WORDS = {"and", "with", "plus"}
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+")
_CLOCK = re.compile(rf"{_NUMBER.pattern}(?::{_NUMBER.pattern})+")
_CLOCK_UNITS = ("s", "m", "h", "d", "mo", "y")
_WITH_UNITS = re.compile(r"(?:\s*[0-9]{1,9}\s*[a-z]+)+\s*")


class DurationError(ValueError):
    """The text is not a duration whose every number has its unit."""


def parse_duration(text: str) -> int:
    """Seconds of a duration such as "1h 30m".

    Stricter than GitLab, which takes a bare "90" for seconds, a thing nobody means. Raises
    DurationError.
    """
    words = re.findall("[a-z]+", text)
    has_units = _WITH_UNITS.fullmatch(text) and all(word in UNITS for word in words)
    seconds = seconds_in(text) if has_units else None
    if seconds is None:
        raise DurationError(f'"{text}" is not a duration; write for example "12h" or "1h 30m"')
    return int(seconds)


@functools.lru_cache(maxsize=1024)  # thousands of jobs have the same few durations
def seconds_in(text: str) -> float | None:
    """The number of seconds, more than 0, that GitLab reads, or None if `text` is no duration.

    A number without a unit is in seconds; `1:30` is minutes and seconds. Numbers that are spelt
    out, which GitLab would take, are not understood.
    """
    words = _words(text)
    if not words:
        return None
    total = 0.0
    for word, following in zip(words, [*words[1:], "s"], strict=True):
        if _NUMBER.fullmatch(word):
            total += float(word) * UNITS.get(following, 0)
    return total if 0 < total < math.inf else None


def _words(text: str) -> list[str] | None:
    """Numbers and units in turn, or None if there is anything else in `text`."""
    text = _without_colons(text.lower())
    words = []
    for spaced in _NUMBER.sub(r" \g<0> ", text).split():
        word = spaced.removeprefix(",").removesuffix(",")
        if _NUMBER.fullmatch(word) or word in UNITS:
            words.append(word)
        elif word not in _JOINING_WORDS:
            return None
    return ["1", *words] if words and words[0] in UNITS else words


def _without_colons(text: str) -> str:
    """`text`, with `2:30` spelt as `2m 30s`."""
    clock = text.replace(" ", "")
    parts = clock.split(":")
    if not _CLOCK.fullmatch(clock) or len(parts) > len(_CLOCK_UNITS):
        return text
    units = reversed(_CLOCK_UNITS[: len(parts)])
    return " ".join(part + unit for part, unit in zip(parts, units, strict=True))


def format_duration(seconds: float) -> str:
    """Hours and minutes, as short as they can be said: "12h", "2h 27m", "45s"."""
    if round(seconds) < 60:
        return f"{round(seconds)}s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join(f"{n}{unit}" for n, unit in ((hours, "h"), (minutes, "m")) if n)
