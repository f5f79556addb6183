"""What is raised for a job, a rule or an expression that GitLab refuses."""

from __future__ import annotations

import unicodedata

_INDENT = "    "


class RuleError(ValueError):
    """A job or `workflow` whose rules GitLab refuses; the text begins as GitLab's own message."""


class RuleSyntaxError(RuleError):
    """A `rules:if` expression that GitLab refuses.

    `position` is the 0-based offset in `expression` of what is wrong, `reason` says what it is and
    `hint`, if there is one, what to write instead. `str()` shows all of it, with a caret beneath
    the place. `subject` opens that text, in GitLab's words.
    """

    def __init__(
        self,
        reason: str,
        *,
        expression: str,
        position: int,
        hint: str | None = None,
        subject: str = "invalid expression syntax",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.expression = expression
        self.position = position
        self.hint = hint
        self.subject = subject

    def about(self, subject: str) -> RuleSyntaxError:
        """The same error, introduced by `subject`."""
        return RuleSyntaxError(
            self.reason,
            expression=self.expression,
            position=self.position,
            hint=self.hint,
            subject=subject,
        )

    def __str__(self) -> str:
        lines = [f"{self.subject}: {self.reason}", *_marked(self.expression, self.position)]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def _marked(expression: str, position: int) -> list[str]:
    """The lines of `expression`, indented, with a caret line under the one at `position`."""
    before = expression[:position].split("\n")
    lines = [_INDENT + "".join(map(_visible, line)) for line in expression.split("\n")]
    lines.insert(len(before), _INDENT + "".join(map(_blank, before[-1])) + "^")
    return lines


def _visible(character: str) -> str:
    """`character`, or a blank for one that would move the cursor in a terminal."""
    return character if character == "\t" or character.isprintable() else " "


def _blank(character: str) -> str:
    """Blanks as wide as `character` is in a terminal."""
    if character == "\t":
        return "\t"
    if unicodedata.combining(character):
        return ""
    return "  " if unicodedata.east_asian_width(character) in "WF" else " "
