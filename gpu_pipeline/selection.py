"""Which jobs a person asked for, by globs over job names."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from gpu_pipeline.errors import NothingToRunError
from gpu_pipeline.jobs import Job
from gpu_pipeline.names import check_globs


def select_jobs(jobs: Sequence[Job], globs: Sequence[str]) -> tuple[list[Job], list[str]]:
    """The jobs that any glob matches, and the names of further ones that these need.

    Without globs all jobs. Raises NothingToRunError when there is none, or a glob matches none.
    """
    names = [job.name for job in jobs]
    if not jobs:
        raise NothingToRunError("the routing enables no job, so there is no pipeline to write")
    check_globs(globs, names, "`preview` lists all jobs")
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
