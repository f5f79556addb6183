"""One runner and the jobs it will take: what the checks of a runner's configuration look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.cluster.emitted import Emission
from gpu_pipeline.jobs import Job
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pool
from gpu_pipeline.words import count

if TYPE_CHECKING:  # rendering needs the words below and never a runner's configuration
    from gpu_pipeline.cluster.runner_config import Runner, RunnerFile


class Contract(Record):
    """`pools` are all pools of the routing; `used` those that `jobs` go to.

    `emitted_elsewhere` are values that the routing's other jobs emit.
    """

    file: RunnerFile
    runner: Runner
    jobs: tuple[Job, ...]
    emitted: tuple[Emission, ...]
    pools: Mapping[str, Pool]
    emitted_elsewhere: frozenset[str] = frozenset()

    @property
    def used(self) -> dict[str, Pool]:
        """The pools of the jobs, by name, in the order of the routing."""
        names = {job.pool.value for job in self.jobs}
        return {name: pool for name, pool in self.pools.items() if name in names}

    def jobs_of(self, pool: str) -> list[Job]:
        """The jobs that go to a pool."""
        return [job for job in self.jobs if job.pool.value == pool]

    def named(self, jobs: Iterable[Job]) -> str:
        """Like `named`, short when it is every job of the runner."""
        names = {job.name for job in jobs}
        if len(names) > 4 and len(names) == len(self.jobs):
            return f"all {len(names)} jobs"
        return named(job for job in self.jobs if job.name in names)

    def finding(self, code: str, line: int, key: str, message: str, *, fix: str) -> Finding:
        """A finding about a line of the runner's file."""
        return finding(code, Place(file=self.file.file, line=line, key=key), message, fix=fix)


def pair(text: str) -> tuple[str, str]:
    """The two sides of `label=value`."""
    label, _, value = text.partition("=")
    return label, value


def own_label(pool: Pool) -> str | None:
    """The node label of a pool, `label=value`, as far as the routing says it."""
    return pool.node_selector or pool.label


def named(jobs: Iterable[Job]) -> str:
    """How many jobs, and their names."""
    names = list(dict.fromkeys(job.name for job in jobs))
    return f"{count(len(names), 'job')} ({', '.join(names)})"


def with_gpu(name: str, pool: Pool) -> str:
    """A pool and its GPU: `ci-compile (NVIDIA L4)`."""
    return f"{name} ({pool.gpu})"
