"""The value of a `rules:if` expression for given variables.

GitLab: lib/gitlab/ci/pipeline/expression/statement.rb
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from gpu_pipeline.record import Record
from gpu_pipeline.rules import values
from gpu_pipeline.rules.errors import RuleSyntaxError
from gpu_pipeline.rules.lexer import Kind, tokenize
from gpu_pipeline.rules.parser import Binary, Constant, Node, Not, Variable, parse
from gpu_pipeline.rules.values import UnsupportedValueError, Value


class Read(Record):
    """A variable that an expression mentions, and its value: None when it is undefined."""

    name: str
    value: str | None


class Evaluation(Record):
    """The result of an expression, and what it depends on.

    `reads` has every variable of the expression once, in order of appearance, also those in a part
    that `&&` or `||` skipped.
    """

    value: bool
    reads: tuple[Read, ...]


def evaluate(expression: str, variables: Mapping[str, str]) -> bool:
    """Whether GitLab takes `expression` for true. A name that `variables` lacks is undefined.

    Values are used as they stand: `$OTHER` in a value is that text, as it is in GitLab.
    Raises RuleSyntaxError for what GitLab refuses.
    """
    return _compile(expression).is_true(variables)


def explain_if(expression: str, variables: Mapping[str, str]) -> Evaluation:
    """As `evaluate`, with the variables that were read. Raises RuleSyntaxError."""
    statement = _compile(expression)
    return Evaluation(
        value=statement.is_true(variables),
        reads=tuple(Read(name=name, value=variables.get(name)) for name in statement.names),
    )


def names_in(expression: str) -> tuple[str, ...]:
    """The variables that `expression` mentions, once each. Raises RuleSyntaxError."""
    return _compile(expression).names


def parse_expression(expression: str) -> Node:
    """The tree of `expression`, for those who look at its shape. Raises RuleSyntaxError."""
    return _compile(expression).root


def holds(node: Node, variables: Mapping[str, str]) -> bool:
    """Whether a part of an expression is true by itself. Raises RuleSyntaxError."""
    return _Statement(expression="", root=node, names=()).is_true(variables)


@functools.lru_cache(maxsize=4096)
def _compile(expression: str) -> _Statement:
    tokens = tokenize(expression)
    statement = _Statement(
        expression=expression,
        root=parse(expression, tokens),
        names=tuple(dict.fromkeys(t.text[1:] for t in tokens if t.kind is Kind.VARIABLE)),
    )
    # GitLab's check of a configuration also evaluates, with no variable defined.
    statement.is_true({})
    return statement


class _Statement(Record):
    """An expression, parsed."""

    expression: str
    root: Node
    names: tuple[str, ...]

    def is_true(self, variables: Mapping[str, str]) -> bool:
        return values.is_present(self._value(self.root, variables))

    def _value(self, node: Node, variables: Mapping[str, str]) -> Value:
        match node:
            case Constant():
                return node.value
            case Variable():
                return variables.get(node.name)
            case Not():
                return not values.is_present(self._value(node.operand, variables))
            case Binary():
                return self._binary(node, variables)

    def _binary(self, node: Binary, variables: Mapping[str, str]) -> Value:
        left = self._value(node.left, variables)
        if node.operator is Kind.AND and not values.is_true(left):
            return left
        if node.operator is Kind.OR and values.is_true(left):
            return left
        right = self._value(node.right, variables)
        if node.operator in (Kind.AND, Kind.OR):
            return right
        try:
            return _compare(node.operator, left, right)
        except UnsupportedValueError as error:
            raise RuleSyntaxError(
                f"GitLab cannot evaluate this: {error}",
                expression=self.expression,
                position=node.position,
            ) from None


def _compare(operator: Kind, left: Value, right: Value) -> bool:
    match operator:
        case Kind.EQUAL:
            return values.are_equal(left, right)
        case Kind.NOT_EQUAL:
            return not values.are_equal(left, right)
        case Kind.MATCH:
            return values.matches(left, right)
        case _:
            return not values.matches(left, right)
