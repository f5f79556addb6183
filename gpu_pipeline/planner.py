"""Reads what a plan needs besides the routing, and plans one routing after the other by it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline.checks.runner import runners_of
from gpu_pipeline.cluster.runner_file import runner_file_of
from gpu_pipeline.commands.cluster_options import split_tags
from gpu_pipeline.durations import parse_duration
from gpu_pipeline.durations_file import Durations, read_durations
from gpu_pipeline.errors import NothingToRunError
from gpu_pipeline.files import display
from gpu_pipeline.jobs import Job
from gpu_pipeline.loading import Loaded, LoadedRouting, load_routing, note_added, select
from gpu_pipeline.outcomes import Outcome, outcome_of
from gpu_pipeline.plan.measured import alone
from gpu_pipeline.plan.model import Figure, Source, Workload
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.workload import (
    Circumstances,
    measured_figures,
    runner_limits,
    workload_of,
)
from gpu_pipeline.queueing import queue_up


class Planner:
    """Plans routings under the same options: the parent pipeline, the runner, the durations.

    `loaded` is the routing at hand. Measured times are those of its plan, by which other routings
    are planned as well.
    """

    def __init__(self, options: argparse.Namespace, environment: Mapping[str, str]) -> None:
        self._options = options
        self._environment = environment
        self._runner = runner_file_of(options)
        self.durations: Durations | None = None
        self._measured: dict[tuple[str, str], Figure] = {}
        self.loaded = self.select(load_routing(options.routing, options.templates))
        note_added(self.loaded)
        if options.durations:
            self.durations = read_durations(options.durations)
            self._measured = measured_figures(self.durations, display(options.durations))
            jobs = alone(self.workload(self.loaded)).jobs
            self._measured = {
                (job.name, job.pool): job.seconds
                for job in jobs
                if job.seconds.source is Source.MEASURED
            }

    def select(self, routed: LoadedRouting) -> Loaded:
        """The jobs that were asked for."""
        return select(routed, self._options, self._environment)

    def other(self, path: Path) -> Loaded:
        """Another routing under the same options."""
        return self.select(load_routing(path, self._options.templates, option="--against"))

    def plan(self, loaded: Loaded) -> Plan:
        """The plan of a routing. Raises NothingToRunError when no job is part of the pipeline."""
        return summarise(simulate(self.workload(loaded)))

    def unmeasured(self) -> Plan:
        """The plan of the routing at hand by its own figures alone."""
        return summarise(simulate(self.workload(self.loaded, measured=False)))

    def workload(self, loaded: Loaded, *, measured: bool = True) -> Workload:
        """What a plan of the routing is made from: the jobs that the parent at hand includes.

        Manual jobs count as started at once.
        """
        outcome = outcome_of(loaded.child(), loaded.context)
        jobs = [job for job in loaded.jobs if outcome.decisions[job.name].included]
        if not jobs:
            context = loaded.context
            raise NothingToRunError(
                f"a parent pipeline from {context.source}{context.place} has no job to plan; "
                "name another kind with --source; `preview --all` shows all kinds"
            )
        included = {job.name for job in jobs}
        queue = queue_up(loaded.jobs, loaded.pipeline.queue)  # as the child has them, all dealt
        return workload_of(
            [each for each in queue if each.job.name in included],
            self._circumstances(jobs, outcome, measured=measured),
            loaded.pipeline,
        )

    def _circumstances(self, jobs: list[Job], outcome: Outcome, *, measured: bool) -> Circumstances:
        delays = {
            name: float(parse_duration(decision.start_in))
            for name, decision in outcome.decisions.items()
            if decision.when == "delayed" and decision.start_in
        }
        figures = self._measured if measured else {}
        if self._runner is None:
            return Circumstances(delays=delays, measured=figures)
        runners = runners_of(
            jobs,
            self._runner,
            runner_name=self._options.runner_name,
            runner_tags=split_tags(self._options.runner_tags),
        )
        concurrent = self._runner.concurrent
        return Circumstances(
            runner_of=lambda job: runners.get(job.name),
            limits=runner_limits(list(runners.values()), concurrent.value if concurrent else None),
            delays=delays,
            measured=figures,
        )
