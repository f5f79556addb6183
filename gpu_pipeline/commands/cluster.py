"""`cluster`: what the cluster must be told so that the routing works; and findings for `check`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.checks.fit import check_fit
from gpu_pipeline.checks.runner import check_runner, runners_of
from gpu_pipeline.checks.runner.permissions import check_unread
from gpu_pipeline.cluster.fit import pool_fits
from gpu_pipeline.cluster.runner_config import Runner, RunnerFile
from gpu_pipeline.cluster.runner_file import runner_file_of
from gpu_pipeline.cluster.runner_settings import runner_helm, runner_toml
from gpu_pipeline.cluster.sharing import sharing_config
from gpu_pipeline.commands.cluster_options import split_tags
from gpu_pipeline.durations import DurationError, parse_duration
from gpu_pipeline.errors import EXIT_OK, UsageError
from gpu_pipeline.loading import LoadedRouting, load_routing, refuse_input
from gpu_pipeline.reports.fit import fit_table
from gpu_pipeline.results import deliver, output_of


def run_cluster(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print one of the topics."""
    output = output_of(options)
    if output:
        runner = getattr(options, "runner", None)
        refuse_input(output, options, *([runner] if runner else []))
    routed = load_routing(options.routing, options.templates)
    if options.topic == "runner":
        render = runner_helm if options.format == "helm" else runner_toml
        text = render(
            routed.jobs, routed.routing, locate=routed.lines.origin, tags=split_tags(options.tags)
        )
    elif options.topic == "sharing":
        text = sharing_config(routed.routing.pools or {})
    else:
        text = _fit(routed, options)
    deliver(text, options)
    return EXIT_OK


def runner_findings(routed: LoadedRouting, options: argparse.Namespace) -> list[Finding]:
    """What `check` says about sizes, and, given --runner, about that configuration.

    `options` are those of `common_options.add_runner_arguments`. Raises UsageError and
    RunnerConfigError.
    """
    file = runner_file_of(options)
    runners = _runners(routed, file, options)
    found = check_fit(
        routed.jobs, locate=routed.lines.origin, runner_of=lambda job: runners.get(job.name)
    )
    found += check_unread(routed.jobs, routed.lines.origin)
    if file is not None:
        found += check_runner(
            routed.jobs,
            routed.routing,
            file,
            locate=routed.lines.origin,
            runner_name=options.runner_name,
            runner_tags=split_tags(options.runner_tags),
            maximum_timeout=_seconds(options.runner_max_timeout),
        )
    return found


def _runners(
    routed: LoadedRouting, file: RunnerFile | None, options: argparse.Namespace
) -> dict[str, Runner]:
    """The runner of each job, by job name, as far as a file says it."""
    if file is None:
        return {}
    return runners_of(
        routed.jobs,
        file,
        runner_name=options.runner_name,
        runner_tags=split_tags(options.runner_tags),
    )


def _fit(routed: LoadedRouting, options: argparse.Namespace) -> str:
    file = runner_file_of(options)
    runners = _runners(routed, file, options)
    return fit_table(pool_fits(routed.jobs, lambda job: runners.get(job.name)), options.format)


def _seconds(text: str | None) -> int | None:
    if text is None:
        return None
    if text.isdecimal():
        return int(text)  # as the server's API and the chart have it
    try:
        return parse_duration(text)
    except DurationError as error:
        raise UsageError(f"--runner-max-timeout: {error}") from None
