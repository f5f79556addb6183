"""Pipelines, their jobs and bridges, logs (doc/api: pipelines, jobs, pipeline_triggers)."""

from __future__ import annotations

import re
from typing import Any

from . import shapes
from .routing import RefusalError, Reply, Request, route
from .world import DEVELOPER, MAINTAINER, REPORTER, Job, Pipeline, Project, Token, World

_STATUSES = set(
    "created waiting_for_resource preparing pending running success failed canceling canceled "
    "skipped manual scheduled".split()
)
_ROLES = {"developer": 30, "maintainer": 40, "owner": 50, "no_one_allowed": 99}
_PIPELINES = "/projects/:project/pipelines"


def _pipeline(request: Request) -> Pipeline:
    """The pipeline of the path; one that is polled moves on first."""
    found = request.world.pipelines.get(_number(request.parts["pipeline"]))
    if found is None or found.project_id != request.project.id:
        raise RefusalError(404, "404 Not found")
    return found


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def create(
    world: World,
    project: Project,
    token: Token,
    ref: str,
    variables: list[dict[str, Any]],
    source: str = "api",
) -> Pipeline:
    """A new pipeline, or the refusal that GitLab gives (Ci::CreatePipelineService)."""
    name = ref.removeprefix("refs/heads/").removeprefix("refs/tags/")
    role = project.settings.get("ci_pipeline_variables_minimum_override_role", "developer")
    refusals = list(world.refusals)
    if name not in project.branches and name not in project.tags:
        refusals = ["Reference not found"]
    elif variables and token.access < _ROLES[role]:
        refusals = ["Insufficient permissions to set pipeline variables"]
    elif project.branches.get(name) and token.access < project.attributes.get("_merge_access", 30):
        refusals = ["Insufficient permissions to create a new pipeline"]
    if refusals:
        raise RefusalError(400, {"message": {"base": refusals}})
    made = world.add_pipeline(
        source=source, ref=name, project=project, user=token.user, tag=name in project.tags
    )
    made.variables = [
        {"key": each["key"], "variable_type": each.get("variable_type", "env_var"),
         "value": each["value"], "raw": False}
        for each in variables
    ]  # fmt: skip
    world.on_pipeline(made)
    return made


@route("POST", "/projects/:project/pipeline", access=DEVELOPER)
def create_pipeline(request: Request) -> Reply:
    request.require("ref")
    variables = request.body.get("variables") or []
    for each in variables:
        if not isinstance(each, dict) or not {"key", "value"} <= set(each):
            raise RefusalError(400, {"error": "variables[0][key] is missing"})
    made = create(request.world, request.project, request.who, request.body["ref"], variables)
    return Reply(shapes.pipeline(made, full=True), status=201)


@route("POST", "/projects/:project/trigger/pipeline", by_token=True)
def trigger_pipeline(request: Request) -> Reply:
    request.require("token", "ref")
    token = request.world.tokens.get(request.body["token"])
    if token is None or token.kind not in ("trigger", "job"):
        raise RefusalError(404, "404 Not Found")
    given = request.body.get("variables") or {}
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise RefusalError(400, "variables needs to be a map of key-valued strings")
    source = "pipeline" if token.kind == "job" else "trigger"
    variables = [{"key": key, "value": value} for key, value in given.items()]
    made = create(request.world, request.project, token, request.body["ref"], variables, source)
    return Reply(shapes.pipeline(made, full=True), status=201)


@route("GET", _PIPELINES, access=REPORTER)
def list_pipelines(request: Request) -> Reply:
    source, ref, status = (request.value(name) for name in ("source", "ref", "status"))
    username, sha = request.value("username"), request.value("sha")
    if status and status not in _STATUSES:
        raise RefusalError(400, {"error": "status does not have a valid value"})
    after = request.value("updated_after") or request.value("created_after")
    found = [
        each
        for each in request.world.pipelines.values()
        if each.project_id == request.project.id
        and (each.source == source if source else each.source != "parent_pipeline")
        and (not ref or each.ref == ref)
        and (not sha or each.sha == sha)
        and (not status or each.status == status)
        and (not username or (each.user and each.user.username == username))
        and (not after or (shapes.when(each.created_at) or "") >= after[:23])
    ]
    found.sort(key=lambda each: each.id, reverse=request.value("sort", "desc") == "desc")
    return Reply([shapes.pipeline(each) for each in found], pages=True)


@route("GET", f"{_PIPELINES}/:pipeline", access=REPORTER)
def get_pipeline(request: Request) -> Reply:
    if request.parts["pipeline"] == "latest":
        ref = request.value("ref", request.project.default_branch)
        own = [
            each
            for each in request.world.pipelines.values()
            if each.ref == ref and each.source != "parent_pipeline"
        ]
        if not own:
            raise RefusalError(403, "403 Forbidden")
        return Reply(shapes.pipeline(max(own, key=lambda each: each.id), full=True))
    found = _pipeline(request)
    if request.world.later:
        request.world.later.popleft()()
    return Reply(shapes.pipeline(found, full=True))


@route("GET", f"{_PIPELINES}/:pipeline/variables", access=REPORTER)
def list_variables(request: Request) -> Reply:
    found = _pipeline(request)
    own = found.user is not None and found.user.id == request.who.user.id
    if not (own or request.who.access >= MAINTAINER):
        raise RefusalError(403, "403 Forbidden")
    return Reply(found.variables, pages=True)


@route("POST", f"{_PIPELINES}/:pipeline/cancel", access=DEVELOPER)
def cancel_pipeline(request: Request) -> Reply:
    found = _pipeline(request)
    found.status = "canceled"
    return Reply(shapes.pipeline(found, full=True))


@route("GET", f"{_PIPELINES}/:pipeline/jobs", access=REPORTER, job_token=True)
def pipeline_jobs(request: Request) -> Reply:
    return Reply(_jobs(request, bridges=False), pages=True)


@route("GET", f"{_PIPELINES}/:pipeline/bridges", access=REPORTER)
def pipeline_bridges(request: Request) -> Reply:
    return Reply(_jobs(request, bridges=True), pages=True)


def _jobs(request: Request, *, bridges: bool) -> list[shapes.Shape]:
    scope = _scope(request)
    retried = request.value("include_retried", "false").lower() in ("true", "1")
    return [
        shapes.job(each)
        for each in request.world.jobs_of(_pipeline(request), bridges=bridges)
        if (retried or not each.retried) and (not scope or each.status in scope)
    ]


def _scope(request: Request) -> list[str]:
    scope = request.values("scope")
    if not set(scope) <= _STATUSES:
        raise RefusalError(400, "400 Bad request - Scope contains invalid value(s)")
    return scope


@route("GET", "/projects/:project/jobs", access=REPORTER, job_token=True)
def project_jobs(request: Request) -> Reply:
    scope = _scope(request)
    found = [
        each
        for each in request.world.jobs.values()
        if each.pipeline.project_id == request.project.id
        and not each.is_bridge
        and (not scope or each.status in scope)
    ]
    found.sort(key=lambda each: -each.id)
    return Reply([shapes.job(each) for each in found], pages=True, totals=False)


def _job(request: Request, *, bridges: bool = False) -> Job:
    found = request.world.jobs.get(_number(request.parts["job"]))
    if found is None or found.pipeline.project_id != request.project.id:
        raise RefusalError(404, "404 Not found")
    if found.is_bridge and not bridges:  # a bridge is no build
        raise RefusalError(404, "404 Not found")
    return found


@route("GET", "/projects/:project/jobs/:job", access=REPORTER)
def get_job(request: Request) -> Reply:
    return Reply(shapes.job(_job(request)))


@route("GET", "/projects/:project/jobs/:job/trace", access=REPORTER)
def get_trace(request: Request) -> Reply:
    found = _job(request)
    headers = {"Content-Disposition": f'infile; filename="{found.id}.log"'}
    return Reply(found.trace or b"", headers=headers)


@route("POST", "/projects/:project/jobs/:job/play", access=DEVELOPER)
def play_job(request: Request) -> Reply:
    found = _job(request, bridges=True)
    if found.status not in ("manual", "scheduled") or found.retried:
        raise RefusalError(400, "400 Bad request - Unplayable Job")
    found.status = "pending"
    request.world.on_play(found)
    return Reply(shapes.job(found))


@route("POST", "/projects/:project/jobs/:job/retry", access=DEVELOPER)
def retry_job(request: Request) -> Reply:
    found = _job(request)
    if found.status not in ("failed", "canceled", "success") or found.retried:
        raise RefusalError(403, "403 Forbidden - Job is not retryable")
    return Reply(shapes.job(request.world.retry(found)), status=201)


@route("POST", "/projects/:project/jobs/:job/cancel", access=DEVELOPER)
def cancel_job(request: Request) -> Reply:
    found = _job(request)
    found.status = "canceled"
    return Reply(shapes.job(found), status=201)


@route("GET", "/job", by_token=True)
def own_job(request: Request) -> Reply:
    if request.token is None or request.token.kind != "job":
        raise RefusalError(401, "401 Unauthorized")
    running = [each for each in request.world.jobs.values() if each.status == "running"]
    if not running:
        raise RefusalError(404, "404 Not found")
    return Reply(shapes.job(running[0]))


def variable_fault(key: str) -> str | None:
    """What GitLab says to a variable's name that cannot be one."""
    return (
        None
        if re.fullmatch(r"[A-Za-z0-9_]{1,255}", key)
        else "can contain only letters, digits and '_'."
    )
