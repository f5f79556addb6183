"""The kinds of pipeline in which old and new are compared, and what their rules would still miss.

The usual kinds set none of the variables that a team's own rules ask for, and run on no branch of
theirs; so there are further ones, in which each such test holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from gpu_pipeline.adopt.notes import Notes
from gpu_pipeline.adopt.settings import Given
from gpu_pipeline.checks.finding import Place
from gpu_pipeline.checks.rules import RulesToCheck, check_rules
from gpu_pipeline.context import Context, make_context
from gpu_pipeline.names import OWN_VARIABLES
from gpu_pipeline.rules import RuleSyntaxError, parse_expression
from gpu_pipeline.rules.lexer import Kind
from gpu_pipeline.rules.parser import Binary, Constant, Node, Not, Variable

_SOURCES = ("push", "schedule", "web", "api")
_BRANCH = "CI_COMMIT_BRANCH"
_MOST = 6  # values of one variable, and branches


def further_contexts(givens: Sequence[Given], capture: Collection[str]) -> Iterator[Context]:
    """Pipelines that set captured variables as rules ask for, or run on a branch they name."""
    asked: dict[str, dict[str, None]] = {}
    for condition in dict.fromkeys(_conditions(givens)):
        for name, value in _tests(condition):
            asked.setdefault(name, {}).setdefault(value)
    branches = [name for name in asked.pop(_BRANCH, {}) if name not in ("", "main")][:_MOST]
    chosen = {name: list(values)[:_MOST] for name, values in asked.items() if name in capture}
    for branch, source in itertools.product(branches, _SOURCES):
        name = f"{source} on {branch}"
        yield make_context(name, source, branch=branch, variables={})
    for number in range(max(map(len, chosen.values()), default=0)):
        variables = {name: values[number % len(values)] for name, values in chosen.items()}
        shown = ", ".join(f"{name}={value}" for name, value in list(variables.items())[:3])
        for source in _SOURCES:
            name = f"{source} with {shown}"
            yield make_context(name, source, branch="main", variables=variables)


def _conditions(givens: Iterable[Given]) -> Iterator[str]:
    for given in givens:
        yield from (str(rule["if"]) for rule in given.rules if "if" in rule)


def _tests(condition: str) -> Iterator[tuple[str, str]]:
    """Each variable that a condition tests, with a text for which the test can hold."""
    try:
        pending: list[Node] = [parse_expression(condition)]
    except RuleSyntaxError:
        return
    while pending:
        node = pending.pop(0)
        if isinstance(node, Not):
            pending.append(node.operand)
        elif isinstance(node, Variable):
            yield node.name, "true"
        elif isinstance(node, Binary):
            sides = (node.left, node.right)
            texts = [s.value for s in sides if isinstance(s, Constant) and isinstance(s.value, str)]
            if node.operator is Kind.EQUAL and texts:
                yield from ((s.name, texts[0]) for s in sides if isinstance(s, Variable))
            else:
                pending += sides


def note_suspicions(
    givens: Iterable[Given], capture: Collection[str], source: str, notes: Notes
) -> None:
    """What `check` says of rules that a child decides otherwise than they were meant."""
    handed = dict.fromkeys([*capture, *OWN_VARIABLES])
    for given in givens:
        job, rules = given.place.worker.hand, given.values.get(("rules",))
        if not isinstance(rules, list):
            continue
        line, about = job.line_of("rules"), f"{job.name}:rules"
        subject = RulesToCheck(
            job=job.name,
            rules=tuple(rules),
            places=(Place(file=source, line=line),) * len(rules),
            defined={**handed, **dict.fromkeys(job.variables)},
        )
        for found in check_rules(subject):
            message = f"{found.message}; {found.fix}"
            if found.code == "RUL102":
                notes.lost(line, about, message)
            elif found.code == "RUL105":
                notes.assumed(line, about, message)
