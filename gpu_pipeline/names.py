"""Names: which ones are allowed, and which known one a mistyped one was meant to be."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words that mean something to GitLab where a job name could stand (doc/ci/jobs: job names).
RESERVED = set(
    """
    after_script before_script cache default false image include nil null pages services spec
    stages true types variables workflow
    """.split()
)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence tail naming the nearest known word, or all known ones if they are few."""
    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if close:
        return f'; did you mean "{close[0]}"?'
    if choices and len(choices) <= 12:
        return f" (known: {', '.join(choices)})"
    return ""
