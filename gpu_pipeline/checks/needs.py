"""`needs`, after the rules have decided: GitLab refuses a pipeline that lacks a needed job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.outcomes import Mode, Outcome
from gpu_pipeline.record import Record

# GitLab: `ci_needs_size_limit`.
MAX_NEEDS = 50


class Need(Record):
    """One job that another needs."""

    name: str
    optional: bool
    place: Place


def check_needs(
    needs: Mapping[str, Sequence[Need]], outcomes: Sequence[Outcome]
) -> Iterator[Finding]:
    """Every finding about `needs`, by job, in all kinds of parent pipeline."""
    for wanted in needs.values():
        if len(wanted) > MAX_NEEDS:
            yield finding(
                "NED104", wanted[0].place,
                f"needs {len(wanted)} jobs; GitLab allows {MAX_NEEDS}",
                fix="put the jobs into an earlier stage and need none of them",
            )  # fmt: skip
        for need in wanted:
            if need.name not in needs and not need.optional:
                yield finding(
                    "NED101", need.place,
                    f"needs {need.name}, which is no job{did_you_mean(need.name, needs)}",
                    fix="correct the name",
                )  # fmt: skip
    yield from _circles(needs)
    yield from check_decided_needs(needs, outcomes)


def check_decided_needs(
    needs: Mapping[str, Sequence[Need]], outcomes: Sequence[Outcome]
) -> Iterator[Finding]:
    """Only the findings about needs that depend on what the rules decide."""
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


def _circles(needs: Mapping[str, Sequence[Need]]) -> Iterator[Finding]:
    graph = {job: [need.name for need in wanted] for job, wanted in needs.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        job = next(name for name in circle if needs.get(name))
        yield finding(
            "NED103", needs[job][0].place, f"jobs need each other: {' → '.join(circle)}",
            fix="remove one of these needs",
        )  # fmt: skip
