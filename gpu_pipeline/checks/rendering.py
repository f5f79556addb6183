"""What is checked about the child before it is written: the cheap part, on every render."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpu_pipeline.checks.acceptance import is_accepted
from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.child import check_child
from gpu_pipeline.checks.finding import Finding, Place, Severity
from gpu_pipeline.checks.fit import check_fit
from gpu_pipeline.checks.needs import Need, check_needs
from gpu_pipeline.checks.rules import RulesToCheck, check_rules, check_values
from gpu_pipeline.child import Child
from gpu_pipeline.cluster.emitted import Locate
from gpu_pipeline.errors import FindingsError
from gpu_pipeline.jobs import Job
from gpu_pipeline.names import EPOCHS
from gpu_pipeline.outcomes import Mode, Outcome
from gpu_pipeline.problems import Origin
from gpu_pipeline.routing_model import Acceptance

_NO = Mode.ABSENT


def check_before_writing(
    jobs: Sequence[Job],
    child: Child,
    outcome: Outcome,
    *,
    text: str,
    name: str,
    acceptances: Sequence[Acceptance],
    locate: Locate,
) -> list[Finding]:
    """Warnings about the child under the parent at hand. Raises FindingsError for an error.

    `text` is what was rendered from `child`, `name` what to call it; `locate` says where a key of
    routing.toml stands.
    """
    found = planned_findings(jobs, child, [outcome]) if child.jobs else []
    found += check_fit(jobs, locate=locate) if child.jobs else []
    found += check_child(text, name, given=child.capture)
    found = [each for each in found if not is_accepted(each, acceptances)]
    if any(each.severity is Severity.ERROR for each in found):
        raise FindingsError([each for each in found if each.severity is Severity.ERROR])
    return [each for each in found if each.severity is Severity.WARNING]


def planned_findings(
    jobs: Sequence[Job], child: Child, outcomes: Sequence[Outcome]
) -> list[Finding]:
    """Findings about the rules and needs of a planned child, placed in routing.toml."""
    defined: dict[str, str | None] = dict.fromkeys(child.capture)
    defined |= dict.fromkeys(child.variables)
    found = set(_rules(jobs, defined))
    found |= set(check_needs(_needs(jobs), outcomes))
    for outcome in outcomes:
        found |= set(check_captured(jobs, outcome))
    return sorted(found, key=lambda each: each.sort_key)


def check_captured(jobs: Sequence[Job], outcome: Outcome) -> list[Finding]:
    """Captured values that miss what a rule tests by case or blanks only."""
    return list(check_values(_conditions(jobs), outcome.context.variables))


def never_added(jobs: Sequence[Job], outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """Jobs that none of the given kinds of parent pipeline has, one finding for each rules list."""
    added = {name for outcome in outcomes for name, mode in outcome.modes.items() if mode != _NO}
    lists: dict[Origin, list[str]] = {}
    for job in jobs:
        if job.name not in added and job.values.rules:
            lists.setdefault(job.values.rules.origin, []).append(job.name)
    for origin, names in lists.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield finding(
            "RUL110",
            Place.at(origin),
            f"no kind of parent pipeline adds {', '.join(names[:3])}{more}",
            fix="add a rule, disable the job, or describe such a parent with [[contexts]]; "
            "`preview --why` shows why",
        )


def _rules(jobs: Iterable[Job], defined: Mapping[str, str | None]) -> Iterator[Finding]:
    seen: set[object] = set()
    for job in jobs:
        rules = job.values.rules
        own = {name: variable.value for name, variable in job.values.variables.items()}
        if rules is None or (key := (rules.origin, *sorted(own))) in seen:
            continue
        seen.add(key)
        yield from check_rules(
            RulesToCheck(
                job=job.name,
                rules=tuple(rule.as_yaml for rule in rules.value),
                places=tuple(Place.at(origin) for origin in rules.items),
                defined={**defined, **own, EPOCHS: None},
            )
        )


def _conditions(jobs: Iterable[Job]) -> dict[str, Place]:
    conditions: dict[str, Place] = {}
    lists = {job.values.rules.origin: job.values.rules for job in jobs if job.values.rules}
    for rules in lists.values():
        for rule, origin in zip(rules.value, rules.items, strict=True):
            if rule.if_ is not None:
                place = Place.at(origin)
                conditions.setdefault(rule.if_, place)
    return conditions


def _needs(jobs: Sequence[Job]) -> dict[str, list[Need]]:
    return {
        job.name: [
            Need(
                name=name,
                optional=False,
                place=Place(file=origin.file, line=origin.line, job=job.name, key="needs"),
            )
            for name in job.needs
            for origin in [job.needs_origin or job.pool.origin]
        ]
        for job in jobs
    }
