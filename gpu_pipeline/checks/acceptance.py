"""Findings that routing.toml accepts, each with a reason and a last day."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Sequence
from fnmatch import fnmatchcase

from gpu_pipeline.checks.catalogue import CATALOGUE, finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.problems import Origin
from gpu_pipeline.routing_model import Acceptance
from gpu_pipeline.toml_lines import Path


def apply_acceptances(
    found: Sequence[Finding],
    acceptances: Sequence[Acceptance],
    *,
    today: datetime.date,
    locate: Callable[[Path], Origin],
    looked_for: Collection[str],
) -> tuple[list[Finding], list[Finding]]:
    """The findings that are left, and those that are accepted.

    An acceptance that has expired accepts nothing and is an error; one that nothing needs any more
    is a note, provided that it was looked for: `looked_for` are the first letters of such codes.
    `today` is the day in question, `locate` says where a key of routing.toml stands.
    """
    left, accepted, about = list(found), [], []
    for i, acceptance in enumerate(acceptances):
        origin = locate(("accept", i))
        place = Place.at(origin)
        code, until = acceptance.code or "", acceptance.until or today
        if code not in CATALOGUE:
            about.append(
                finding(
                    "ACC102",
                    place,
                    f"there is no finding {code}{did_you_mean(code, CATALOGUE)}",
                    fix="correct the code",
                )
            )
            continue
        matching = [each for each in left if _is_meant(acceptance, each)]
        if until < today:
            about.append(
                finding(
                    "ACC101",
                    place,
                    f"{code} was accepted until {until} ({acceptance.reason})",
                    fix="mend what is behind it, or accept it again with a later day",
                )
            )
        elif matching:
            left = [each for each in left if not _is_meant(acceptance, each)]
            accepted += matching
        elif code[:3] in looked_for:
            about.append(
                finding("ACC103", place, f"there is no {code} to accept", fix="remove the entry")
            )
    return sorted([*left, *about], key=lambda each: each.sort_key), accepted


def is_accepted(found: Finding, acceptances: Sequence[Acceptance]) -> bool:
    """Whether an entry, expired or not, is about `found`.

    Rendering asks this: a night's training must not begin to fail by the calendar. `check` is what
    asks people to look again.
    """
    return any(_is_meant(acceptance, found) for acceptance in acceptances)


def _is_meant(acceptance: Acceptance, found: Finding) -> bool:
    job = acceptance.job
    return found.code == acceptance.code and (job is None or fnmatchcase(found.place.job, job))
