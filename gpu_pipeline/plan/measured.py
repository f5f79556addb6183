"""What measured run times say of a job alone, and how near a plan comes to a measured run."""

from __future__ import annotations

from msgspec.structs import replace

from gpu_pipeline.durations_file import Durations, MeasuredJob, MeasuredRun
from gpu_pipeline.plan.model import Run, Source, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan
from gpu_pipeline.record import Record

_ROUNDS = 30
_NEAR = 1e-4


def alone(workload: Workload) -> Workload:
    """The workload whose measured jobs take as long in the plan as they were measured to take.

    A measured time holds the slowdown by the jobs beside it already; reckoning it in once more
    would count it twice. So the time alone is looked for that gives the measured one, under the
    routing at hand, which is taken to be the one that was measured.
    """
    targets = {
        job.name: job.seconds.value
        for job in workload.jobs
        if job.seconds.source is Source.MEASURED
    }
    for _ in range(_ROUNDS if targets else 0):
        runs = {run.job.name: run for run in simulate(workload).runs if run.job.name in targets}
        # A time too short to tell from none, next to when it starts, cannot be scaled.
        off = {
            name: targets[name] / (run.end - run.start)
            for name, run in runs.items()
            if run.end > run.start
        }
        if all(abs(each - 1) < _NEAR for each in off.values()):
            break
        workload = replace(
            workload,
            jobs=tuple(
                replace(
                    job,
                    seconds=replace(job.seconds, value=job.seconds.value * off.get(job.name, 1.0)),
                )
                for job in workload.jobs
            ),
        )
    return workload


class Comparison(Record):
    """A job as planned from the routing's own figures and as measured; seconds it ran."""

    run: Run
    measured: MeasuredJob | None

    @property
    def planned(self) -> float:
        """Seconds that the job runs in the plan, neighbours included."""
        return self.run.end - self.run.start


class RunComparison(Record):
    """A measured run next to the plan; `common` jobs stand in both, and only they are compared."""

    run: MeasuredRun
    common: int
    makespan: float
    planned_makespan: float
    mean_wait: float
    planned_mean_wait: float


def compare_jobs(plan: Plan, durations: Durations) -> list[Comparison]:
    """Every planned job with its measurement on the same pool, if there is one."""
    measured = {(each.name, each.pool): each for each in durations.jobs}
    return [
        Comparison(run=run, measured=measured.get((run.job.name, run.job.pool)))
        for run in plan.schedule.runs
    ]


def compare_runs(plan: Plan, durations: Durations) -> list[RunComparison]:
    """Every measured run that has jobs of the plan."""
    planned = {run.job.name: run for run in plan.schedule.runs}
    found = []
    for run in durations.runs:
        common = [job for job in run.jobs if job.name in planned]
        if common:
            mine = [planned[job.name] for job in common]
            found.append(
                RunComparison(
                    run=run,
                    common=len(common),
                    makespan=max(job.finished for job in common),
                    planned_makespan=max(each.end for each in mine),
                    mean_wait=sum(job.started for job in common) / len(common),
                    planned_mean_wait=sum(each.start for each in mine) / len(common),
                )
            )
    return found
