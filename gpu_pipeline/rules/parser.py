"""Tokens to a tree, by the shunting-yard algorithm.

Like GitLab's, this parser counts operands but does not look where they stand, so `$A "x" ==` is
accepted and means `$A == "x"`.

GitLab: lib/gitlab/ci/pipeline/expression/parser.rb
"""

from __future__ import annotations

from collections.abc import Sequence

from gpu_pipeline.record import Record
from gpu_pipeline.rules.errors import RuleSyntaxError
from gpu_pipeline.rules.hints import hint_for_regex
from gpu_pipeline.rules.lexer import Kind, Token
from gpu_pipeline.rules.regex import InvalidRegexError, Regex
from gpu_pipeline.rules.values import Value

# A smaller number binds tighter.
_PRECEDENCE = {
    Kind.NOT: 1,
    Kind.EQUAL: 10,
    Kind.MATCH: 10,
    Kind.NOT_EQUAL: 10,
    Kind.NOT_MATCH: 10,
    Kind.AND: 11,
    Kind.OR: 12,
    Kind.CLOSE: 900,
    Kind.OPEN: 901,
}


class Constant(Record):
    """A value that is written in the expression."""

    value: Value
    start: int


class Variable(Record):
    """The value of a variable."""

    name: str
    start: int


class Not(Record):
    """`!operand`"""

    operand: Node
    start: int


class Binary(Record):
    """`left operator right`; `position` is the operator's, `start` the leftmost of all three."""

    operator: Kind
    left: Node
    right: Node
    position: int
    start: int


Node = Constant | Variable | Not | Binary


def parse(expression: str, tokens: Sequence[Token]) -> Node:
    """The tree for `tokens`, which are those of `expression`. Raises RuleSyntaxError."""
    yard = _Yard(expression)
    for token in tokens:
        yard.take(token)
    return yard.finish()


class _Yard:
    """The two stacks. An operator is applied as it leaves its stack, so no RPN is written down."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._operators: list[Token] = []
        self._nodes: list[Node] = []

    def take(self, token: Token) -> None:
        match token.kind:
            case Kind.OPEN | Kind.NOT:
                self._operators.append(token)
            case Kind.CLOSE:
                self._apply_up_to(token)
                if not self._operators:
                    raise self._error("this parenthesis was never opened", token.position)
                self._operators.pop()
            case kind if kind in _PRECEDENCE:
                self._apply_up_to(token)
                self._operators.append(token)
            case _:
                self._nodes.append(self._leaf(token))

    def finish(self) -> Node:
        while self._operators:
            self._apply(self._operators.pop())
        if not self._nodes:
            raise self._error("there is nothing to evaluate", 0)
        if len(self._nodes) > 1:
            raise self._error("two values without an operator between them", self._nodes[1].start)
        return self._nodes[0]

    def _apply_up_to(self, token: Token) -> None:
        limit = _PRECEDENCE[token.kind]
        while self._operators and _PRECEDENCE[self._operators[-1].kind] <= limit:
            self._apply(self._operators.pop())

    def _apply(self, token: Token) -> None:
        if token.kind is Kind.OPEN:
            raise self._error("this parenthesis is never closed", token.position)
        needed = 1 if token.kind is Kind.NOT else 2
        operands = self._nodes[-needed:]
        if len(operands) < needed:
            raise self._error(self._what_is_missing(token, operands), token.position)
        del self._nodes[-needed:]
        start = min(token.position, operands[0].start, operands[-1].start)
        if token.kind is Kind.NOT:
            self._nodes.append(Not(operand=operands[0], start=start))
            return
        left, right = operands
        self._nodes.append(
            Binary(
                operator=token.kind, left=left, right=right, position=token.position, start=start
            )
        )

    def _what_is_missing(self, token: Token, operands: Sequence[Node]) -> str:
        if token.kind is Kind.NOT or (operands and operands[0].start < token.position):
            return f"there is no value on the right of {token.text}"
        return f"there is no value on the left of {token.text}"

    def _leaf(self, token: Token) -> Node:
        if token.kind is Kind.VARIABLE:
            return Variable(name=token.text[1:], start=token.position)
        return Constant(value=self._constant(token), start=token.position)

    def _constant(self, token: Token) -> Value:
        match token.kind:
            case Kind.STRING:
                return token.text[1:-1]
            case Kind.REGEX:
                return self._regex(token)
            case Kind.BOOLEAN:
                return token.text == "true"
            case _:
                # null, and an input: outside of a file with `spec:inputs` every input is nil.
                return None

    def _regex(self, token: Token) -> Regex:
        try:
            return Regex.from_slashed(token.text)
        except InvalidRegexError as error:
            offset, hint = hint_for_regex(token.text)
            raise RuleSyntaxError(
                f"invalid regular expression: {error}",
                expression=self._expression,
                position=token.position + offset,
                hint=hint,
            ) from None

    def _error(self, reason: str, position: int) -> RuleSyntaxError:
        return RuleSyntaxError(reason, expression=self._expression, position=position)
