"""Requests, answers, refusals, and which function answers which path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .world import Project, Token, World


@dataclass(frozen=True)
class Request:
    """One request, as far as a route needs it; `token` is None for a stranger."""

    method: str
    path: str
    parts: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: Mapping[str, Any]
    world: World
    token: Token | None

    @property
    def who(self) -> Token:
        """The token; the routes that use this were refused to strangers before."""
        assert self.token
        return self.token

    @property
    def project(self) -> Project:
        """The project of the path, by id or by path."""
        wanted = self.parts["project"]
        for project in self.world.projects.values():
            if wanted in (str(project.id), project.path):
                return project
        raise RefusalError(404, "404 Project Not Found")

    def values(self, name: str) -> list[str]:
        """A list parameter, `name[]=…` or `name=…`."""
        return [*self.query.get(f"{name}[]", []), *self.query.get(name, [])]

    def value(self, name: str, default: str = "") -> str:
        return (self.values(name) or [default])[-1]

    def require(self, *names: str) -> None:
        """Refuse a body that lacks one of the parameters (Grape's own words)."""
        missing = [name for name in names if self.body.get(name) is None]
        if missing:
            raise RefusalError(400, {"error": ", ".join(f"{name} is missing" for name in missing)})


@dataclass(frozen=True)
class Reply:
    """An answer: a JSON value, or bytes as text/plain; `pages` asks for pagination."""

    body: Any
    status: int = 200
    pages: bool = False
    totals: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)


class RefusalError(Exception):
    """A request that is refused; `message` becomes the body's, unless it is a whole body."""

    def __init__(self, status: int, message: str | dict[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message} if isinstance(message, str) else message


Handler = Callable[[Request], Reply]


@dataclass(frozen=True)
class Route:
    """`access` is the role that a request needs; `job_token` whether a job's token will do."""

    method: str
    pattern: re.Pattern[str]
    handler: Handler
    access: int
    job_token: bool
    by_token: bool


ROUTES: list[Route] = []


def route(
    method: str, path: str, *, access: int = 10, job_token: bool = False, by_token: bool = False
) -> Callable[[Handler], Handler]:
    """Register a handler for `path`, in which `:name` stands for one part of it.

    With `by_token` the handler looks at the token itself.
    """
    pattern = re.compile("/api/v4" + re.sub(r":(\w+)", r"(?P<\1>[^/]+)", path))

    def register(handler: Handler) -> Handler:
        ROUTES.append(Route(method, pattern, handler, access, job_token, by_token))
        return handler

    return register


def permit(found: Route, token: Token | None) -> None:
    """Refuse what GitLab refuses to this token (lib/api/helpers.rb, doc/ci/jobs/ci_job_token)."""
    if found.by_token:
        return
    if token is None:
        raise RefusalError(401, "401 Unauthorized")
    if token.kind == "trigger":
        raise RefusalError(401, "401 Unauthorized")
    if token.kind == "job" and not found.job_token:
        # Where GitLab does not look at a job token the request is a stranger's: a private project
        # does not exist for them, and whatever needs a user answers 401.
        hidden = found.method == "GET" and not re.search(
            r"/jobs|/bridges|/user|/self", _path(found)
        )
        raise RefusalError(
            *((404, "404 Project Not Found") if hidden else (401, "401 Unauthorized"))
        )
    if token.kind != "job":
        needed = ("read_api", "api") if found.method in ("GET", "HEAD") else ("api",)
        if not set(needed) & set(token.scopes):
            raise RefusalError(
                403,
                {
                    "error": "insufficient_scope",
                    "error_description": "The request requires higher privileges than provided by "
                    "the access token.",
                    "scope": " ".join(needed),
                },
            )
        if "/projects/" in _path(found) and token.access == 0:
            raise RefusalError(404, "404 Project Not Found")
        if token.access < found.access:
            raise RefusalError(403, "403 Forbidden")


def _path(found: Route) -> str:
    return found.pattern.pattern
