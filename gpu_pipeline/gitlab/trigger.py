"""`gitlab trigger`: start the parent pipeline, play jobs of its child, wait for the end."""

from __future__ import annotations

import argparse
import re
import secrets
from collections.abc import Mapping, Sequence

from gpu_pipeline.assignments import assignments
from gpu_pipeline.console import show, tell
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.gitlab.attempts import Attempt
from gpu_pipeline.gitlab.connection import connect
from gpu_pipeline.gitlab.pipelines import FAILED, Node, short_ref
from gpu_pipeline.gitlab.retrying import Time
from gpu_pipeline.gitlab.running import Patience, play, wait_for_end
from gpu_pipeline.gitlab.starting import Start, Started, start_pipeline
from gpu_pipeline.names import RUN_ID
from gpu_pipeline.reports.layout import as_json


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Start one pipeline; with --wait exit 1 when it, a child or a played job fails."""
    variables = _variables(options)
    connection = connect(options, environment, to="start pipelines")
    start = Start(
        ref=short_ref(options.ref or "") or connection.default_branch(),
        variables=variables,
        run_id=None if options.no_variables else options.run_id or secrets.token_hex(8),
        patience=options.deadline,
    )
    clock = Time()
    started = start_pipeline(connection, start, resume=bool(options.run_id), clock=clock)
    played: Sequence[Attempt] = []
    ended = None
    patience = Patience(timeout=options.timeout, interval=options.interval, clock=clock)
    pipeline = started.pipeline
    # Said at once: whatever goes wrong from here on, the pipeline is there.
    if started.is_new:
        tell(f"started pipeline {pipeline.id}: {pipeline.web_url}")
    else:
        tell(
            f"{RUN_ID}={start.run_id} was started before, as pipeline {pipeline.id} "
            f"({pipeline.web_url}); no further pipeline is started"
        )
    try:
        if options.play:
            played = play(connection, pipeline, options.play, patience)
        if options.wait:
            ended, played = wait_for_end(connection, pipeline, patience, played)
    except KeyboardInterrupt:
        tell(f"pipeline {pipeline.id} goes on: {pipeline.web_url}")
        raise
    report = _json if options.format == "json" else _text
    show(report(started, start, played, ended))
    if ended is None:
        return EXIT_OK
    ends = [each.status for each in played] + [each.status for each in ended.all_nodes()]
    return EXIT_DIFFERS if set(ends) & set(FAILED) else EXIT_OK


def _variables(options: argparse.Namespace) -> dict[str, str]:
    variables = assignments(options.variables)
    if options.no_variables and (variables or options.run_id):
        raise UsageError("--no-variables: leave --var and --run-id out, which need a variable")
    if RUN_ID in variables:
        raise UsageError(f"--var {RUN_ID}: --run-id sets this one")
    if options.run_id is not None and not re.fullmatch(r"[\w.-]{1,200}", options.run_id):
        raise UsageError("--run-id: letters, digits, dots, hyphens and underscores, at most 200")
    if "" in options.play:
        raise UsageError("--play: the glob is empty")
    return variables


def _text(started: Started, start: Start, played: Sequence[Attempt], ended: Node | None) -> str:
    pipeline = started.pipeline
    lines = [f"pipeline {pipeline.id} on {start.ref}: {pipeline.web_url}"]
    if played:
        lines.append(f"played: {', '.join(sorted(each.name for each in played))}")
    if ended:
        lines += [f"{each.name}: {each.status}" for each in played]
        lines += [f"pipeline {each.id}: {each.status}" for each in ended.all_nodes()]
    return "\n".join(lines)


def _json(started: Started, start: Start, played: Sequence[Attempt], ended: Node | None) -> str:
    pipeline = started.pipeline
    facts = {
        "id": pipeline.id,
        "web_url": pipeline.web_url,
        "ref": start.ref,
        "run_id": start.run_id,
        "new": started.is_new,
        "played": [{"id": each.id, "name": each.name, "status": each.status} for each in played],
        "pipelines": [
            {"project_id": each.project, "id": each.id, "status": each.status}
            for each in (ended.all_nodes() if ended else ())
        ],
    }
    return as_json(facts)
