"""Text to tokens, as GitLab's lexer reads a `rules:if` expression.

GitLab: lib/gitlab/ci/pipeline/expression/lexer.rb and lexeme/*.rb
"""

from __future__ import annotations

import enum
import re

from gpu_pipeline.record import Record
from gpu_pipeline.rules.errors import RuleSyntaxError
from gpu_pipeline.rules.hints import hint_for_text

# GitLab goes round its loop 100 times and needs the last round to see the end of the text.
MAX_TOKENS = 99


class Kind(enum.Enum):
    """The kinds of token, in the order in which GitLab tries them; the value is a pattern."""

    OPEN = r"\("
    CLOSE = r"\)"
    INPUT = r"\$\[\[\s*inputs\.\w+\s*\]\]"
    VARIABLE = r"\$\w+"
    STRING = r"""(?:"[^"\n]*"|'[^'\n]*')"""
    REGEX = r"/(?:[^/]|\\/)+[^\\]/[ismU]*"
    NULL = r"null"
    BOOLEAN = r"(?:true|false)\b"
    EQUAL = r"=="
    MATCH = r"=~"
    NOT_EQUAL = r"!="
    NOT_MATCH = r"!~"
    AND = r"&&"
    OR = r"\|\|"
    NOT = r"!"


class Token(Record):
    """A piece of an expression and its 0-based offset there."""

    kind: Kind
    text: str
    position: int

    @property
    def end(self) -> int:
        return self.position + len(self.text)


# Ruby's \s and \w know ASCII only, hence the flag.
_TOKEN = re.compile("|".join(f"(?P<{k.name}>{k.value})" for k in Kind), re.ASCII)
_BLANKS = " \t\r\n\f\v"


def tokenize(expression: str) -> tuple[Token, ...]:
    """The tokens of `expression`; none if it is blank.

    Raises RuleSyntaxError at the first character that begins no token, and at the 100th token.
    """
    tokens: list[Token] = []
    position = _skip_blanks(expression, 0)
    while position < len(expression):
        if len(tokens) == MAX_TOKENS:
            raise RuleSyntaxError(
                f"more than {MAX_TOKENS} tokens", expression=expression, position=position
            )
        token = _token_at(expression, position, tokens[-1] if tokens else None)
        tokens.append(token)
        position = _skip_blanks(expression, token.end)
    return tuple(tokens)


def _skip_blanks(expression: str, position: int) -> int:
    return len(expression) - len(expression[position:].lstrip(_BLANKS))


def _token_at(expression: str, position: int, previous: Token | None) -> Token:
    found = _TOKEN.match(expression, position)
    if found is None or found.lastgroup is None:
        touching = previous is not None and previous.end == position
        raise RuleSyntaxError(
            f"{expression[position]!r} begins nothing that GitLab knows",
            expression=expression,
            position=position,
            hint=hint_for_text(
                expression[position:], after=previous.text if previous and touching else ""
            ),
        )
    return Token(kind=Kind[found.lastgroup], text=found.group(), position=position)
