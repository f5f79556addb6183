"""Reads what every command needs: the routing, the templates' names, the parent's context."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline.assignments import assignments
from gpu_pipeline.child import Child, plan_child
from gpu_pipeline.console import tell
from gpu_pipeline.context import Context, context_from, in_ci
from gpu_pipeline.errors import UsageError
from gpu_pipeline.files import display, files_below, is_file, read_bytes, resolved
from gpu_pipeline.jobs import Job
from gpu_pipeline.problems import Origin, Problems
from gpu_pipeline.record import Record
from gpu_pipeline.resolve import resolve_jobs
from gpu_pipeline.routing import read_routing
from gpu_pipeline.routing_checks import check_routing
from gpu_pipeline.routing_model import Pipeline, Routing
from gpu_pipeline.selection import select_jobs
from gpu_pipeline.template_files import ROOT, fingerprint, template_names
from gpu_pipeline.work import disabled_jobs


class LoadedRouting(Record):
    """A routing without problems and its jobs; `lines.origin` says where a key stands."""

    data: bytes
    routing: Routing
    jobs: list[Job]
    lines: Problems


class Loaded(Record):
    """A routing, the jobs that were asked for, and the parent pipeline at hand.

    `added` are those of the jobs that were not asked for, but that others need; `disabled` the jobs
    that the routing leaves out, with the place that says so.
    """

    routed: LoadedRouting
    pipeline: Pipeline
    jobs: list[Job]
    added: list[str]
    disabled: Mapping[str, Origin]
    context: Context
    fingerprint: str

    @property
    def routing(self) -> Routing:
        """The routing as read."""
        return self.routed.routing

    def child(self, context: Context | None = None) -> Child:
        """The child pipeline of the selected jobs, under the parent at hand or another one."""
        return plan_child(
            self.jobs,
            context or self.context,
            pipeline=self.pipeline,
            fingerprint=self.fingerprint,
        )


def load_routing(path: Path, templates: Path, *, option: str = "--routing") -> LoadedRouting:
    """Read and resolve the routing that `option` names. Raises UsageError or RoutingError."""
    folder = resolved(templates)
    if not is_file(folder / ROOT):
        raise UsageError(f"{display(templates)}: holds no {ROOT}; name others with --templates")
    return parse_routing(read_bytes(path, option), display(path), folder)


def parse_routing(data: bytes, name: str, folder: Path) -> LoadedRouting:
    """Resolve the content of a routing; `name` is shown, `folder` holds the templates.

    Raises RoutingError.
    """
    routing, problems = read_routing(data, name)
    check_routing(
        routing,
        problems,
        bases=template_names(folder, "bases"),
        tasks=template_names(folder, "tasks"),
    )
    jobs = resolve_jobs(routing, problems)
    problems.raise_if_any()
    return LoadedRouting(data=data, routing=routing, jobs=jobs, lines=problems)


def load(options: argparse.Namespace, environment: Mapping[str, str]) -> Loaded:
    """Read everything the options name. Raises GeneratorError for whatever is wrong with it."""
    loaded = select(load_routing(options.routing, options.templates), options, environment)
    note_added(loaded)
    return loaded


def select(
    routed: LoadedRouting, options: argparse.Namespace, environment: Mapping[str, str]
) -> Loaded:
    """The jobs of a routing that were asked for, and the parent at hand. Raises GeneratorError."""
    pipeline = routed.routing.pipeline or Pipeline()
    context = context_from(
        environment,
        pipeline.capture or (),
        source=options.source,
        branch=options.branch,
        overrides=assignments(options.variables),
        current_branch=None if in_ci(environment) else _current_branch(options.routing.parent),
    )
    selected, added = select_jobs(routed.jobs, _globs(options, environment))
    return Loaded(
        routed=routed,
        pipeline=pipeline,
        jobs=selected,
        added=added,
        disabled=disabled_jobs(routed.routing, routed.lines),
        context=context,
        fingerprint=fingerprint(routed.data, resolved(options.templates)),
    )


def note_added(loaded: Loaded) -> None:
    """Say which jobs were not asked for, unless --quiet."""
    if loaded.added:
        tell(f"note: added because a selected job needs them: {', '.join(loaded.added)}")


def tell_of_refusals(loaded: Loaded) -> None:
    """Say of a routing that can be shown why it will not be rendered, unless --quiet."""
    from gpu_pipeline.checks.fit import refused_sizes

    acceptances = loaded.routing.accept or ()
    for found in refused_sizes(
        loaded.jobs, locate=loaded.routed.lines.origin, acceptances=acceptances
    ):
        tell(f"render refuses this: {found}")


def refuse_input(
    output: Path, options: argparse.Namespace, *others: Path, option: str = "-o"
) -> None:
    """Raise UsageError if writing `output` would overwrite routing, templates or `others`.

    `option` is the one that named `output`.
    """
    target, templates = resolved(output), resolved(options.templates)
    inputs = {resolved(path) for path in (options.routing, *others)}
    if templates.is_dir():
        inputs |= {resolved(path) for path in files_below(templates)}
    if target in inputs or target.is_relative_to(templates):
        raise UsageError(f"{option} {output}: this is an input; choose another file")


def _globs(options: argparse.Namespace, environment: Mapping[str, str]) -> list[str]:
    """Which jobs were asked for; a command without --job looks at all of them."""
    if options.globs is None:
        return []
    if "" in options.globs:
        raise UsageError("--job: the glob is empty; leave the option out for all jobs")
    wanted = options.globs or re.split(r"[\s,]+", environment.get("TRAIN_JOBS", ""))
    return [glob for glob in wanted if glob]


def _current_branch(folder: Path) -> str | None:
    """The branch of the routing's repository, or of the one we are in."""
    return _git_branch(folder) or _git_branch(Path())


def _git_branch(folder: Path) -> str | None:
    """The branch checked out in `folder`; None without git, a repository or a branch."""
    import subprocess

    command = ["git", "-C", str(folder), "symbolic-ref", "--quiet", "--short", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.decode("utf-8", "replace").strip() or None
