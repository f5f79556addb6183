"""What each command does: read, decide, and hand the result to a file or to a report."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpu_pipeline import render as templating
from gpu_pipeline import report
from gpu_pipeline.child import plan_child, unset_variables
from gpu_pipeline.context import Context, build_context
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.files import display, write_atomically
from gpu_pipeline.jobs import Job
from gpu_pipeline.loading import load_routing
from gpu_pipeline.names import VARIABLE_NAME, did_you_mean
from gpu_pipeline.queueing import longest_first, resource_groups
from gpu_pipeline.schema import routing_schema
from gpu_pipeline.selection import select_jobs


@dataclass(frozen=True, kw_only=True)
class _Loaded:
    """Everything read from disk and environment, checked and resolved."""

    all_jobs: list[Job]
    jobs: list[Job]
    queue: str | None
    context: Context
    fingerprint: str


def run_render(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Write the child pipeline, print it, or compare it with the file on disk."""
    output = None if options.output == "-" or options.dry_run else Path(options.output)
    if output and output.resolve() in _inputs(options):
        raise UsageError(f"-o {options.output}: this is an input; choose another file")
    loaded = _load(options, environment)
    child = plan_child(
        loaded.jobs, loaded.context, queue=loaded.queue, fingerprint=loaded.fingerprint
    )
    for name in unset_variables(child):
        _note(
            options,
            f"warning: the image uses ${{{name}}}, which is not set here; unless the project sets "
            f"it, jobs cannot pull their image (for this render: --var {name}=VALUE)",
        )
    text = templating.render(child, options.templates)
    if options.check and output:
        return _compare(output, text)
    if output is None:
        sys.stdout.buffer.write(text.encode("utf-8"))
        return EXIT_OK
    write_atomically(output, text)
    _note(
        options,
        f"wrote {display(output)}: {report.count(len(child.jobs), 'job')} "
        f"for a parent pipeline from {loaded.context.source}",
    )
    return EXIT_OK


def run_preview(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the table of jobs."""
    loaded = _load(options, environment)
    groups = resource_groups(loaded.jobs, loaded.queue)
    jobs = longest_first(loaded.jobs)
    _print(report.preview(jobs, groups, loaded.context, options.format))
    return EXIT_OK


def run_explain(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print the values of one job and their origins."""
    loaded = _load(options, environment)
    jobs = {job.name: job for job in loaded.all_jobs}
    job = jobs.get(options.job_name)
    if job is None:
        raise UsageError(f'no job "{options.job_name}"{did_you_mean(options.job_name, jobs)}')
    groups = resource_groups(loaded.all_jobs, loaded.queue)
    _print(report.explain(job, groups, options.format))
    return EXIT_OK


def run_schema(_options: argparse.Namespace, _environment: Mapping[str, str]) -> int:
    """Print the JSON schema of routing.toml."""
    _print(json.dumps(routing_schema(), indent=2))
    return EXIT_OK


def _load(options: argparse.Namespace, environment: Mapping[str, str]) -> _Loaded:
    routed = load_routing(options.routing, options.templates)
    jobs, pipeline = routed.jobs, routed.routing.pipeline
    context = build_context(
        environment,
        (pipeline and pipeline.capture) or (),
        source=options.source,
        branch=options.branch,
        overrides=_overrides(options.variables),
        current_branch=_git_branch(options.routing.resolve().parent),
    )
    globs = options.globs or re.split(r"[\s,]+", environment.get("TRAIN_JOBS", ""))
    selected, added = select_jobs(jobs, [glob for glob in globs if glob])
    if added:
        _note(options, f"note: added because a selected job needs them: {', '.join(added)}")
    return _Loaded(
        all_jobs=jobs,
        jobs=selected,
        queue=pipeline.queue if pipeline else None,
        context=context,
        fingerprint=templating.fingerprint(routed.data, options.templates),
    )


def _inputs(options: argparse.Namespace) -> set[Path]:
    templates = {path.resolve() for path in options.templates.rglob("*.j2")}
    return templates | {options.routing.resolve()}


def _overrides(assignments: list[str]) -> dict[str, str]:
    overrides = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not VARIABLE_NAME.fullmatch(name):
            raise UsageError(f'--var {assignment}: write NAME=VALUE, for example "REGISTRY=local"')
        overrides[name] = value
    return overrides


def _git_branch(folder: Path) -> str | None:
    """The branch checked out in `folder`; None without git, a repository or a branch."""
    command = ["git", "-C", str(folder), "symbolic-ref", "--quiet", "--short", "HEAD"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


def _compare(path: Path, text: str) -> int:
    """Print how the file differs from what would be rendered now."""
    try:
        old = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        print(f"{display(path)} does not exist; `render` writes it", file=sys.stderr)
        return EXIT_DIFFERS
    if old == text:
        return EXIT_OK
    difference = difflib.unified_diff(
        old.splitlines(),
        text.splitlines(),
        f"{display(path)} (on disk)",
        "rendered now",
        lineterm="",
    )
    _print("\n".join(difference))
    return EXIT_DIFFERS


def _note(options: argparse.Namespace, message: str) -> None:
    if not options.quiet:
        print(message, file=sys.stderr)


def _print(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8") + b"\n")
