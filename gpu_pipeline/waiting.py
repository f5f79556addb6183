"""A line for whoever waits at a terminal for something that takes longer than a second."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator

from gpu_pipeline.console import say

_PATIENCE = 1.0  # seconds
# Commands that are silent while they work; those that tell what they do need no further line.
_WORK = {
    "check": "looking at the child in every kind of parent pipeline",
    "plan": "playing the run through",
    "diff": "playing both runs through",
    "gitlab doctor": "asking GitLab about project, runners, variables and schedules",
    "gitlab lint": "GitLab reads both files",
    "gitlab verify": "reading pipelines and logs",
    "gitlab schedule": "asking GitLab about the schedules",
    "gitlab history": "reading past pipelines",
    "gitlab note": "looking for the note",
}
_SEARCHES = {
    "suggest": "looking for better routings: every step is played through",
    "sweep": "playing the run through with each value",
}


@contextlib.contextmanager
def told_if_slow(options: argparse.Namespace) -> Iterator[None]:
    """Say what is being done if it is not done within a second; nothing in pipes or if quiet."""
    work = _work(options)
    if work is None or options.quiet or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    import threading

    timer = threading.Timer(_PATIENCE, say, [f"{work} …"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _work(options: argparse.Namespace) -> str | None:
    for name, text in _SEARCHES.items():
        if getattr(options, name, None):
            return text
    return _WORK.get(f"{options.command} {getattr(options, 'topic', '')}".rstrip())
