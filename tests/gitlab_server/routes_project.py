"""A project's settings, files, runners, variables, notes and lint (doc/api)."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import yaml

from . import shapes
from .routing import RefusalError, Reply, Request, route
from .world import DEVELOPER, GUEST, MAINTAINER, OWNER, REPORTER, SHA

_P = "/projects/:project"


@route("GET", "/version")
def version(request: Request) -> Reply:
    return Reply({"version": request.world.version, "revision": "0a1b2c3d"})


@route("GET", "/user")
def current_user(request: Request) -> Reply:
    return Reply({**(shapes.user(request.who.user) or {}), "bot": request.who.kind == "project"})


@route("GET", "/personal_access_tokens/self")
def own_token(request: Request) -> Reply:
    token = request.who
    if token.kind not in ("personal", "project"):
        raise RefusalError(
            400, "400 Bad request - This endpoint requires token type to be a personal access token"
        )
    return Reply(
        {"id": 5, "name": "test", "revoked": False, "created_at": "2026-01-01T00:00:00.000Z",
         "description": None, "scopes": list(token.scopes), "user_id": token.user.id,
         "last_used_at": None, "active": True, "expires_at": token.expires_at}
    )  # fmt: skip


@route("GET", _P, access=GUEST)
def get_project(request: Request) -> Reply:
    return Reply(shapes.project(request.project, request.who))


@route("GET", f"{_P}/repository/branches/:branch", access=REPORTER)
def get_branch(request: Request) -> Reply:
    name, project = request.parts["branch"], request.project
    if name not in project.branches:
        raise RefusalError(404, "404 Branch Not Found")
    return Reply(
        {"name": name, "merged": False, "protected": project.branches[name],
         "default": name == project.default_branch, "developers_can_push": False,
         "developers_can_merge": False, "can_push": request.who.access >= MAINTAINER,
         "web_url": "", "commit": {"id": SHA, "short_id": SHA[:8], "title": "t"}}
    )  # fmt: skip


@route("GET", f"{_P}/protected_branches/:branch", access=DEVELOPER)
def get_protected_branch(request: Request) -> Reply:
    name, project = request.parts["branch"], request.project
    if not project.branches.get(name):
        raise RefusalError(404, "404 Not found")
    merge = project.attributes.get("_merge_access", 30)
    levels = [{"id": 1, "access_level": merge, "access_level_description": "", "user_id": None,
               "group_id": None}]  # fmt: skip
    return Reply(
        {"id": 1, "name": name, "push_access_levels": levels, "merge_access_levels": levels,
         "allow_force_push": False}
    )  # fmt: skip


@route("GET", f"{_P}/members/all/:user", access=REPORTER)
def get_member(request: Request) -> Reply:
    number = int(request.parts["user"])
    if number not in request.project.members:
        raise RefusalError(404, "404 Not found")
    level = request.project.members[number]
    return Reply({"id": number, "username": "", "state": "active", "access_level": level})


@route("GET", f"{_P}/repository/tags/:tag", access=REPORTER)
def get_tag(request: Request) -> Reply:
    if request.parts["tag"] not in request.project.tags:
        raise RefusalError(404, "404 Tag Not Found")
    return Reply({"name": request.parts["tag"], "message": "", "target": SHA, "protected": False})


@route("GET", f"{_P}/repository/files/:path", access=REPORTER)
def get_file(request: Request) -> Reply:
    ref, path = request.value("ref", "HEAD"), request.parts["path"]
    project = request.project
    if ref == "HEAD":
        ref = project.default_branch
    if ref not in project.branches and ref not in project.tags and ref != SHA:
        raise RefusalError(404, "404 Commit Not Found")
    content = project.files.get((ref, path))
    if content is None:
        raise RefusalError(404, "404 File Not Found")
    return Reply(
        {"file_name": path.rpartition("/")[2], "file_path": path, "size": len(content),
         "encoding": "base64", "content": base64.b64encode(content).decode(),
         "content_sha256": hashlib.sha256(content).hexdigest(), "ref": ref, "blob_id": SHA,
         "commit_id": SHA, "last_commit_id": SHA, "execute_filemode": False}
    )  # fmt: skip


@route("GET", f"{_P}/repository/tree", access=REPORTER)
def list_tree(request: Request) -> Reply:
    """The files below a folder, all of them (`recursive`); folders themselves are left out."""
    ref, folder = request.value("ref", request.project.default_branch), request.value("path")
    found = [
        {"id": hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(),  # noqa: S324
         "name": path.rpartition("/")[2], "type": "blob", "path": path, "mode": "100644"}
        for (branch, path), content in sorted(request.project.files.items())
        if branch == ref and path.startswith(f"{folder}/")
    ]  # fmt: skip
    if not found:
        raise RefusalError(404, "404 Tree Not Found")
    return Reply(found, pages=True)


@route("GET", f"{_P}/variables", access=MAINTAINER)
def list_variables(request: Request) -> Reply:
    return Reply(request.project.variables, pages=True)


@route("GET", "/groups/:group/variables", access=OWNER)
def list_group_variables(request: Request) -> Reply:
    for project in request.world.projects.values():
        if request.parts["group"] in (project.group, "3"):
            return Reply(project.group_variables, pages=True)
    raise RefusalError(404, "404 Group Not Found")


@route("GET", f"{_P}/runners", access=MAINTAINER)
def list_runners(request: Request) -> Reply:
    tags = set(filter(None, request.value("tag_list").split(",")))
    status, kind = request.value("status"), request.value("type")
    found = [
        {key: each[key] for key in shapes.RUNNER_IN_LIST}
        for each in request.project.runners
        if tags <= set(each["tag_list"])
        and (not status or each["status"] == status)
        and (not kind or each["runner_type"] == kind)
    ]
    return Reply(found, pages=True)


@route("GET", "/runners/:runner", access=MAINTAINER)
def get_runner(request: Request) -> Reply:
    for project in request.world.projects.values():
        for each in project.runners:
            if str(each["id"]) == request.parts["runner"]:
                if each["runner_type"] == "instance_type" and each.get("_hidden"):
                    raise RefusalError(403, "403 Forbidden - No access granted")
                return Reply({key: each[key] for key in each if not key.startswith("_")})
    raise RefusalError(404, "404 Not found")


@route("POST", f"{_P}/ci/lint", access=DEVELOPER)
def lint(request: Request) -> Reply:
    request.require("content")
    return Reply(_linted(request, request.body["content"], dict(request.body)))


@route("GET", f"{_P}/ci/lint", access=REPORTER)
def lint_committed(request: Request) -> Reply:
    ref = request.value("content_ref", request.project.default_branch)
    content = request.project.files.get((ref, ".gitlab-ci.yml"))
    if content is None:
        return Reply(_verdict(["Please provide content of .gitlab-ci.yml"]))
    options = {key: values[-1] for key, values in request.query.items()}
    return Reply(_linted(request, content.decode(), options))


def _linted(request: Request, content: str, options: dict[str, Any]) -> dict[str, Any]:
    if request.world.lint is not None:
        return request.world.lint(content, options)
    try:
        parsed = yaml.load(content, Loader=_Loader)  # noqa: S506 a safe loader that knows one more tag
    except yaml.YAMLError as error:
        return _verdict([str(error).replace("\n", " ")])
    if not isinstance(parsed, dict):
        return _verdict(["Invalid configuration format"])
    known = {"workflow", "stages", "variables", "default", "include", "image", "spec"}
    jobs = {
        name: each
        for name, each in parsed.items()
        if name not in known and not name.startswith(".")
    }
    errors = [
        f"jobs:{name} config should implement the script:, run:, or trigger: keyword"
        for name, each in jobs.items()
        if not {"script", "trigger", "run", "extends"} & set(each)
    ]
    return _verdict(
        errors or ([] if jobs else ["jobs config should contain at least one visible job"])
    )


class _Loader(yaml.SafeLoader):
    """YAML with GitLab's own tag."""


_Loader.add_constructor("!reference", lambda loader, node: loader.construct_sequence(node))


def _verdict(errors: list[str]) -> dict[str, Any]:
    return {
        "valid": not errors, "errors": errors, "warnings": [],
        "merged_yaml": None if errors else "---\n", "includes": [], "jobs": [],
    }  # fmt: skip


_NOTES = f"{_P}/merge_requests/:iid/notes"


def _notes(request: Request) -> list[dict[str, Any]]:
    notes = request.project.notes
    iid = request.parts["iid"]
    if not iid.isdecimal() or int(iid) not in notes:
        raise RefusalError(404, "404 Not found")
    return notes[int(iid)]


@route("GET", _NOTES, access=GUEST)
def list_notes(request: Request) -> Reply:
    found = _notes(request)
    if request.value("sort", "desc") == "desc":
        found = found[::-1]
    return Reply(found, pages=True)


@route("POST", _NOTES, access=GUEST)
def create_note(request: Request) -> Reply:
    request.require("body")
    notes, body = _notes(request), request.body["body"]
    if len(body) > 1_000_000:
        raise RefusalError(
            400, {"message": {"note": ["is too long (maximum is 1000000 characters)"]}}
        )
    iid = int(request.parts["iid"])
    made = shapes.note(request.world, request.project.id, iid, body, request.who.user)
    notes.append(made)
    return Reply(made, status=201)


@route("PUT", f"{_NOTES}/:note", access=GUEST)
def update_note(request: Request) -> Reply:
    for each in _notes(request):
        if str(each["id"]) == request.parts["note"]:
            if request.who.access < MAINTAINER and each["author"]["id"] != request.who.user.id:
                raise RefusalError(403, "403 Forbidden")
            each["body"] = request.body["body"]
            return Reply(each)
    raise RefusalError(404, "404 Not found")
