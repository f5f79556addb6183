"""The verdicts of GitLab's own code (CE 18.11), from `tests/cases`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NotRequired, TypedDict

_FOLDER = Path(__file__).parents[1] / "cases"


class IfCase(TypedDict("_If", {"if": str})):
    """An expression, its variables, and what it is: true, false or "error"."""

    vars: dict[str, str]
    expect: bool | str
    why: str


class ListExpect(TypedDict):
    """What GitLab did with a job, or the errors it gave."""

    included: NotRequired[bool]
    when: NotRequired[str]
    allow_failure: NotRequired[bool]
    variables: NotRequired[dict[str, str]]
    start_in: NotRequired[str]
    error: NotRequired[list[str]]


class ListCase(TypedDict):
    """A job in a child pipeline whose global variables are `globals`."""

    globals: dict[str, str]
    job: dict[str, object]
    expect: ListExpect


def if_cases() -> list[IfCase]:
    cases: list[IfCase] = json.loads((_FOLDER / "rules_if.json").read_text(encoding="utf-8"))
    return cases


def list_cases() -> list[ListCase]:
    cases: list[ListCase] = json.loads((_FOLDER / "rules_lists.json").read_text(encoding="utf-8"))
    return cases
