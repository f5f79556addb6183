"""One runner and the jobs it will take: what the checks of a runner's configuration look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.wording import named
from gpu_pipeline.cluster.emitted import Emission
from gpu_pipeline.cluster.runner_config import Runner, RunnerFile
from gpu_pipeline.jobs import Job
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pool


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
