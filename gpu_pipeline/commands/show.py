"""The commands that show something: load, decide, and hand the result to a report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence

from gpu_pipeline.contexts import parent_contexts
from gpu_pipeline.errors import EXIT_OK, UsageError
from gpu_pipeline.jobs import Job
from gpu_pipeline.loading import load, load_routing, refuse_input, tell_of_refusals
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.outcomes import outcome_of
from gpu_pipeline.problems import Origin
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.reports import jobs as job_reports
from gpu_pipeline.reports import rules as rule_reports
from gpu_pipeline.results import deliver, output_of
from gpu_pipeline.schema import routing_schema
from gpu_pipeline.work import disabled_jobs


def run_preview(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the table of jobs, the matrix over all kinds of parent, or why a job runs or not."""
    _refuse_input(options)
    loaded = load(options, environment)
    contexts = parent_contexts(loaded.routing) if options.all else [loaded.context]
    outcomes = [outcome_of(loaded.child(context), context) for context in contexts]
    if options.why:
        job = _job(options.why, loaded.jobs, loaded.disabled)
        text = rule_reports.why(job, outcomes, options.format)
    elif options.all:
        text = rule_reports.matrix(outcomes, options.format)
    else:
        queue = queue_up(loaded.jobs, loaded.pipeline.queue)
        text = job_reports.preview(queue, outcomes[0], loaded.pipeline, options.format)
    deliver(text, options)
    tell_of_refusals(loaded)
    return EXIT_OK


def run_explain(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print the values of one job and their origins."""
    _refuse_input(options)
    routed = load_routing(options.routing, options.templates)
    routing = routed.routing
    job = _job(options.job_name, routed.jobs, disabled_jobs(routing, routed.lines))
    queue = queue_up(routed.jobs, routing.pipeline.queue if routing.pipeline else None)
    group = next(each.group for each in queue if each.job.name == job.name)
    deliver(job_reports.explain(job, group, options.format), options)
    return EXIT_OK


def run_schema(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print the JSON schema of routing.toml."""
    deliver(json.dumps(routing_schema(), indent=2), options)
    return EXIT_OK


def _refuse_input(options: argparse.Namespace) -> None:
    """Raise UsageError if `-o` would overwrite what the options name."""
    output = output_of(options)
    if output:
        refuse_input(output, options)


def _job(name: str, jobs: Sequence[Job], disabled: Mapping[str, Origin]) -> Job:
    """The job of that name. Raises UsageError that says whether it is mistyped or disabled."""
    by_name = {job.name: job for job in jobs}
    if name in by_name:
        return by_name[name]
    if name in disabled:
        raise UsageError(f'job "{name}" is disabled: {disabled[name]}')
    raise UsageError(f'no job "{name}"{did_you_mean(name, by_name)}; `preview` lists all jobs')
