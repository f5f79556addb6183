"""How findings speak of jobs and pools."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_pipeline.jobs import Job
from gpu_pipeline.routing_model import Pool
from gpu_pipeline.words import count


def named(jobs: Iterable[Job]) -> str:
    """How many jobs, and their names."""
    names = list(dict.fromkeys(job.name for job in jobs))
    return f"{count(len(names), 'job')} ({', '.join(names)})"


def with_gpu(name: str, pool: Pool) -> str:
    """A pool and its GPU: `ci-compile (NVIDIA L4)`."""
    return f"{name} ({pool.gpu})"
