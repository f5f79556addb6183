"""PASS, FAIL or UNPROVEN: the three answers to whether something was as planned."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from gpu_pipeline.record import Record


class Verdict(enum.StrEnum):
    """How one aspect came out. UNPROVEN: nothing was seen that decides it."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"
    UNPROVEN = "UNPROVEN"


class Aspect(Record):
    """One thing that a job must prove; `detail` says what was seen."""

    name: str
    verdict: Verdict
    detail: str


def passed(name: str, detail: str) -> Aspect:
    """An aspect that was seen to be as planned."""
    return Aspect(name=name, verdict=Verdict.PASS, detail=detail)


def failed(name: str, detail: str) -> Aspect:
    """An aspect that was seen to be otherwise."""
    return Aspect(name=name, verdict=Verdict.FAIL, detail=detail)


def unproven(name: str, detail: str) -> Aspect:
    """An aspect of which too little was seen."""
    return Aspect(name=name, verdict=Verdict.UNPROVEN, detail=detail)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """FAIL before UNPROVEN before PASS; nothing at all is UNPROVEN."""
    found = set(verdicts)
    order = (Verdict.FAIL, Verdict.UNPROVEN, Verdict.PASS)
    return next((each for each in order if each in found), Verdict.UNPROVEN)
