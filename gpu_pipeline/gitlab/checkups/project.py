"""Token, server, project, branch, and who may set pipeline variables."""

from __future__ import annotations

import datetime
from typing import Any

from gpu_pipeline.gitlab.attempts import moment
from gpu_pipeline.gitlab.checkups.line import Case, Line, Unread, ask, error, ok, warning
from gpu_pipeline.gitlab.connection import Connection

_OLDEST = 16  # the first version with the lint API that `gitlab lint` uses
_SOON = datetime.timedelta(days=14)


def check_token(connection: Connection, today: datetime.date) -> list[Line]:
    """What the token may do and for how long (doc/api/personal_access_tokens: self)."""
    found = ask(
        connection,
        "token",
        "any",
        lambda: connection.client.http_get("/personal_access_tokens/self"),
    )
    if isinstance(found, Line) or not isinstance(found, dict):
        return [ok("token", f"{connection.token.kind}; its scopes and end cannot be read")]
    scopes, end = set(found.get("scopes") or ()), found.get("expires_at")
    lines = []
    if "api" not in scopes:
        lines.append(
            warning(
                "token",
                f"has the scopes {', '.join(sorted(scopes)) or 'none'}: it cannot lint, trigger, "
                "write schedules or notes",
                "make one with the scope `api` for these commands",
            )
        )
    last_day = moment(end)
    if last_day and last_day.date() - today < _SOON:
        lines.append(
            warning("token", f"ends on {end}", "make a new one before (Settings → Access tokens)")
        )
    return lines or [ok("token", f"scopes {', '.join(sorted(scopes))}, ends {end or 'never'}")]


def check_server(connection: Connection) -> list[Line]:
    """The server's version."""
    found = ask(connection, "server", "any", lambda: connection.client.http_get("/version"))
    version = str(found.get("version", "")) if isinstance(found, dict) else ""
    major = version.partition(".")[0]
    if not major.isdecimal():
        return [ok("server", f"{connection.server}, which does not tell its version")]
    if int(major) < _OLDEST:
        return [
            warning("server", f"GitLab {version} lacks the lint API", "update to 16 or newer"),
        ]
    return [ok("server", f"GitLab {version}")]


def check_project(case: Case) -> list[Line]:
    """Whether the project runs pipelines at all, and from which file."""
    facts = case.project.attributes
    name = facts["path_with_namespace"]
    if facts.get("archived"):
        return [error("project", f"{name} is archived", "unarchive it (Settings → General)")]
    if facts.get("builds_access_level") == "disabled" or facts.get("jobs_enabled") is False:
        return [
            error("project", f"CI/CD is off in {name}", "Settings → General → Visibility → CI/CD")
        ]
    return [ok("project", f"{name}, number {case.project.id}")]


def check_ref(case: Case, found: Any) -> list[Line]:
    """The branch that is to train; `found` is what the server says of it."""
    if isinstance(found, Unread):
        if found.status != 404:
            return [found]
        return [
            error(
                "branch",
                f'there is no branch "{case.ref}" on the server',
                "push it, or name another with --ref",
            )
        ]
    if not found.protected:
        return [
            ok("branch", f"{case.ref} is not protected: protected variables do not reach its jobs")
        ]
    return [ok("branch", f"{case.ref} is protected: its schedule's owner must be allowed to merge")]


def check_variable_role(case: Case) -> list[Line]:
    """Who may set pipeline variables (doc/api/projects: ci_pipeline_variables_…)."""
    subject, place = "pipeline variables", "Settings → CI/CD → Variables"
    role = case.project.attributes.get("ci_pipeline_variables_minimum_override_role")
    if role is None:
        return [
            warning(
                subject,
                "the token may not read who may set them",
                "use a maintainer's token, or look at " + place,
            )
        ]
    if role == "no_one_allowed":
        return [
            warning(
                subject,
                "nobody may set them: TRAIN_JOBS in Run pipeline and `gitlab trigger --var` are "
                "refused. Schedules keep their variables",
                f"lower the role ({place}), or use `gitlab trigger --no-variables`",
            )
        ]
    return [ok(subject, f"a {role} may set them, and whoever has a higher role")]
