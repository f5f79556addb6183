"""What an answer must hold before anything reads it, by the path that was asked (doc/api).

Only what the commands rely on is looked at; whatever else an answer holds is GitLab's business.
"""

from __future__ import annotations

import base64
import functools
import re
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

import requests
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

_MOST_PAGES = 1_000  # of a hundred items each; no list that is read here comes near
_Id = Annotated[int, Field(ge=0, lt=2**63)]


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True)


class _Item(_Shape):
    id: _Id


class _Variable(_Shape):
    key: str
    value: str | None
    environment_scope: str = "*"


class _Owner(_Item):
    username: str
    state: str = "active"


class _Pipeline(_Item):
    project_id: _Id
    status: str
    ref: str
    web_url: str
    source: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class _Downstream(_Item):
    project_id: _Id
    status: str


class _Job(_Item):
    name: str
    status: str
    runner: dict[str, Any] | None = None
    downstream_pipeline: _Downstream | None = None


class _Namespace(_Item):
    kind: str


class _Project(_Item):
    path_with_namespace: str
    default_branch: str | None = None
    build_timeout: int | None = None
    ci_config_path: str | None = None
    ci_pipeline_variables_minimum_override_role: str | None = None
    namespace: _Namespace | None = None


class _Schedule(_Item):
    description: str
    ref: str
    cron: str
    cron_timezone: str
    active: bool
    owner: _Owner | None = None
    variables: list[_Variable] | None = None
    last_pipeline: _Item | None = None


class _Note(_Item):
    body: str
    author: dict[str, Any] | None = None


class _Lint(_Shape):
    valid: bool
    errors: list[str]
    warnings: list[str] = []


class _Runner(_Item):
    online: bool | None
    description: str | None = None


class _RunnerDetails(_Item):
    maximum_timeout: int | None = None


class _Token(_Shape):
    scopes: list[str] = []
    expires_at: str | None = None


class _Branch(_Shape):
    protected: bool


class _Member(_Shape):
    access_level: int


class _File(_Shape):
    content: Annotated[str, AfterValidator(base64.b64decode)]
    encoding: str


class _Entry(_Shape):
    id: str
    path: str
    type: str


class _Version(_Shape):
    version: str


class _User(_Shape):
    username: str


# The method is "" where it makes no difference.
_SHAPES: tuple[tuple[str, str, Any], ...] = (
    ("", r"user", _User),
    ("", r"version", _Version),
    ("", r"personal_access_tokens/self", _Token),
    ("", r"runners/\d+", _RunnerDetails),
    ("", r"groups/[^/]+/variables", list[_Variable]),
    ("", r"projects/[^/]+", _Project),
    ("", r"projects/[^/]+/pipelines", list[_Pipeline]),
    ("", r"projects/[^/]+/pipelines?(/\d+)?", _Pipeline),
    ("", r"projects/[^/]+/pipelines/\d+/variables", list[_Variable]),
    ("", r"projects/[^/]+/pipelines/\d+/(jobs|bridges)", list[_Job]),
    ("", r"projects/[^/]+/jobs/\d+", _Job),
    ("", r"projects/[^/]+/runners", list[_Runner]),
    ("", r"projects/[^/]+/variables", list[_Variable]),
    ("", r"projects/[^/]+/members/all/\d+", _Member),
    ("", r"projects/[^/]+/repository/branches/[^/]+", _Branch),
    ("", r"projects/[^/]+/repository/files/[^/]+", _File),
    ("", r"projects/[^/]+/repository/tree", list[_Entry]),
    ("", r"projects/[^/]+/ci/lint", _Lint),
    ("GET", r"projects/[^/]+/pipeline_schedules", list[_Schedule]),
    ("", r"projects/[^/]+/pipeline_schedules(/\d+)?", _Schedule),
    ("GET", r"projects/[^/]+/merge_requests/\d+/notes", list[_Note]),
    ("", r"projects/[^/]+/merge_requests/\d+/notes(/\d+)?", _Note),
)


def flaw_in(response: requests.Response, method: str, url: str) -> str | None:
    """What is wrong with an answer that says that all went well; None if nothing is."""
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        return "is not JSON"
    adapter = _adapter(method, urlsplit(url).path.rpartition("/api/v4/")[2])
    try:
        if adapter is not None:
            adapter.validate_python(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        return f"is not what GitLab's API gives: {f'{place}: ' if place else ''}{first['msg']}"
    return _flaw_in_pages(response)


def _adapter(method: str, path: str) -> TypeAdapter[Any] | None:
    for number, (only, pattern, _) in enumerate(_SHAPES):
        if only in ("", method) and re.fullmatch(pattern, path):
            return _built(number)
    return None


@functools.cache
def _built(number: int) -> TypeAdapter[Any]:
    return TypeAdapter(_SHAPES[number][2])


def _flaw_in_pages(response: requests.Response) -> str | None:
    """Whether the pages of a list lead on and on; python-gitlab would follow them for ever."""
    following = response.links.get("next", {}).get("url")
    if following is None:
        return None
    now, then = _page(response.url), _page(following)
    if not now < then <= _MOST_PAGES:
        return f"is a list without an end: page {now} leads to page {then}"
    return None


def _page(url: str) -> int:
    """The page that a URL names; without one it is the first."""
    text = parse_qs(urlsplit(url).query).get("page", [""])[-1]
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 1
