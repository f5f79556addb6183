"""Which variables a shell script uses, and which it sets itself.

A rough reading, meant to miss rather than to invent: what stands in single quotes, has a default
(`${X:-…}`) or belongs to a sourced file is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"\\.|\$\$|(?P<open>\$\()|(?P<close>\))|(?P<single>')|(?P<double>\")"
    r"|\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<hash>[#!]?)(?P<braced>[A-Za-z_]\w*)(?P<next>.?))",
    re.ASCII | re.DOTALL,
)
_SETS = re.compile(
    r"(?:^|[\s;&|({`\"'])(?:(?P<name>[A-Za-z_]\w*)(?:\[[^\]]*\])?\+?="
    r"|(?:export|declare|local|readonly|typeset|unset|read|mapfile|readarray|getopts|for|select)"
    r"(?P<names>(?:[ \t]+[^\s;&|=<>]+)+)"
    r"|printf[ \t]+-v[ \t]+(?P<printed>[A-Za-z_]\w*))",
    re.ASCII,
)
_SOURCES = re.compile(r"(?:^|[\s;&|(])(?:source|eval|\.)[ \t]+\S|\benvsubst\b", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_QUOTED_HEREDOC = re.compile(r"<<-?\s*(['\"])(\w+)\1.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)


def used_in(script: str) -> Iterator[str]:
    """The variables that the script needs to find defined, each as often as it is used."""
    script = _QUOTED_HEREDOC.sub("", script)
    quotes: list[str] = [""]  # the innermost is last: "" outside, '"' inside double quotes
    position = 0
    while match := _TOKEN.search(script, position):
        position = match.end()
        if match["single"] and quotes[-1] == "":
            position = _after_quote(script, position)
        elif match["double"]:
            quotes[-1] = "" if quotes[-1] else '"'
        elif match["open"]:
            quotes.append("")
        elif match["close"] and len(quotes) > 1 and quotes[-1] == "":
            quotes.pop()
        elif match["plain"]:
            yield match["plain"]
        elif match["braced"] and match["next"] not in ("-", "=", "+", "?"):
            if not script.startswith((":-", ":=", ":+", ":?"), match.start("next")):
                yield match["braced"]
            position = match.start("next")


def _after_quote(script: str, position: int) -> int:
    end = script.find("'", position)
    return len(script) if end < 0 else end + 1


def set_in(script: str) -> set[str]:
    """The variables that the script sets itself."""
    names: set[str] = set()
    for match in _SETS.finditer(script):
        if match["names"]:
            names.update(_NAME.findall(match["names"]))
        else:
            names.add(match["name"] or match["printed"])
    return names


def is_open_ended(script: str) -> bool:
    """Whether the script reads definitions from elsewhere."""
    return bool(_SOURCES.search(script))


def names_in(text: str) -> set[str]:
    """The variables that GitLab expands in a text, such as an image's name."""
    return {match[1] or match[2] for match in _EXPANDED.finditer(text)}


_EXPANDED = re.compile(r"(?<!\$)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
