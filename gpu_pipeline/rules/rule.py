"""One entry of a `rules:` list, checked as GitLab checks it.

GitLab: lib/gitlab/ci/config/entry/rules/rule.rb, lib/gitlab/config/entry/validators.rb
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpu_pipeline.durations import seconds_in
from gpu_pipeline.record import Record
from gpu_pipeline.rules.clause import check_changes, check_exists
from gpu_pipeline.rules.errors import RuleError, RuleSyntaxError
from gpu_pipeline.rules.evaluator import evaluate
from gpu_pipeline.rules.variables import RULE_KEYS, read_variables

_MAX_LEVELS = 10
_WEEK = 7 * 24 * 3600


class Dialect(Record):
    """What differs between the rules of jobs and those of `workflow`."""

    where: str
    when: frozenset[str]
    keys: frozenset[str]


_SHARED_KEYS = frozenset(
    ("if", "changes", "exists", "when", "start_in", "allow_failure", "variables", "needs")
)
JOB_RULES = Dialect(
    where="rules",
    when=frozenset(("on_success", "on_failure", "always", "never", "manual", "delayed")),
    keys=_SHARED_KEYS | {"interruptible"},
)
WORKFLOW_RULES = Dialect(
    where="workflow:rules",
    when=frozenset(("always", "never")),
    keys=_SHARED_KEYS | {"auto_cancel"},
)


class Rule(Record):
    """A valid rule. None stands for a key that is absent (or null, which is the same)."""

    condition: str | None
    changes: bool
    exists: bool
    when: str | None
    start_in: str | None
    allow_failure: bool | None
    variables: Mapping[str, str]


def read_rules(rules: object, dialect: Dialect) -> tuple[Rule, ...]:
    """The rules of a list, nested lists flattened. Raises RuleError for what GitLab refuses."""
    if rules in ([], {}, ""):
        raise RuleError(f"{dialect.where} config can't be blank")
    entries = enumerate(_flat(rules, dialect.where, _MAX_LEVELS), start=1)
    return tuple(_read_rule(entry, number, dialect) for number, entry in entries)


def check_duration(value: object, subject: str) -> str:
    """`value`, if GitLab accepts it as the delay of `subject`. Raises RuleError."""
    seconds = seconds_in(value) if isinstance(value, str) else None
    if not isinstance(value, str) or seconds is None:
        raise RuleError(f"{subject} should be a duration")
    if seconds > _WEEK:
        raise RuleError(f"{subject} should not exceed the limit")
    return value


def _flat(rules: object, where: str, levels: int) -> Iterator[Mapping[str, object]]:
    if not isinstance(rules, list) or not levels:
        raise RuleError(f"{where} should be an array containing hashes and arrays of hashes")
    for rule in rules:
        if isinstance(rule, Mapping):
            yield rule
        else:
            yield from _flat(rule, where, levels - 1)


def _read_rule(entry: Mapping[str, object], number: int, dialect: Dialect) -> Rule:
    subject = f"{dialect.where}:rule"
    try:
        return _checked_rule(entry, subject, dialect)
    except RuleSyntaxError as error:
        raise error.about(f"{error.subject} (rule {number})") from None
    except RuleError as error:
        raise RuleError(f"{error} (rule {number})") from None


def _checked_rule(entry: Mapping[str, object], subject: str, dialect: Dialect) -> Rule:
    if not entry:
        raise RuleError(f"{subject} config can't be blank")
    if unknown := [str(key) for key in entry if key not in dialect.keys]:
        raise RuleError(f"{subject} config contains unknown keys: {', '.join(unknown)}")
    when = _when(entry.get("when"), subject, dialect)
    _optional_bool(entry, "interruptible", subject)
    check_changes(entry.get("changes"), f"{subject}:changes")
    check_exists(entry.get("exists"), f"{subject}:exists")
    return Rule(
        condition=_condition(entry.get("if"), subject),
        changes=entry.get("changes") is not None,
        exists=entry.get("exists") is not None,
        when=when,
        start_in=_start_in(entry, when, subject),
        allow_failure=_optional_bool(entry, "allow_failure", subject),
        variables=read_variables(
            entry.get("variables"), where=f"{subject}:variables", keys=RULE_KEYS
        ),
    )


def _when(value: object, subject: str, dialect: Dialect) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or value not in dialect.when:
        raise RuleError(f"{subject} when unknown value: {str(value).lower()}")
    return value


def _condition(value: object, subject: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise RuleError(f"{subject} if invalid expression syntax: {value!r} is not a text")
    try:
        evaluate(value, {})
    except RuleSyntaxError as error:
        raise error.about(f"{subject} if invalid expression syntax") from None
    return value


def _start_in(entry: Mapping[str, object], when: str | None, subject: str) -> str | None:
    if when != "delayed":
        if "start_in" in entry:
            raise RuleError(f"{subject} config contains disallowed keys: start_in")
        return None
    if entry.get("start_in") in (None, ""):
        raise RuleError(f"{subject} start in can't be blank")
    return check_duration(entry["start_in"], f"{subject} start in")


def _optional_bool(entry: Mapping[str, object], key: str, subject: str) -> bool | None:
    value = entry.get(key)
    if not isinstance(value, bool | None):
        raise RuleError(f"{subject} {key.replace('_', ' ')} should be a boolean value")
    return value
