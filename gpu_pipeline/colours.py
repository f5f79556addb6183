"""Colours for what a person must not overlook: severities, verdicts, levels.

They are put on the finished text, so that no report knows of them, and only on words at places
where a report puts them; a colour in the wrong place would mislead nobody's script.
"""

from __future__ import annotations

import re

_STYLES = {  # SGR numbers of ECMA-48
    "error": "1;31",
    "FAIL": "1;31",
    "BLOCKS": "1;31",
    "warning": "33",
    "UNPROVEN": "33",
    "note": "36",
    "ok": "32",
    "PASS": "32",
    "ready": "32",
    "Look at these first:": "1;31",
}
_PLACES = re.compile(
    r"""
    ^(?:error|warning|note|ok)(?=:|\ {2,})      # messages; the lines of `gitlab doctor`
    | (?<=:\ )(?:error|warning|note)(?=\ [A-Z]{3}\d+|:\ )  # findings; what `gitlab lint` says
    | (?:(?<=^)|(?<=\ \ ))(?:FAIL|UNPROVEN|PASS|BLOCKS)(?=\ \ |\ |$)  # verdicts in tables and lists
    | ^ready$ | ^Look\ at\ these\ first:$         # `gitlab doctor`; a plan that goes wrong
    """,
    re.MULTILINE | re.VERBOSE,
)


def painted(text: str) -> str:
    """The text with colours."""
    return _PLACES.sub(lambda match: f"\x1b[{_STYLES[match[0]]}m{match[0]}\x1b[0m", text)
