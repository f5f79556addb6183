"""The command `diff`: what moves from another routing to the one at hand."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from gpu_pipeline.console import tell
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, RoutingError, UsageError
from gpu_pipeline.files import display, files_below, read_bytes, resolved
from gpu_pipeline.jobs import Job
from gpu_pipeline.loading import LoadedRouting, load_routing, parse_routing, refuse_input
from gpu_pipeline.names import check_globs
from gpu_pipeline.plan.simulate import simulate
from gpu_pipeline.plan.summary import Plan, summarise
from gpu_pipeline.plan.workload import Circumstances, workload_of
from gpu_pipeline.plan_diff import compare_plans
from gpu_pipeline.problems import Problems
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.record import Record
from gpu_pipeline.reports.diff import diff as report
from gpu_pipeline.results import deliver, output_of
from gpu_pipeline.revisions import Snapshot, snapshot
from gpu_pipeline.routing_diff import Side, diff_routings
from gpu_pipeline.selection import select_jobs
from gpu_pipeline.template_files import ROOT
from gpu_pipeline.work import disabled_jobs


class _Other(Record):
    """The routing to compare with, None if there is no such file, and the templates that differ."""

    name: str
    routed: LoadedRouting | None
    templates: Sequence[str]


def run_diff(options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print what moves; with --exit-code exit 1 if anything does."""
    output = output_of(options)
    if output:
        others = [Path(options.other)] if _is_file(options.other) else []
        refuse_input(output, options, *others)
    after = load_routing(options.routing, options.templates)
    with _other(options) as other:
        if other.routed is None:
            tell(f"note: {other.name} does not exist, so everything is new")
        known = [job.name for routed in (other.routed, after) if routed for job in routed.jobs]
        check_globs(options.globs, known, "`preview` lists all jobs of a routing")
        old = _side(other.name, other.routed, options.globs)
        new = _side(display(options.routing), after, options.globs)
        found = diff_routings(old, new, templates=other.templates)
        plans = compare_plans(_plan(old) if other.routed else None, _plan(new))
    deliver(report(found, plans, options.format), options)
    return EXIT_DIFFERS if options.exit_code and not found.is_empty else EXIT_OK


@contextmanager
def _other(options: argparse.Namespace) -> Iterator[_Other]:
    """The routing before: a file of that name, or else a revision. Raises GeneratorError."""
    if _is_file(options.other):
        path = Path(options.other)
        routed = load_routing(path, options.templates)
        yield _Other(name=display(path), routed=routed, templates=())
        return
    with snapshot(options.other, options.routing, options.templates) as found:
        yield _Other(
            name=found.name,
            routed=_parsed(found, options),
            templates=_differing(found.templates, resolved(options.templates)),
        )


def _parsed(found: Snapshot, options: argparse.Namespace) -> LoadedRouting | None:
    """The routing of a revision. Raises RoutingError that says whose fault it is."""
    if found.data is None:
        return None
    if not (found.templates / ROOT).is_file():
        at = found.name.removeprefix(display(options.routing))
        raise UsageError(f"{display(options.templates)}{at}: holds no {ROOT}, so it has no jobs")
    try:
        return parse_routing(found.data, found.name, found.templates)
    except RoutingError:
        tell(f"{found.name} does not load, so nothing can be compared with it:")
        raise


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long or impossible for a path; it may be a revision
        return False


def _differing(before: Path, after: Path) -> list[str]:
    """The template files that differ or are on one side only, by their path in the folder."""
    if before == after:
        return []
    contents: list[dict[str, bytes]] = [
        {
            path.relative_to(folder).as_posix(): read_bytes(path, "--templates")
            for path in files_below(folder)
        }
        for folder in (before, after)
    ]
    old, new = contents
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _side(name: str, routed: LoadedRouting | None, globs: Sequence[str]) -> Side:
    if routed is None:
        nowhere = Problems(name, {})
        return Side(name=name, routing=None, queue=(), disabled={}, locate=nowhere.origin)
    pipeline = routed.routing.pipeline
    return Side(
        name=name,
        routing=routed.routing,
        queue=queue_up(_selected(routed.jobs, globs), pipeline.queue if pipeline else None),
        disabled=disabled_jobs(routed.routing, routed.lines),
        locate=routed.lines.origin,
    )


def _selected(jobs: Sequence[Job], globs: Sequence[str]) -> Sequence[Job]:
    """The jobs that the globs match here, with those that they need; none may be left."""
    if not globs:
        return jobs
    here = [glob for glob in globs if any(fnmatchcase(job.name, glob) for job in jobs)]
    return select_jobs(jobs, here)[0] if here else []


def _plan(side: Side) -> Plan:
    """The plan of a routing, as if all its jobs were started at once."""
    workload = workload_of(side.queue, Circumstances(), side.pipeline)
    return summarise(simulate(workload))
