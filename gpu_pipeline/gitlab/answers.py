"""What an answer must hold before anything reads it, by the path that was asked (doc/api).

Only what the commands rely on is looked at; whatever else an answer holds is GitLab's business.
"""

from __future__ import annotations

import base64
import re
from typing import Annotated, Any, Self
from urllib.parse import parse_qs, urlsplit

import msgspec
import requests
from msgspec import Meta

from gpu_pipeline.validation import faults

_MOST_PAGES = 1_000  # of a hundred items each; no list that is read here comes near
_Id = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Shape(msgspec.Struct, kw_only=True):
    """What of an object is relied on."""


class _Base64(str):
    __slots__ = ()

    @classmethod
    def read(cls, value: object) -> Self:
        if not isinstance(value, str):
            raise TypeError("Expected base64")
        base64.b64decode(value)
        return cls(value)


class _Item(_Shape, kw_only=True):
    id: _Id


class _Variable(_Shape, kw_only=True):
    key: str
    value: str | None
    environment_scope: str = "*"


class _Owner(_Item, kw_only=True):
    username: str
    state: str = "active"


class _Pipeline(_Item, kw_only=True):
    project_id: _Id
    status: str
    ref: str
    web_url: str
    source: str | None = None
    created_at: str | None = None
    updated_at: str | None = None


class _Downstream(_Item, kw_only=True):
    project_id: _Id
    status: str


class _Job(_Item, kw_only=True):
    name: str
    status: str
    runner: dict[str, Any] | None = None
    downstream_pipeline: _Downstream | None = None


class _Namespace(_Item, kw_only=True):
    kind: str


class _Project(_Item, kw_only=True):
    path_with_namespace: str
    default_branch: str | None = None
    build_timeout: int | None = None
    ci_config_path: str | None = None
    ci_pipeline_variables_minimum_override_role: str | None = None
    namespace: _Namespace | None = None


class _Schedule(_Item, kw_only=True):
    description: str
    ref: str
    cron: str
    cron_timezone: str
    active: bool
    owner: _Owner | None = None
    variables: list[_Variable] | None = None
    last_pipeline: _Item | None = None


class _Note(_Item, kw_only=True):
    body: str
    author: dict[str, Any] | None = None


class _Lint(_Shape, kw_only=True):
    valid: bool
    errors: list[str]
    warnings: list[str] = []


class _Runner(_Item, kw_only=True):
    online: bool | None
    description: str | None = None


class _RunnerDetails(_Item, kw_only=True):
    maximum_timeout: int | None = None


class _Token(_Shape, kw_only=True):
    scopes: list[str] = []
    expires_at: str | None = None


class _Branch(_Shape, kw_only=True):
    protected: bool


class _Member(_Shape, kw_only=True):
    access_level: int


class _File(_Shape, kw_only=True):
    content: _Base64
    encoding: str


class _Entry(_Shape, kw_only=True):
    id: str
    path: str
    type: str


class _Version(_Shape, kw_only=True):
    version: str


class _User(_Shape, kw_only=True):
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
    kind = _kind(method, urlsplit(url).path.rpartition("/api/v4/")[2])
    if kind is not None and (found := faults(answer, kind)):
        place = ".".join(map(str, found[0].path))
        return f"is not what GitLab's API gives: {place and place + ': '}{found[0].message}"
    return _flaw_in_pages(response)


def _kind(method: str, path: str) -> Any:
    """What the answer to a request must be; None where nothing is known of it."""
    for only, pattern, kind in _SHAPES:
        if only in ("", method) and re.fullmatch(pattern, path):
            return kind
    return None


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
