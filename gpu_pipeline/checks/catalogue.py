"""Every finding there is. A code is stable: it keeps its meaning, and its page in docs/findings."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_pipeline.checks.finding import Finding, Place, Severity


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What all findings of one code have in common."""

    severity: Severity
    title: str


def _error(title: str) -> Entry:
    return Entry(severity=Severity.ERROR, title=title)


def _warning(title: str) -> Entry:
    return Entry(severity=Severity.WARNING, title=title)


CATALOGUE: dict[str, Entry] = {
    # RUL: the rules of a child pipeline
    "RUL101": _error("a rule cannot be read by GitLab"),
    "RUL102": _error("a rule tests CI_PIPELINE_SOURCE for what a child pipeline never has"),
    "RUL103": _warning("a bare variable stands inside && or ||"),
    "RUL104": _warning("the right side of =~ is not a /regex/"),
    "RUL105": _warning("a rule compares a variable that nobody defines"),
    "RUL106": _warning("a variable differs from what rules test only in case or blanks"),
    "RUL107": _warning("a rule stands behind one that always matches"),
    "RUL108": _warning("a manual rule does not say allow_failure"),
    "RUL109": _warning("a job that runs by itself needs a manual one"),
    # NED: needs, in each kind of parent pipeline
    "NED101": _error("a job needs one that does not exist"),
    "NED102": _error("a job needs one that its rules leave out"),
    "NED103": _error("jobs need each other in a circle"),
    "NED104": _error("a job needs more than 50 others"),
    # PAR: the parent pipeline
    "PAR101": _error("the parent pipeline cannot be read by GitLab"),
    "PAR102": _error("nothing in the parent triggers the child"),
    "PAR103": _error("a trigger job exists and the child would be empty"),
    "PAR104": _warning("jobs would run and nothing triggers them"),
    "PAR105": _error("a trigger job runs without the job that generates its child"),
    "PAR106": _error("a forwarded variable overrides what the child sets for the runner"),
    "PAR107": _warning("a forwarded variable overrides one that the child sets"),
    "PAR108": _error("the artifact or job that a trigger includes does not exist"),
    "PAR109": _warning("a trigger with strategy depend waits for manual jobs only"),
    "PAR110": _warning("a variable is defined as itself"),
    "PAR111": _warning("a trigger job does not say what it needs"),
    "PAR112": _warning("the generate job keeps more than the child"),
    "PAR113": _warning("the child expires in under a day"),
}


def finding(code: str, place: Place, message: str, *, fix: str) -> Finding:
    """A finding of the catalogue."""
    return Finding(
        code=code, severity=CATALOGUE[code].severity, place=place, message=message, fix=fix
    )
