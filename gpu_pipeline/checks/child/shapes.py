"""Small questions about a value, asked by many checks; texts and numbers are as Ruby reads them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.ruby import Refused, Symbol, ruby_plain, ruby_value
from gpu_pipeline.ci_file import Reference, Tree
from gpu_pipeline.ci_jobs import KEYWORDS
from gpu_pipeline.names import did_you_mean

_SHOWN = 70
_MAX_HINTS = 20


def is_null(tree: Tree | None) -> bool:
    """Whether a value is absent or null, which GitLab takes for the same nearly everywhere."""
    return tree is None or ruby_value(tree) is None


def text_in(tree: Tree | None) -> str | None:
    """The text, or None for any other value."""
    value = ruby_value(tree) if tree is not None else None
    return value if isinstance(value, str) else None


def number_in(tree: Tree | None) -> int | None:
    """The whole number, or None for any other value; true is none."""
    value = ruby_value(tree) if tree is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_boolean(tree: Tree | None) -> bool:
    """Whether the value is true or false."""
    return tree is not None and isinstance(ruby_value(tree), bool)


def items_of(tree: Tree | None) -> list[Tree]:
    """The items of a list, nothing for any other value."""
    return tree.value if tree is not None and isinstance(tree.value, list) else []


def is_mapping(tree: Tree | None) -> bool:
    """Whether the value is a mapping."""
    return tree is not None and isinstance(tree.value, dict)


def is_text_list(tree: Tree) -> bool:
    """Whether the value is a list of nothing but texts."""
    return isinstance(tree.value, list) and all(text_in(item) is not None for item in tree.value)


def texts_in(tree: Tree | None) -> list[Tree]:
    """The texts of a list, whatever else it holds."""
    return [item for item in items_of(tree) if text_in(item) is not None]


def flat_texts(tree: Tree, levels: int) -> list[Tree] | None:
    """The texts of a list that may be nested, None when it holds anything else or is too deep."""
    if not isinstance(tree.value, list) or not levels:
        return None
    found: list[Tree] = []
    for item in tree.value:
        below = [item] if text_in(item) is not None else flat_texts(item, levels - 1)
        if below is None:
            return None
        found += below
    return found


def shown(tree: Tree) -> str:
    """A value as a reader can recognise it, cut when it is long."""
    text = _json(tree)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _json(tree: Tree) -> str:
    if isinstance(tree.value, Reference):
        return _foreign(tree.value)
    return json.dumps(ruby_plain(tree), ensure_ascii=False, default=_foreign)


def _foreign(value: object) -> str:
    if isinstance(value, Symbol):
        return f"the symbol {value.name}"
    if isinstance(value, Refused):
        return f"a {value.kind.lower()}"
    if isinstance(value, Reference):
        return f"!reference [{', '.join(value.path)}]"
    return str(value)


def listed(words: Collection[str]) -> str:
    """Words as a reader likes them: `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


class Hints:
    """The nearest of many names. A word is looked up once, and no more than twenty words are.

    Looking through all names for each of as many words would take minutes for a large file.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._known: dict[str, str] = {}

    def near(self, word: str) -> str:
        """A sentence tail as `did_you_mean` gives it, or "" after too many words."""
        if word not in self._known and len(self._known) < _MAX_HINTS:
            self._known[word] = did_you_mean(word, self._names)
        return self._known.get(word, "")


def wrong(code: str, tree: Tree, key: str, expected: str, fix: str = "") -> Problem:
    """The commonest problem: a value is not of the kind that is expected."""
    return Problem(
        code=code,
        line=tree.line,
        key=key,
        message=f"{key} must be {expected}, and this is {shown(tree)}",
        fix=fix or f"write {expected}",
    )


def unknown_keys(code: str, tree: Tree, key: str, known: Collection[str]) -> Iterator[Problem]:
    """A problem for each key of a mapping that is not among the known ones."""
    for name, value in tree.items():
        if name not in known:
            is_job = name == "script" and key in KEYWORDS
            yield Problem(
                code=code,
                line=value.line,
                key=f"{key}.{name}",
                message=f'{key} has no key "{name}"{did_you_mean(name, known)}',
                fix=f"{key} is a keyword: choose another name for the job"
                if is_job
                else f'correct the name or remove "{name}"',
            )


def one_of(
    code: str, tree: Tree | None, key: str, known: Collection[str], *, null: bool = True
) -> Iterator[Problem]:
    """A problem unless the value is one of the known words (or null, where that is allowed)."""
    if tree is None or (null and is_null(tree)):
        return
    word = text_in(tree)
    if word is None or word not in known:
        hint = did_you_mean(word, known) if word else ""
        problem = wrong(code, tree, key, listed(sorted(known)))
        yield Problem(
            code=code,
            line=problem.line,
            key=key,
            message=f"{key} cannot be {shown(tree)}{hint}",
            fix=problem.fix,
        )
