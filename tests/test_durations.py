"""Durations are read as GitLab reads a timeout."""

from __future__ import annotations

import pytest

from gpu_pipeline.durations import DurationError, format_duration, parse_duration, seconds_in


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("12h", 43_200), ("1h 30m", 5400), ("1h30m", 5400), ("90 minutes", 5400), ("2 days", 172_800),
     ("1w", 604_800), ("45 secs", 45)],
)  # fmt: skip
def test_seconds_of_a_duration(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "h", "1 hour and a half", "1.5h", "-1h", "0h", "1h x"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(DurationError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (45, "45s"),
        (60, "1m"),
        (3600, "1h"),
        (8800, "2h 27m"),
        (59.6, "1m"),
        (59.4, "59s"),
        (360_000, "100h"),
    ],
)
def test_a_duration_is_shown_briefly(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "seconds"), [("", None), (" ", None), ("-1h", None), ("90", 90), ("1:30", 90)]
)
def test_gitlab_reads_more_texts_than_we_accept(text: str, seconds: int | None) -> None:
    assert seconds_in(text) == seconds
