"""What to write instead, for the mistakes people make in `rules:if`."""

from __future__ import annotations

import re

# The patterns are compiled when a mistake is made: importing this costs every command.
# (what stands where no token begins, what to do about it); the first that fits is used.
_FOR_TEXT = (
    (r"\$\{(\w+)\}?", r"a variable is written without braces: $\1"),
    (r"%(\w+)%", r"write $\1"),
    (r"\$", "a variable is $ and letters, digits or _"),
    (r"/(\w)/", r'a regex needs two characters: write /\1{1}/, or == "\1" for the whole text'),
    (r"/([^/\\])/", r"a regex needs two characters: write /\1{1}/"),
    (r"//", 'an empty regex is not possible: to test for an empty text write == ""'),
    (r"/", r"a regex ends with / and flags from i, s, m, U; a / inside it is written \/"),
    (r"""(["'])""", r"the closing \1 is missing; a text stays on one line"),
    (r"and\b", "write &&"),
    (r"or\b", "write ||"),
    (r"not\b", "write !"),
    (r"in\b", "there are no lists: write a regex, or comparisons joined by ||"),
    (r"(?i:(true|false))\b", r'write "\1" to compare with the text; the words are lower-case'),
    (r"(?i:nil|none|null)\b", "write null"),
    (r"(-?\d[\w.]*)", r'numbers are texts: write "\1"'),
    (r"=", "write == to compare"),
    (r"[<>]", "GitLab cannot compare by size: write == or a regex"),
    (r"&", "write &&"),
    (r"\|", "write ||"),
    (r"~", "write =~"),
    (r"\+", "texts cannot be joined"),
    (r"\[", "there are no lists: write a regex, or comparisons joined by ||"),
    (r"#", "there are no comments in an expression"),
    (r"\s", "only plain blanks are allowed between the parts of an expression"),
    (r"(\w+)", r'write "\1" for a text, $\1 for a variable'),
)

# (the text before, the text there, what to do about it), when nothing is between the two.
_FOR_JUNCTION = (
    (r"==\Z", r"=", "write == to compare"),
    (r"/[ismU]*\Z", r"[A-Za-z]", "the flags of a regex are i, s, m and U"),
    (r"""\\["']\Z""", r"", "a text has no escapes: put it into the other kind of quotes"),
    (r"\A\$env\Z", r":(\w+)", r"write $\1"),
    (r"\A\$\w+\Z", r"[^\s\x21-\x2c\x2f-\x7e]", "a name has only ASCII letters, digits and _"),
    (r"\Anull\Z", r"\w", "this word is no text unless it is quoted"),
)

# (what RE2 refuses, what to do about it); the offset of the first that is found is reported.
_FOR_REGEX = (
    (r"\(\?<?[=!]", "RE2 has no look-around: use two comparisons joined by &&, or !~"),
    (r"\\[1-9]", "RE2 has no back-references"),
    (r"\\Z", r"write \z for the end of the text"),
    (r"\(\?>|[*+?}]\+", "RE2 has no atomic groups and no possessive repetition"),
    (r"\n", r"a regex stays on one line: write \n for a line break"),
)


def hint_for_text(text: str, *, after: str) -> str | None:
    """Advice about `text`, which begins no token and directly follows the token `after`."""
    for before, there, advice in _FOR_JUNCTION:
        found = re.match(there, text)
        if found and re.search(before, after):
            return found.expand(advice)
    for pattern, advice in _FOR_TEXT:
        if found := re.match(pattern, text):
            return found.expand(advice)
    return None


def hint_for_regex(literal: str) -> tuple[int, str | None]:
    """Where in the refused `literal` the fault is (0 if unknown), and advice about it."""
    for pattern, advice in _FOR_REGEX:
        if found := re.search(pattern, literal):
            return found.start(), advice
    return 0, None
