"""Scripts: what GitLab takes for one, and what a shell makes of it.

GitLab: lib/gitlab/ci/config/entry/{commands,script}.rb
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import is_mapping, is_null, shown, text_in
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.record import Record

SCRIPT_KEYS = ("before_script", "script", "after_script")
_MAX_LEVELS = 10
_SETS_ERREXIT = re.compile(r"\bset\s+(?:-\w+\s+)*(?:-[a-df-zA-Z]*e|-o\s+errexit)")
_SETS_PIPEFAIL = re.compile(r"\bset\b[^\n;|&]*\bpipefail\b|PIPESTATUS")
_TEE = re.compile(r"(?<!\|)\|&?\s*(?:sudo\s+)?tee\b")
# A comment, an escaped character, or a quoted text; those that a shell runs are not left out.
_NO_CODE = re.compile(
    r"(?:^|(?<=\s))#[^\n]*|\\.|(?<!-c )(?:'[^']*'|\"(?:\\.|[^\"\\$`]|\$(?!\())*\")",
    re.DOTALL | re.MULTILINE,
)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_COMMENT_WORD = re.compile(r" #\w")
_CONTINUES = re.compile(r"(?:\\|&&|\|\|?|\bthen|\bdo|\belse|[{(])\s*$")
# Words that begin no command of their own, and commands that do not fail in practice.
_HARMLESS = re.compile(
    r"(?:#|(?:then|else|fi|do|done|esac|in|;;|[})]|echo|printf|export|local|readonly|set|unset|exit"
    r"|return|trap|true|:|if|elif|while|until|for|case|function)(?:\b|\s|$|;)"
    r"|[A-Za-z_]\w*\+?=(?!\S*(?:\$\(|`))\S*\s*$)"
)


class Command(Record):
    """One item of a script that is a text; `key` is such as `script[2]`."""

    text: str
    tree: Tree
    key: str


def commands_in(tree: Tree | None, key: str) -> list[Command]:
    """The items of a script that are texts, nested lists flattened."""
    if tree is None:
        return []
    text = text_in(tree)
    if text is not None:
        return [Command(text=text, tree=tree, key=key)]
    if not isinstance(tree.value, list):
        return []
    return [
        command
        for index, item in enumerate(tree.value)
        for command in commands_in(item, f"{key}[{index}]")
    ]


def check_script(tree: Tree, key: str) -> Iterator[Problem]:
    """A text, or a list of texts that may be nested up to ten levels."""
    if is_null(tree):
        return
    text = text_in(tree)
    if text is None and not isinstance(tree.value, list):
        yield _no_text(tree, key)
    elif key == "script" and not (tree.value if text is None else text.strip()):
        yield Problem(
            code="PIP140",
            line=tree.line,
            key=key,
            message="the script is empty",
            fix="write at least one command, or remove the job",
        )
    elif text is None:
        yield from _items(tree, key, _MAX_LEVELS)


def _items(tree: Tree, key: str, levels: int) -> Iterator[Problem]:
    if not isinstance(tree.value, list):
        return
    for index, item in enumerate(tree.value):
        place = f"{key}[{index}]"
        if isinstance(item.value, list) and levels > 1:
            yield from _items(item, place, levels - 1)
        elif text_in(item) is None:
            yield _no_text(item, place)


def _no_text(tree: Tree, key: str) -> Problem:
    message = f"a command is a text, and GitLab reads {shown(tree)} here"
    fix = "put the whole command in quotes"
    if is_mapping(tree):
        message += ", a mapping: a colon and a blank begin one"
    elif isinstance(tree.value, list):
        message, fix = "lists are nested more than ten levels deep here", "write one flat list"
    return Problem(code="PIP140", line=tree.line, key=key, message=message, fix=fix)


def check_shell(tree: Tree, key: str, before: Tree | None) -> Iterator[Problem]:
    """What hides a failure; `before` is the before_script that runs in the same shell."""
    commands = commands_in(tree, key)
    if not any("\n" in command.text or "tee" in command.text for command in commands):
        return
    earlier = [command.text for command in commands_in(before, "before_script")]
    stops = any(map(_SETS_ERREXIT.search, earlier))
    fails = any(map(_SETS_PIPEFAIL.search, earlier))
    for command in commands:
        stops = stops or bool(_SETS_ERREXIT.search(command.text))
        fails = fails or bool(_SETS_PIPEFAIL.search(command.text))
        if not stops and (ignored := _ignored(command.text)):
            yield Problem(
                code="PIP142",
                line=command.tree.line,
                key=command.key,
                message=f'of several commands in one item only the last decides: "{ignored}" may '
                "fail unnoticed",
                fix="begin the item with set -e, or write one item a command",
            )
        if not fails and _TEE.search(_NO_CODE.sub("''", command.text)):
            yield Problem(
                code="PIP143",
                line=command.tree.line,
                key=command.key,
                message="| tee succeeds even when the command before it fails, where the shell "
                "does not set pipefail",
                fix="run set -o pipefail before it (in bash), or write into a file instead",
            )


def _ignored(text: str) -> str | None:
    """The first of several commands of an item whose failure would go unnoticed."""
    commands = list(_commands(text)) if "\n" in text.strip() else []
    for command in commands[:-1]:
        if not _HARMLESS.match(command) and "||" not in command:
            return command if len(command) <= 60 else command[:59] + "…"
    return None


def _commands(text: str) -> Iterator[str]:
    """The lines of a script: continued ones joined, here-documents and blank ones left out."""
    delimiter, joined = "", ""
    for line in text.split("\n"):
        bare = line.strip()
        if delimiter:
            delimiter = "" if bare == delimiter else delimiter
            continue
        joined = f"{joined} {bare}".strip()
        if heredoc := _HEREDOC.search(bare):
            delimiter = heredoc[2]
        if joined and not _CONTINUES.search(joined):
            yield joined
            joined = ""
        elif joined.endswith("\\"):
            joined = joined[:-1].rstrip()
    if joined:
        yield joined


def check_comment(tree: Tree, key: str, lines: list[str]) -> Iterator[Problem]:
    """A bare item whose tail YAML took for a comment that it was not meant for.

    That is told by a quote that is left open, or by a word such as #1 behind a single blank.
    """
    for command in commands_in(tree, key):
        bare = command.tree.bare
        if bare is None or command.tree.line > len(lines):
            continue
        line = lines[command.tree.line - 1].rstrip()
        tail = line.partition(bare)[2]
        if not (tail[:1].isspace() and tail.lstrip().startswith("#")):
            continue
        is_open = _quotes_are_open(bare)
        if is_open or _COMMENT_WORD.match(tail):
            end = ", and a quote stays open" if is_open else ": the shell does not get it"
            yield Problem(
                code="PIP141",
                line=command.tree.line,
                key=command.key,
                message=f'YAML takes "{tail.strip()}" for a comment{end}',
                fix="put the whole command in quotes"
                + ("" if is_open else ", or write a blank behind the #"),
            )


def _quotes_are_open(text: str) -> bool:
    quote = ""
    for character in re.sub(r"\\.", "", text):
        if character in "\"'" and quote in ("", character):
            quote = "" if quote else character
    return bool(quote)
