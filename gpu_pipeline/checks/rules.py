"""What is suspicious about the rules of a child pipeline: things that cost a night."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.names import CHILD_SOURCE, did_you_mean
from gpu_pipeline.record import Record
from gpu_pipeline.rules import RuleSyntaxError, evaluate, explain_if, parse_expression
from gpu_pipeline.rules.lexer import Kind
from gpu_pipeline.rules.parser import Binary, Constant, Node, Not, Variable
from gpu_pipeline.rules.regex import InvalidRegexError, Regex

_SOURCE = "CI_PIPELINE_SOURCE"
_IN_CHILD = {_SOURCE: CHILD_SOURCE}
_COMPARISONS = (Kind.EQUAL, Kind.NOT_EQUAL, Kind.MATCH, Kind.NOT_MATCH)
_WITHOUT_CONDITION = set(
    "when start_in allow_failure variables needs interruptible auto_cancel".split()
)
# Predefined, but not yet when rules are evaluated (doc/ci/variables: job-only variables).
_TOO_LATE = set(
    """
    CI_PIPELINE_ID CI_PIPELINE_URL CI_JOB_ID CI_JOB_URL CI_JOB_TOKEN CI_JOB_STARTED_AT CI_JOB_IMAGE
    CI_JOB_TIMEOUT CI_JOB_STATUS CI_BUILDS_DIR CI_CONCURRENT_ID CI_CONCURRENT_PROJECT_ID
    """.split()
)


class RulesToCheck(Record):
    """The rules of one job, where each stands, and the names its variables have.

    `defined` maps the variables of the child and the job that are known to their values; a value
    of None means that it is set, to something not known here. `says_allow_failure` is whether the
    job itself settles what its manual rules leave open.
    """

    job: str
    rules: tuple[Mapping[str, object], ...]
    places: tuple[Place, ...]
    defined: Mapping[str, str | None]
    says_allow_failure: bool = False


def check_rules(subject: RulesToCheck) -> Iterator[Finding]:
    """Every finding about the rules of one job."""
    always_at: int | None = None
    for index, (rule, place) in enumerate(zip(subject.rules, subject.places, strict=True)):
        if always_at is not None:
            yield finding(
                "RUL107",
                place,
                f"is never looked at: rule {always_at + 1} always matches",
                fix=f"move it before rule {always_at + 1}, or remove it",
            )
        elif rule.keys() <= _WITHOUT_CONDITION or _always_holds(rule):
            always_at = index
        is_silent = "allow_failure" not in rule and not subject.says_allow_failure
        if rule.get("when") == "manual" and is_silent:
            yield finding(
                "RUL108",
                place,
                "a manual job added by a rule blocks the pipeline until someone clicks",
                fix="write allow_failure: true for an optional job, false if that is meant",
            )
        condition = rule.get("if")
        if isinstance(condition, str):
            yield from _check_condition(
                condition, place, subject.defined, leaves_out=rule.get("when") == "never"
            )


def _check_condition(
    condition: str,
    place: Place,
    defined: Mapping[str, str | None],
    *,
    leaves_out: bool,
) -> Iterator[Finding]:
    try:
        tree = parse_expression(condition)
    except RuleSyntaxError as error:
        yield finding(
            "RUL101", place, f"{error.reason}: {condition}",
            fix=error.hint or "`generate_pipeline.py eval` tries an expression",
        )  # fmt: skip
        return
    yield from _source_tests(tree, place, leaves_out=leaves_out)
    for node in _walk(tree):
        if isinstance(node, Binary) and node.operator in (Kind.AND, Kind.OR):
            for side in (node.left, node.right):
                if isinstance(side, Variable):
                    yield finding(
                        "RUL103",
                        place,
                        f"${side.name} alone inside && or || counts as true when it is empty, and "
                        "ends an || early",
                        fix=f'write ${side.name} == "true", or ${side.name} != null for "is set"',
                    )
        if isinstance(node, Binary) and node.operator in (Kind.MATCH, Kind.NOT_MATCH):
            yield from _pattern(node, place, defined)
    yield from _undefined(tree, place, defined)


def _always_holds(rule: Mapping[str, object]) -> bool:
    """Whether a rule matches in every child: it tests nothing else than what is known."""
    condition = rule.get("if")
    if not isinstance(condition, str) or rule.get("changes") or rule.get("exists"):
        return False
    try:
        evaluation = explain_if(condition, _IN_CHILD)
    except RuleSyntaxError:
        return False
    return evaluation.value and all(read.name == _SOURCE for read in evaluation.reads)


def _source_tests(tree: Node, place: Place, *, leaves_out: bool) -> Iterator[Finding]:
    """Comparisons of CI_PIPELINE_SOURCE, which is always parent_pipeline in a child.

    `leaves_out`: a rule that keeps a job out of all but child pipelines is meant never to match.
    """
    for node in _walk(tree):
        if not isinstance(node, Binary) or node.operator not in _COMPARISONS:
            continue
        names = [side.name for side in (node.left, node.right) if isinstance(side, Variable)]
        constants = [s for s in (node.left, node.right) if isinstance(s, Constant)]
        if names != [_SOURCE] or not constants:
            continue
        value = constants[0].value
        text = value.source if isinstance(value, Regex) else value
        operator = "=~" if node.operator in (Kind.MATCH, Kind.NOT_MATCH) else "=="
        shown = f"/{text}/" if isinstance(value, Regex) else f'"{text}"'
        positive = node.operator in (Kind.EQUAL, Kind.MATCH)
        holds = _holds(operator, shown) if isinstance(value, str | Regex) else None
        if holds is None or (holds and (positive or leaves_out)):
            continue
        always = holds == positive
        yield finding(
            "RUL102",
            place,
            f"tests ${_SOURCE} for {shown}, but in a child pipeline it is always "
            f'"{CHILD_SOURCE}": this is {"always" if always else "never"} true',
            fix="test $PARENT_PIPELINE_SOURCE, which holds what started the parent",
        )


def _holds(operator: str, shown: str) -> bool | None:
    """Whether the comparison is true in a child; None for one that cannot be written again."""
    try:
        return evaluate(f"${_SOURCE} {operator} {shown}", _IN_CHILD)
    except RuleSyntaxError:
        return None


def _pattern(node: Binary, place: Place, defined: Mapping[str, str | None]) -> Iterator[Finding]:
    right = node.right
    if isinstance(right, Variable):
        text = defined.get(right.name)
        shown = f"${right.name}, which is {text!r},"
    elif isinstance(right, Constant) and isinstance(right.value, str):
        text, shown = right.value, f'"{right.value}"'
    else:
        return
    if text is None:
        return
    try:
        Regex.from_slashed(text)
    except InvalidRegexError:
        yield finding(
            "RUL104",
            place,
            f"{shown} is not a /regex/: GitLab then tests whether the left text is part of the "
            "right one, and an empty left text always is",
            fix="write a regex between slashes, such as /^release-/",
        )


def _undefined(tree: Node, place: Place, defined: Mapping[str, str | None]) -> Iterator[Finding]:
    for name in dict.fromkeys(_tested_names(tree)):
        if name in _TOO_LATE:
            yield finding(
                "RUL105", place, f"${name} does not exist yet when rules are evaluated",
                fix="test another variable",
            )  # fmt: skip
        elif name not in defined and not name.startswith(("CI_", "GITLAB_")) and name != "CI":
            yield finding(
                "RUL105",
                place,
                f"${name} is defined neither in the child nor by GitLab"
                f"{did_you_mean(name, _close(name, defined))}",
                fix="capture it in routing.toml, or define it as a project variable and say so "
                "with `!= null`",
            )


def _close(name: str, defined: Collection[str]) -> list[str]:
    """Only names that look alike are worth a suggestion."""
    return [known for known in defined if did_you_mean(name, [known]).startswith("; did")]


def _tested_names(tree: Node) -> Iterator[str]:
    """Variables whose value matters; a comparison with null asks just whether there is one."""
    if isinstance(tree, Binary) and tree.operator in (Kind.EQUAL, Kind.NOT_EQUAL):
        sides = (tree.left, tree.right)
        if any(isinstance(side, Constant) and side.value is None for side in sides):
            return
    if isinstance(tree, Variable):
        yield tree.name
    for child in _children(tree):
        yield from _tested_names(child)


def check_values(
    conditions: Mapping[str, Place], variables: Mapping[str, str]
) -> Iterator[Finding]:
    """Variables whose value misses what some rule tests only by case or blanks.

    `conditions` are the expressions of all rules, each with a place where it stands; one that
    GitLab refuses is passed over.
    """
    for condition, place in conditions.items():
        for node in _nodes(condition):
            if not isinstance(node, Binary) or node.operator not in (Kind.EQUAL, Kind.NOT_EQUAL):
                continue
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if not isinstance(side, Variable) or not isinstance(other, Constant):
                    continue
                value, wanted = variables.get(side.name), other.value
                if not isinstance(wanted, str) or value is None or value == wanted:
                    continue
                if value.strip().lower() == wanted.strip().lower():
                    yield finding(
                        "RUL106",
                        place,
                        f'{side.name} is "{value}", but the rule tests for "{wanted}": case and '
                        "blanks count",
                        fix=f'set {side.name} to exactly "{wanted}", or let the rule test for '
                        f'"{value}"',
                    )


def _nodes(condition: str) -> Iterator[Node]:
    with contextlib.suppress(RuleSyntaxError):
        yield from _walk(parse_expression(condition))


def _walk(tree: Node) -> Iterator[Node]:
    yield tree
    for child in _children(tree):
        yield from _walk(child)


def _children(tree: Node) -> tuple[Node, ...]:
    if isinstance(tree, Binary):
        return tree.left, tree.right
    return (tree.operand,) if isinstance(tree, Not) else ()
