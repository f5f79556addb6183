"""`gitlab doctor`: looks before the night at all that would keep it from training."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping
from pathlib import Path

from gpu_pipeline.ci_file import CiFile, parse_ci_file
from gpu_pipeline.errors import EXIT_DIFFERS, EXIT_OK, UsageError
from gpu_pipeline.files import display, read_text
from gpu_pipeline.gitlab.checkups.files import check_files
from gpu_pipeline.gitlab.checkups.line import Case, Level, Unread, ask
from gpu_pipeline.gitlab.checkups.project import (
    check_project,
    check_ref,
    check_server,
    check_token,
    check_variable_role,
)
from gpu_pipeline.gitlab.checkups.runners import check_runners, check_timeout
from gpu_pipeline.gitlab.checkups.schedules import check_schedules
from gpu_pipeline.gitlab.checkups.variables import check_variables
from gpu_pipeline.gitlab.connection import connect
from gpu_pipeline.gitlab.outputs import check_outputs
from gpu_pipeline.loading import load_routing
from gpu_pipeline.reports.doctor import doctor
from gpu_pipeline.results import deliver
from gpu_pipeline.yaml_text import YamlError


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Print a line for each thing that was looked at; exit 1 when one of them is an error."""
    check_outputs(options)
    routed = load_routing(options.routing, options.templates)
    parent = _parent(options.parent)
    connection = connect(options, environment, to="read settings, runners and schedules")
    now = datetime.datetime.now(datetime.UTC)
    project = connection.read_project()
    ref = options.ref or connection.default_branch(project)
    branch = ask(connection, "branch", "Reporter", lambda: connection.project.branches.get(ref))
    case = Case(
        connection=connection,
        project=project,
        routed=routed,
        parent=parent,
        ref=ref,
        protected=None if isinstance(branch, Unread) else bool(branch.protected),
    )
    lines = [
        *check_token(connection, now.date()),
        *check_server(connection),
        *check_project(case),
        *check_ref(case, branch),
        *check_variable_role(case),
        *check_timeout(case),
        *check_runners(case),
        *check_variables(case),
        *check_schedules(case, options.schedule, now),
        *check_files(case, options.parent, options.routing, options.templates),
    ]
    deliver(doctor(lines, options.format), options)
    return EXIT_DIFFERS if any(line.level is Level.ERROR for line in lines) else EXIT_OK


def _parent(path: Path) -> CiFile:
    """The parent pipeline as a tree. Raises UsageError for a file that is none."""
    text = read_text(path, "--parent")
    try:
        return parse_ci_file(text, display(path))
    except YamlError as error:
        raise UsageError(f"{display(path)}:{error.line}: {error}") from None
