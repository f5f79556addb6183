"""The JSON of the API's objects (doc/api: pipelines, jobs, pipeline_schedules, notes, projects)."""

from __future__ import annotations

import datetime
from typing import Any

from .world import Job, Pipeline, Project, Schedule, Token, User, World

Shape = dict[str, Any]


def when(moment: datetime.datetime | None) -> str | None:
    """A time as the API writes it."""
    return (
        moment
        and f"{moment.astimezone(datetime.UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    )


def user(each: User | None) -> Shape | None:
    return each and {
        "id": each.id, "username": each.username, "name": each.name, "state": each.state,
        "locked": False, "avatar_url": None, "web_url": f"https://gitlab.example.com/{each.username}",
    }  # fmt: skip


def pipeline(each: Pipeline, *, full: bool = False) -> Shape:
    """An item of a list, or with `full` the answer to a request for one."""
    short = {
        "id": each.id, "iid": each.iid, "project_id": each.project_id, "sha": each.sha,
        "ref": each.ref, "status": each.status, "source": each.source,
        "created_at": when(each.created_at), "updated_at": when(each.updated_at or each.created_at),
        "web_url": f"https://gitlab.example.com/team/training/-/pipelines/{each.id}",
        "name": each.name,
    }  # fmt: skip
    if not full:
        return short
    return {
        **short,
        "before_sha": "0" * 40, "tag": each.tag, "yaml_errors": each.yaml_errors,
        "user": user(each.user), "started_at": when(each.started_at),
        "finished_at": when(each.finished_at), "committed_at": None,
        "duration": None, "queued_duration": None, "coverage": None,
        "detailed_status": {
            "icon": f"status_{each.status}", "text": each.status.capitalize(), "label": each.status,
            "group": each.status, "tooltip": each.status, "has_details": True,
            "details_path": f"/team/training/-/pipelines/{each.id}", "illustration": None,
            "favicon": "/favicon.png",
        },
        "archived": False,
    }  # fmt: skip


def _downstream(each: Pipeline | None) -> Shape | None:
    return each and {key: value for key, value in pipeline(each).items() if key != "name"}


def job(each: Job) -> Shape:
    """A job, or a bridge with its downstream pipeline."""
    common = {
        "id": each.id, "status": each.status, "stage": each.stage, "name": each.name,
        "ref": each.pipeline.ref, "tag": each.pipeline.tag, "coverage": None,
        "allow_failure": each.allow_failure, "created_at": when(each.created_at),
        "started_at": when(each.started_at), "finished_at": when(each.finished_at),
        "erased_at": None, "duration": each.duration, "queued_duration": each.queued_duration,
        "user": user(each.pipeline.user),
        "commit": {
            "id": each.pipeline.sha, "short_id": each.pipeline.sha[:8], "title": "t",
            "message": "m",
            "author_name": "n", "author_email": "e", "created_at": when(each.created_at),
        },
        "pipeline": _downstream(each.pipeline),
        "web_url": f"https://gitlab.example.com/team/training/-/jobs/{each.id}",
        "project": {"ci_job_token_scope_enabled": False},
    }  # fmt: skip
    if each.status == "failed":
        common["failure_reason"] = each.failure_reason or "script_failure"
    if each.is_bridge:
        return {**common, "downstream_pipeline": _downstream(each.downstream)}
    return {
        **common,
        "artifacts_file": {"filename": "artifacts.zip", "size": 1000}, "artifacts": [],
        "runner": each.runner, "runner_manager": None, "artifacts_expire_at": None,
        "archived": False, "tag_list": each.tag_list,
    }  # fmt: skip


def schedule(each: Schedule, *, full: bool = False) -> Shape:
    short = {
        "id": each.id, "description": each.description, "ref": f"refs/heads/{each.ref}",
        "cron": each.cron, "cron_timezone": each.cron_timezone,
        "next_run_at": when(each.next_run_at) if each.active else None, "active": each.active,
        "created_at": when(each.created_at), "updated_at": when(each.created_at),
        "owner": user(each.owner),
    }  # fmt: skip
    if not full:
        return short
    last = each.pipelines[-1] if each.pipelines else None
    keys = ("id", "sha", "ref", "status")
    return {
        **short,
        "last_pipeline": last and {key: pipeline(last)[key] for key in keys},
        "variables": each.variables,
    }


def project(each: Project, token: Token) -> Shape:
    """A project; some of its settings only show to those who may change them."""
    name = each.path.rpartition("/")[2]
    return {
        "id": each.id, "name": name, "path": name, "path_with_namespace": each.path,
        "default_branch": each.default_branch, "archived": False, "visibility": "private",
        "web_url": f"https://gitlab.example.com/{each.path}", "jobs_enabled": True,
        "builds_access_level": "enabled", "ci_config_path": None,
        "container_registry_enabled": True,
        "namespace": {"id": 3, "name": each.group, "path": each.group, "kind": "group",
                      "full_path": each.group},
        "permissions": {"project_access": {"access_level": token.access}, "group_access": None},
        **each.attributes,
        **(each.settings if token.access >= 40 else {}),
    }  # fmt: skip


def note(world: World, project_id: int, iid: int, body: str, author: User) -> Shape:
    """A new note of a merge request."""
    now = when(world.clock())
    return {
        "id": world.next_id(), "type": None, "body": body, "author": user(author),
        "created_at": now, "updated_at": now, "system": False, "noteable_id": 90 + iid,
        "noteable_type": "MergeRequest", "project_id": project_id, "resolvable": False,
        "confidential": False, "internal": False, "imported": False, "imported_from": "none",
        "noteable_iid": iid, "commands_changes": {},
    }  # fmt: skip


RUNNER_IN_LIST = (
    "id description active paused is_shared runner_type name online status ip_address".split()
)
