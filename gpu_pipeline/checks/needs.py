"""`needs`, after the rules have decided: GitLab refuses a pipeline that lacks a needed job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.outcomes import Mode, Outcome
from gpu_pipeline.record import Record


class Need(Record):
    """One job that another needs."""

    name: str
    optional: bool
    place: Place


def check_needs(
    needs: Mapping[str, Sequence[Need]], outcomes: Sequence[Outcome]
) -> Iterator[Finding]:
    """Findings about needs in some kinds of parent pipeline; `needs` has all jobs, by name.

    Whether a need names a job, and how many there may be, the routing and the child's text tell.
    """
    for job, wanted in needs.items():
        for need in wanted:
            if need.name in needs:
                yield from _in_contexts(job, need, outcomes)


def _in_contexts(job: str, need: Need, outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    excluded, waiting = [], []
    for outcome in outcomes:
        mine, theirs = outcome.modes[job], outcome.modes[need.name]
        if mine is not Mode.ABSENT and theirs is Mode.ABSENT and not need.optional:
            excluded.append(outcome.context.name)
        if mine is Mode.AUTOMATIC and theirs in (Mode.MANUAL, Mode.BLOCKING):
            waiting.append(outcome.context.name)
    if excluded:
        yield finding(
            "NED102", need.place,
            f"needs {need.name}, which its rules leave out ({', '.join(excluded)}): GitLab refuses "
            "the whole pipeline",
            fix="write optional: true with the need, or give both jobs the same rules",
        )  # fmt: skip
    if waiting:
        yield finding(
            "RUL109", need.place,
            f"runs by itself but needs {need.name}, which waits for a click "
            f"({', '.join(waiting)})",
            fix="make both manual or both automatic",
        )  # fmt: skip
