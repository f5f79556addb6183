"""`gitlab schedule`: one schedule that trains at night, made or corrected, never doubled."""

from __future__ import annotations

import argparse
import datetime
import itertools
from collections.abc import Mapping
from typing import Any

from gitlab.exceptions import GitlabCreateError
from gitlab.v4.objects import ProjectPipelineSchedule

from gpu_pipeline.assignments import assignments
from gpu_pipeline.console import show, tell
from gpu_pipeline.errors import EXIT_OK, AnswerLostError, GitLabError, UsageError
from gpu_pipeline.gitlab import cron
from gpu_pipeline.gitlab.connection import Connection, connect
from gpu_pipeline.gitlab.pipelines import short_ref
from gpu_pipeline.gitlab.refusals import status_of
from gpu_pipeline.gitlab.retrying import Time, looked_for
from gpu_pipeline.names import TRAIN_VALIDATE
from gpu_pipeline.record import Record

_ROLE = "Developer, and Maintainer for a schedule that belongs to somebody else"


class Wanted(Record):
    """What the schedule shall be; it is found by its description."""

    description: str
    settings: Mapping[str, str | bool]
    variables: Mapping[str, str]


def run(options: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """Create the schedule, or change what differs; --dry-run says what that would be."""
    line, zone = cron.check_cron(options.cron), cron.check_timezone(options.timezone)
    variables = _variables(options)
    connection = connect(options, environment, to="read and write schedules")
    ref = options.ref or connection.default_branch()
    with connection.asking("reading schedules", role="Reporter"):
        listed = connection.project.pipelineschedules.list(get_all=True)
    wanted = Wanted(
        description=options.description,
        settings={
            "cron": line,
            "cron_timezone": options.timezone,
            "ref": short_ref(ref),
            "active": not options.inactive,
        },
        variables=variables,
    )
    found = _only(listed, wanted.description)
    if found is None:
        report = _create(connection, wanted, Time(), options)
    else:
        report = _update(connection, found, wanted, dry=options.dry_run)
    _warn_of_others(connection, listed, wanted)
    show("\n".join([*report, *_next_runs(line, zone)]))
    return EXIT_OK


def _variables(options: argparse.Namespace) -> dict[str, str]:
    variables = assignments(options.variables)
    if variables.get(TRAIN_VALIDATE, "true") != "true":
        raise UsageError(f"--var {TRAIN_VALIDATE}: must be exactly true, or nothing would train")
    if not options.description.strip():
        raise UsageError("--description: is empty; the schedule is found again by it")
    return {TRAIN_VALIDATE: "true", **variables}


def _only(
    listed: list[ProjectPipelineSchedule], description: str
) -> ProjectPipelineSchedule | None:
    found = [each for each in listed if each.description == description]
    if len(found) > 1:
        numbers = ", ".join(str(each.id) for each in found)
        raise UsageError(
            f'several schedules are called "{description}" ({numbers}); delete all but one, or '
            "name another with --description"
        )
    return found[0] if found else None


def _create(
    connection: Connection, wanted: Wanted, clock: Time, options: argparse.Namespace
) -> list[str]:
    """Create it inactive, so that it cannot run before it has its variables."""
    what = f'schedule "{wanted.description}"'
    lines = [f"  {name}: {_said(value)}" for name, value in wanted.settings.items()]
    lines += [f"  variable {name}" for name in wanted.variables]
    if options.dry_run:
        return [f"{what} would be created", *lines]
    data = {"description": wanted.description, **wanted.settings, "active": False}
    with connection.asking(f"creating {what}"):
        try:
            made = connection.project.pipelineschedules.create(data)
        except AnswerLostError as lost:
            tell(f"{lost}; looking whether the schedule was created")
            made = _recover(connection, wanted.description, clock, options.deadline)
    assert isinstance(made, ProjectPipelineSchedule)  # noqa: S101 left open by its manager's type
    _update(connection, made, wanted, dry=False)
    return [f"{what} created, number {made.id}", *lines]


def _recover(
    connection: Connection, description: str, clock: Time, patience: float
) -> ProjectPipelineSchedule:
    """The schedule of a request without an answer."""
    found = looked_for(
        lambda: _only(connection.project.pipelineschedules.list(get_all=True), description),
        patience=patience,
        clock=clock,
    )
    if found is None:
        raise GitLabError(
            f"the answer was lost, and no schedule appeared within {patience:g} s; run it again: "
            "it corrects a schedule that is there by then, and does not double it"
        )
    return found


def _update(
    connection: Connection, found: ProjectPipelineSchedule, wanted: Wanted, *, dry: bool
) -> list[str]:
    """Change what differs; variables first, so that no run sees an old one."""
    what = f'schedule {found.id} "{wanted.description}"'
    with connection.asking(f"reading {what}", role="Reporter"):
        now = connection.project.pipelineschedules.get(found.id)
    present = now.attributes.get("variables")
    if present is None:
        raise GitLabError(
            f"{what} belongs to {_owner(now)}, and the token may not read its variables: take its "
            "ownership in GitLab, or use the token of a maintainer"
        )
    values = {each["key"]: each["value"] for each in present}
    changes = {
        name: value
        for name, value in wanted.settings.items()
        if value != (short_ref(now.ref) if name == "ref" else now.attributes.get(name))
    }
    lines = [
        f"  {name}: {_said(now.attributes.get(name))} → {_said(changes[name])}" for name in changes
    ]
    for name, value in wanted.variables.items():
        if values.get(name) != value:
            lines.append(f"  variable {name}: {'changed' if name in values else 'added'}")
            if not dry:
                with connection.asking(f"setting {name} in {what}", role=_ROLE):
                    _set_variable(connection, now.id, name, value, exists=name in values)
    if changes and not dry:
        with connection.asking(f"changing {what}, which belongs to {_owner(now)}", role=_ROLE):
            connection.project.pipelineschedules.update(now.id, dict(changes))
    further = sorted(set(values) - set(wanted.variables))
    if further:
        lines.append(f"  left as they are: {', '.join(further)}")
    if now.owner and now.owner.get("state", "active") != "active":
        tell(f"warning: {what} belongs to {_owner(now)}, who is not active: it does not run")
    if not changes and values.items() >= wanted.variables.items():
        return [f"{what} is as it should be", *lines]
    return [f"{what} {'would be ' if dry else ''}changed", *lines]


def _set_variable(
    connection: Connection, schedule: int, name: str, value: str, *, exists: bool
) -> None:
    variables = connection.project.pipelineschedules.get(schedule, lazy=True).variables
    if not exists:
        try:
            variables.create({"key": name, "value": value})
            return
        except AnswerLostError:
            now = connection.project.pipelineschedules.get(schedule)
            if not any(each["key"] == name for each in now.attributes.get("variables") or ()):
                raise GitLabError(
                    f"the answer to adding {name} was lost, and it is not there; run it again: it "
                    "adds what is missing"
                ) from None
        except GitlabCreateError as error:
            if status_of(error) != 400:  # it is there already
                raise
    variables.update(name, {"value": value})


def _owner(schedule: ProjectPipelineSchedule) -> str:
    owner = schedule.attributes.get("owner") or {}
    return str(owner.get("username", "nobody"))


def _said(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _warn_of_others(
    connection: Connection, listed: list[ProjectPipelineSchedule], wanted: Wanted
) -> None:
    """Two schedules that train cost twice as much."""
    for other in listed:
        if other.active and other.description != wanted.description:
            with connection.asking(f"reading schedule {other.id}", role="Reporter"):
                full = connection.project.pipelineschedules.get(other.id)
            variables = full.attributes.get("variables") or ()
            if {"key": TRAIN_VALIDATE, "value": "true"} in [
                {"key": each["key"], "value": each["value"]} for each in variables
            ]:
                tell(
                    f'warning: schedule {other.id} "{other.description}" trains as well; each of '
                    "them pays for its GPUs"
                )


def _next_runs(line: str, zone: Any) -> list[str]:
    now = datetime.datetime.now(datetime.UTC)
    coming = itertools.islice(cron.runs(line, zone, now), 2)
    lines = [f"next runs: {', then '.join(f'{run:%Y-%m-%d %H:%M %Z}' for run in coming)}"]
    missing = cron.left_out(line, zone, now)
    if missing:
        lines.append(
            f"note: {missing:%Y-%m-%d %H:%M} does not exist in {zone.key}, as clocks go forward; "
            "another hour, or UTC, has no such night"
        )
    return lines
