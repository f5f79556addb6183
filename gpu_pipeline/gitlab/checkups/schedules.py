"""The schedule that makes the night: there, active, owned, spelt right, and not overdue."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

from gitlab.v4.objects import ProjectPipelineSchedule

from gpu_pipeline.gitlab import cron
from gpu_pipeline.gitlab.attempts import moment
from gpu_pipeline.gitlab.checkups.line import Case, Line, Unread, ask, error, ok, warning
from gpu_pipeline.gitlab.pipelines import short_ref
from gpu_pipeline.names import TRAIN_VALIDATE

_LATE = datetime.timedelta(hours=1)  # a busy server starts schedules some minutes late
_DEVELOPER = 30  # doc/api/members: access levels


def check_schedules(case: Case, wanted: str | None, now: datetime.datetime) -> list[Line]:
    """Lines about the schedules that train on the branch; `wanted` is a description or id."""
    listed = ask(
        case.connection,
        "schedules",
        "Reporter",
        lambda: case.connection.project.pipelineschedules.list(get_all=True),
    )
    if isinstance(listed, Line):
        return [listed]
    chosen = [each for each in listed if wanted in (None, each.description, str(each.id))]
    training = [full for each in chosen if (full := _training(case, each, wanted))]
    if not training:
        what = f'no schedule is called "{wanted}"' if wanted else f"none trains on {case.ref}"
        return [error("schedule", what, "`gitlab schedule` makes one")]
    lines = [line for each in training for line in _check(case, each, now)]
    running = [each for each in training if each.active]
    if len(running) > 1:
        numbers = ", ".join(str(each.id) for each in running)
        lines.append(
            warning("schedule", f"several train: {numbers}", "deactivate all but one: each pays")
        )
    return lines


def _training(
    case: Case, listed: ProjectPipelineSchedule, wanted: str | None
) -> ProjectPipelineSchedule | None:
    """The schedule with its variables, if it has to do with training on the branch."""
    if wanted is None and short_ref(listed.ref) != case.ref:
        return None
    found = ask(
        case.connection,
        f"schedule {listed.id}",
        "Reporter",
        lambda: case.connection.project.pipelineschedules.get(listed.id),
    )
    full = listed if isinstance(found, Line) else found
    names = [each["key"].upper() for each in full.attributes.get("variables") or ()]
    unreadable = full.attributes.get("variables") is None
    return full if wanted or unreadable or TRAIN_VALIDATE in names else None


def _check(case: Case, found: ProjectPipelineSchedule, now: datetime.datetime) -> list[Line]:
    subject = f'schedule {found.id} "{found.description}"'
    lines = [
        *_check_state(case, found, subject),
        *_check_owner(case, found, subject),
        *_check_variable(found, subject),
        *_check_time(found, subject, now),
        *_check_last(case, found, subject, now),
    ]
    return lines or [ok(subject, _described(found))]


def _described(found: ProjectPipelineSchedule) -> str:
    owner = (found.attributes.get("owner") or {}).get("username", "nobody")
    return (
        f"active, {found.cron} {found.cron_timezone} on {short_ref(found.ref)}, next "
        f"{found.attributes.get('next_run_at')}, owner {owner}, {TRAIN_VALIDATE} is true"
    )


def _check_state(case: Case, found: ProjectPipelineSchedule, subject: str) -> list[Line]:
    lines = []
    if not found.active:
        lines.append(error(subject, "is not active", "activate it (Build → Pipeline schedules)"))
    if short_ref(found.ref) != case.ref:
        message = f"runs on {short_ref(found.ref)}, not on {case.ref}"
        lines.append(warning(subject, message, "edit it, or name that branch with --ref"))
    return lines


def _check_owner(case: Case, found: ProjectPipelineSchedule, subject: str) -> list[Line]:
    """A schedule runs with its owner's rights; without them nothing says so (doc/ci/pipelines)."""
    fix = "let somebody who may run pipelines take its ownership (Build → Pipeline schedules)"
    owner = found.attributes.get("owner")
    if not owner:
        return [error(subject, "has no owner", fix)]
    name = owner["username"]
    if owner.get("state", "active") != "active":
        return [error(subject, f"its owner {name} is {owner['state']}: it does not run", fix)]
    members = case.connection.project.members_all
    member: Any = ask(
        case.connection, "its owner's membership", "Reporter", lambda: members.get(owner["id"])
    )
    if isinstance(member, Unread):
        if member.status == 404:
            return [error(subject, f"its owner {name} is no member of the project", fix)]
        return []
    if member.access_level < _DEVELOPER:
        return [error(subject, f"its owner {name} may not run pipelines", fix)]
    return []


def _check_variable(found: ProjectPipelineSchedule, subject: str) -> list[Line]:
    variables = found.attributes.get("variables")
    if variables is None:
        return [
            warning(
                subject,
                f"the token may not read its variables, {TRAIN_VALIDATE} among them",
                "use its owner's token, or a maintainer's",
            )
        ]
    values = {each["key"]: each["value"] for each in variables}
    value = values.get(TRAIN_VALIDATE)
    if value == "true":
        return []
    what = "is missing" if value is None else f'is "{value}"'
    alike = [name for name in values if name.upper() == TRAIN_VALIDATE and name != TRAIN_VALIDATE]
    if value is None and alike:
        what = f"is spelt {alike[0]}"
    return [
        error(
            subject,
            f"{TRAIN_VALIDATE} {what}: nothing trains unless it is exactly true",
            "`gitlab schedule` corrects it",
        )
    ]


def _check_time(found: ProjectPipelineSchedule, subject: str, now: datetime.datetime) -> list[Line]:
    coming = moment(found.attributes.get("next_run_at"))
    if found.active and coming is not None and coming < now - _LATE:
        return [
            error(
                subject,
                f"should have run at {coming:%Y-%m-%d %H:%M} UTC and did not",
                "is the server's scheduler running? Edit and save the schedule, then look again",
            )
        ]
    if cron.period(found.cron, now) is None:
        return [warning(subject, f'its cron line "{found.cron}" cannot be read here', "check it")]
    return []


def _check_last(
    case: Case, found: ProjectPipelineSchedule, subject: str, now: datetime.datetime
) -> list[Line]:
    """The last pipeline: younger than two periods, and not failed."""
    period = cron.period(found.cron, now)
    if not found.active or period is None:
        return []
    last = found.attributes.get("last_pipeline")
    if not last:
        since = moment(found.attributes.get("created_at"))
        if since is not None and now - since > 2 * period:
            return [_overdue(subject, "has never run", since)]
        return []
    pipelines = case.connection.project.pipelines
    read = ask(case.connection, "its last pipeline", "Reporter", lambda: pipelines.get(last["id"]))
    if isinstance(read, Line):
        return [read]
    started = moment(read.created_at)
    lines: Sequence[Line] = []
    if started is not None and now - started > 2 * period:
        lines = [_overdue(subject, f"last ran as pipeline {read.id}", started)]
    if read.status == "failed":
        fix = f"`gitlab verify {read.id}` says why"
        lines = [*lines, warning(subject, f"its last pipeline {read.id} failed", fix)]
    return list(lines)


def _overdue(subject: str, what: str, since: datetime.datetime) -> Line:
    return warning(
        subject,
        f"is overdue: it {what}, and {since:%Y-%m-%d %H:%M} UTC is more than two periods ago",
        "GitLab tells nobody when a schedule cannot start: play it by hand, and read what it says",
    )
