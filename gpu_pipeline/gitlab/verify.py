"""`gitlab verify PIPELINE`: plan, walk to the child, read the logs, judge, report.

Of a log no more than a line is in memory at a time, and of a job only its verdict stays.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.console import tell
from gpu_pipeline.context import Context, make_context
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, NothingToRunError, UsageError
from gpu_pipeline.files import display, read_text, resolved, write_atomically
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.connection import Connection, connect
from gpu_pipeline.gitlab.logs import read_log
from gpu_pipeline.gitlab.outputs import check_outputs
from gpu_pipeline.gitlab.parallel import in_parallel
from gpu_pipeline.gitlab.pipelines import Node, walk
from gpu_pipeline.gitlab.planned import PlannedJob, planned_jobs
from gpu_pipeline.gitlab.verdict import JobVerdict, judge
from gpu_pipeline.gitlab.verification import fails, verify
from gpu_pipeline.loading import load
from gpu_pipeline.names import CHILD_SOURCE, check_globs
from gpu_pipeline.reports import verdicts as reports
from gpu_pipeline.results import deliver
from gpu_pipeline.words import count
from gpu_pipeline.yaml_text import YamlError


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Judge a pipeline; exit 1 if anything FAILs, with --strict also if anything is UNPROVEN."""
    check_outputs(options)
    text = read_text(options.child, "--child") if options.child else None
    connection = connect(options, environment, to="read bridges and logs")
    pipeline = walk(connection, options.pipeline)
    plan = _selected(_plan(text, pipeline, options, environment), options.globs or [])
    judged = functools.partial(_judged, connection, options=options)
    found = verify(pipeline, plan, judged, others=not options.globs)
    if options.junit:
        write_atomically(options.junit, reports.junit(found) + "\n")
    deliver(reports.verification(found, options.format), options)
    return EXIT_DIFFERS if fails(found, strict=options.strict) else EXIT_OK


def _plan(
    text: str | None,
    pipeline: Node,
    options: argparse.Namespace,
    environment: Mapping[str, str],
) -> list[PlannedJob]:
    """The jobs of the child that was rendered, or else of what would be rendered for such a parent.

    Raises UsageError for a file that is no child, NothingToRunError for one without jobs.
    """
    name = display(options.child) if options.child else "child-pipeline.yml"
    if text is None:
        text = _rendered(pipeline, options, environment)
    context = _context(CHILD_SOURCE, pipeline, {})
    try:
        plan = planned_jobs(parse_ci_file(text, name), context.predefined_in_child)
    except YamlError as error:
        raise UsageError(f"{name}:{error.line}: {error}") from None
    if not plan:
        raise NothingToRunError(
            f"{name}: plans no job, so there is nothing to verify; --child names the file that was "
            "rendered; `preview --all` shows when jobs run"
        )
    return plan


def _context(source: str, pipeline: Node, variables: Mapping[str, str]) -> Context:
    """A pipeline from `source` on the branch or tag of the one at hand."""
    branch, tag = (None, pipeline.ref) if pipeline.is_tag else (pipeline.ref, None)
    return make_context(source, source, branch=branch, tag=tag, variables=variables)


def _rendered(pipeline: Node, options: argparse.Namespace, environment: Mapping[str, str]) -> str:
    """The child that the routing at hand renders for a parent like the pipeline."""
    from gpu_pipeline.render import render

    # A child does not say what its parent was; those that nobody started by hand are a schedule's.
    source = "schedule" if pipeline.source == CHILD_SOURCE else pipeline.source
    wanted = argparse.Namespace(
        **{
            **vars(options),
            "source": source,
            "branch": pipeline.ref,
            "variables": [],
            "globs": None,
        }
    )
    loaded = load(wanted, environment)
    captured = dict(loaded.context.variables)
    if source == "schedule":
        captured["TRAIN_VALIDATE"] = "true"
    context = _context(source, pipeline, captured)
    tell(
        f"the plan is what {display(options.routing)} renders for a parent pipeline from "
        f"{source}{context.place}; --child names the file that was rendered then",
    )
    return render(loaded.child(context), resolved(options.templates))


def _selected(plan: Sequence[PlannedJob], globs: Sequence[str]) -> list[PlannedJob]:
    """The planned jobs that were asked for. Raises NothingToRunError if a glob matches none."""
    check_globs(globs, [job.name for job in plan], "`preview` lists all jobs of the routing")
    return [job for job in plan if not globs or any(fnmatchcase(job.name, g) for g in globs)]


def _judged(
    connection: Connection,
    jobs: Sequence[tuple[PlannedJob, Attempt]],
    *,
    options: argparse.Namespace,
) -> Iterator[JobVerdict]:
    """The verdicts, a few logs read at a time; after a refusal no further log is asked for."""
    tell(f"reading the logs of {count(len(jobs), 'job')}")

    def one(pair: tuple[PlannedJob, Attempt]) -> JobVerdict:
        planned, attempt = pair
        seen = read_log(connection, attempt, deadline=options.deadline)
        return judge(planned, attempt, seen)

    return in_parallel(one, jobs, at_once=options.parallel)
