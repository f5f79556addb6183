"""Names: which ones are allowed, and which known one a mistyped one was meant to be."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from gpu_pipeline.errors import NothingToRunError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
# The source of a child pipeline, which hides that of its parent.
CHILD_SOURCE = "parent_pipeline"
# Variables that the generator itself puts into every child.
PARENT_SOURCE = "PARENT_PIPELINE_SOURCE"
EPOCHS = "ROUTE_EPOCHS"
FINGERPRINT = "ROUTE_FINGERPRINT"
# A pipeline variable by which a started pipeline is found again; see gitlab/starting.py.
RUN_ID = "ROUTE_RUN_ID"
# The schedule variable that makes a night of training; `.gitlab-ci.yml` and the routing test it.
TRAIN_VALIDATE = "TRAIN_VALIDATE"
OWN_VARIABLES = (PARENT_SOURCE, EPOCHS, FINGERPRINT)

VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# Words that mean something to GitLab where a job name could stand (doc/ci/jobs: job names).
RESERVED = set(
    """
    after_script before_script cache default false image include nil null pages services spec
    stages true types variables workflow
    """.split()
)


def check_globs(globs: Iterable[str], names: Collection[str], then: str) -> None:
    """Raise NothingToRunError for globs over jobs that match none of their names.

    One that matches nothing among others that do is a mistake as well: a mistyped name must not
    drop a job without a word. `then` says what to do or what happens now.
    """
    unmatched = [glob for glob in globs if not any(fnmatchcase(name, glob) for name in names)]
    if unmatched:
        known = set(names)
        listed = ", ".join(f'"{glob}"{did_you_mean(glob.strip("*?"), known)}' for glob in unmatched)
        raise NothingToRunError(f"no job matches {listed}; {then}")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence tail naming the nearest known word, or all known ones if they are few."""
    import difflib  # only mistakes need it

    choices = sorted(known)
    # Comparing with thousands of names, for each of thousands of mistakes, would take minutes.
    likely = [each for each in choices if each[:1] == word[:1]] if len(choices) > 200 else choices
    close = difflib.get_close_matches(word, likely[:1000], n=1, cutoff=0.6)
    if close:
        return f'; did you mean "{close[0]}"?'
    if choices and len(choices) <= 16:
        return f" (known: {', '.join(choices)})"
    return ""
