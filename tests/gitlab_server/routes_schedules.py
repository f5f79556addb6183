"""Pipeline schedules and their variables (doc/api/pipeline_schedules)."""

from __future__ import annotations

import zoneinfo
from typing import Any

from croniter import croniter

from . import shapes
from .routes_pipelines import create, variable_fault
from .routing import RefusalError, Reply, Request, route
from .world import DEVELOPER, MAINTAINER, REPORTER, Schedule

_P = "/projects/:project"


def _schedule(request: Request) -> Schedule:
    for each in request.project.schedules:
        if str(each.id) == request.parts["schedule"]:
            return each
    raise RefusalError(404, "404 Pipeline Schedule Not Found")


def _apply(schedule: Schedule, body: dict[str, Any]) -> None:
    faults: dict[str, list[str]] = {}
    if not croniter.is_valid(body.get("cron", schedule.cron)):
        faults["cron"] = ["syntax is invalid"]
    zone = body.get("cron_timezone", schedule.cron_timezone)
    if zone not in zoneinfo.available_timezones():
        faults["cron_timezone"] = ["syntax is invalid"]
    if faults:
        raise RefusalError(400, {"message": faults})
    for name in ("description", "cron", "cron_timezone", "active"):
        if name in body:
            setattr(schedule, name, body[name])
    if "ref" in body:
        schedule.ref = body["ref"].removeprefix("refs/heads/")


@route("GET", f"{_P}/pipeline_schedules", access=REPORTER)
def list_schedules(request: Request) -> Reply:
    scope = request.value("scope")
    return Reply(
        [
            shapes.schedule(each)
            for each in request.project.schedules
            if not scope or each.active == (scope == "active")
        ],
        pages=True,
    )


@route("GET", f"{_P}/pipeline_schedules/:schedule", access=REPORTER)
def get_schedule(request: Request) -> Reply:
    found = _schedule(request)
    shape = shapes.schedule(found, full=True)
    if request.who.access < MAINTAINER and found.owner.id != request.who.user.id:
        del shape["variables"]
    return Reply(shape)


@route("GET", f"{_P}/pipeline_schedules/:schedule/pipelines", access=REPORTER)
def schedule_pipelines(request: Request) -> Reply:
    found = _schedule(request).pipelines
    if request.value("sort", "asc") == "desc":
        found = found[::-1]
    return Reply([shapes.pipeline(each) for each in found], pages=True)


@route("POST", f"{_P}/pipeline_schedules", access=DEVELOPER)
def create_schedule(request: Request) -> Reply:
    request.require("description", "ref", "cron")
    world, project = request.world, request.project
    made = Schedule(
        id=world.next_id(), description="", ref="", cron=request.body["cron"],
        owner=request.who.user, created_at=world.clock(),
    )  # fmt: skip
    _apply(made, dict(request.body))
    if made.ref not in project.branches and made.ref not in project.tags:
        raise RefusalError(400, {"message": {"ref": ["is ambiguous"]}})
    made.next_run_at = croniter(made.cron, world.clock()).get_next(type(made.created_at))
    project.schedules.append(made)
    return Reply(shapes.schedule(made, full=True), status=201)


def _own_schedule(request: Request) -> Schedule:
    """A schedule that the token may change: its own, or any for a maintainer's."""
    found = _schedule(request)
    if request.who.access < MAINTAINER and found.owner.id != request.who.user.id:
        raise RefusalError(403, "403 Forbidden")
    return found


@route("PUT", f"{_P}/pipeline_schedules/:schedule", access=DEVELOPER)
def update_schedule(request: Request) -> Reply:
    found = _own_schedule(request)
    _apply(found, dict(request.body))
    return Reply(shapes.schedule(found, full=True))


@route("DELETE", f"{_P}/pipeline_schedules/:schedule", access=DEVELOPER)
def delete_schedule(request: Request) -> Reply:
    request.project.schedules.remove(_own_schedule(request))
    return Reply(b"", status=204)


@route("POST", f"{_P}/pipeline_schedules/:schedule/take_ownership", access=MAINTAINER)
def take_ownership(request: Request) -> Reply:
    found = _schedule(request)
    found.owner = request.who.user
    return Reply(shapes.schedule(found, full=True), status=201)


@route("POST", f"{_P}/pipeline_schedules/:schedule/play", access=DEVELOPER)
def play_schedule(request: Request) -> Reply:
    found = _schedule(request)
    made = create(request.world, request.project, request.who, found.ref, [], source="schedule")
    made.variables = list(found.variables)
    found.pipelines.append(made)
    return Reply({"message": "201 Created"}, status=201)


@route("POST", f"{_P}/pipeline_schedules/:schedule/variables", access=DEVELOPER)
def create_schedule_variable(request: Request) -> Reply:
    request.require("key", "value")
    found, key = _own_schedule(request), request.body["key"]
    fault = variable_fault(key)
    if any(each["key"] == key for each in found.variables):
        fault = "has already been taken"
    if fault:
        raise RefusalError(400, {"message": {"key": [fault]}})
    made = {"key": key, "variable_type": request.body.get("variable_type", "env_var"),
            "value": request.body["value"], "raw": False}  # fmt: skip
    found.variables.append(made)
    return Reply(made, status=201)


def _schedule_variable(request: Request) -> dict[str, Any]:
    for each in _own_schedule(request).variables:
        if each["key"] == request.parts["key"]:
            return each
    raise RefusalError(404, "404 Pipeline Schedule Variable Not Found")


@route("PUT", f"{_P}/pipeline_schedules/:schedule/variables/:key", access=DEVELOPER)
def update_schedule_variable(request: Request) -> Reply:
    found = _schedule_variable(request)
    found |= {
        key: value for key, value in request.body.items() if key in ("value", "variable_type")
    }
    return Reply(found)


@route("DELETE", f"{_P}/pipeline_schedules/:schedule/variables/:key", access=DEVELOPER)
def delete_schedule_variable(request: Request) -> Reply:
    found = _schedule_variable(request)
    _own_schedule(request).variables.remove(found)
    return Reply(found, status=202)
