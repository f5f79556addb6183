"""Which jobs a person asked for, by globs over job names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from gpu_pipeline.errors import NothingToRunError, UsageError
from gpu_pipeline.jobs import Job
from gpu_pipeline.names import did_you_mean


def select_jobs(jobs: Sequence[Job], globs: Sequence[str]) -> tuple[list[Job], list[str]]:
    """The jobs that any glob matches, and the names of further ones that these need.

    Without globs all jobs. Raises NothingToRunError when nothing is left, and UsageError when one
    of several globs matches nothing: a mistyped name must not drop a job without a word.
    """
    names = [job.name for job in jobs]
    unmatched = [glob for glob in globs if not any(fnmatchcase(name, glob) for name in names)]
    if not jobs:
        raise NothingToRunError("the routing enables no job, so there is no pipeline to write")
    if unmatched:
        listed = ", ".join(f'"{glob}"{did_you_mean(glob.strip("*?"), names)}' for glob in unmatched)
        message = f"no job matches {listed}; `preview` lists all jobs"
        raise (NothingToRunError if len(unmatched) == len(globs) else UsageError)(message)
    by_name = {job.name: job for job in jobs}
    wanted = {n for n in names if not globs or any(fnmatchcase(n, glob) for glob in globs)}
    kept = set(wanted)
    pending = list(wanted)
    while pending:
        for needed in by_name[pending.pop()].needs:
            if needed not in kept:
                kept.add(needed)
                pending.append(needed)
    return [job for job in jobs if job.name in kept], sorted(kept - wanted)
