"""Keys that stand twice or are no text, and bare scalars that Ruby reads in a way of its own."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.ruby import Refused, Symbol, read_bare, ruby_value
from gpu_pipeline.ci_file import KeyPlace, Tree
from gpu_pipeline.ci_jobs import KEYWORDS

# What people, YAML 1.1 and YAML 1.2 agree on.
_PLAIN = re.compile(r"|~|null|Null|NULL|true|True|TRUE|false|False|FALSE|-?(?:0|[1-9][0-9]*)")
_PLAIN_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.(?:0|[0-9]*[1-9])")


def check_scalars(child: Child, findings: Findings) -> None:
    """The keys and bare values of the whole file, whether jobs use them or not."""
    owner = _Owner(child)
    for duplicate in dict.fromkeys(child.file.duplicates):
        findings.add(_duplicate(duplicate, owner), owner.job(duplicate.line))
    for odd in dict.fromkeys(child.file.odd_keys):
        findings.add(_odd_key(odd, owner), owner.job(odd.line))
    for name, tree in child.file.root.items():
        is_job = name not in KEYWORDS
        for problem in _values(tree, "" if is_job else name):
            findings.add(problem, name if is_job else "")


class _Owner:
    """Finds the job in which a line stands."""

    def __init__(self, child: Child) -> None:
        self._entries = sorted((tree.line, name) for name, tree in child.file.root.items())
        self._lines = [line for line, _ in self._entries]

    def job(self, line: int) -> str:
        """The job, "" for a line of a keyword."""
        index = bisect.bisect_right(self._lines, line) - 1
        name = self._entries[index][1] if index >= 0 else ""
        return "" if name in KEYWORDS else name

    def is_top(self, key: KeyPlace) -> bool:
        """Whether a key is one of the top level."""
        index = bisect.bisect_left(self._entries, (key.line, key.key))
        return index < len(self._entries) and self._entries[index] == (key.line, key.key)

    def key(self, key: KeyPlace) -> str:
        """What to call a key in its place: the name of a job stands there already."""
        return "" if self.is_top(key) and key.key not in KEYWORDS else key.key


def _duplicate(duplicate: KeyPlace, owner: _Owner) -> Problem:
    if duplicate.is_replaced:
        return Problem(
            code="PIP103",
            line=duplicate.line,
            key=owner.key(duplicate),
            message=f'a "<<" below brings "{duplicate.key}" along: GitLab takes that one and drops '
            "this one without a word",
            fix="write << first in its mapping, and this key below it; or remove this one",
        )
    if owner.is_top(duplicate):
        what = f'"{duplicate.key}" stands at the top level a second time'
    else:
        what = f'the key "{duplicate.key}" stands here a second time'
    return Problem(
        code="PIP103",
        line=duplicate.line,
        key=owner.key(duplicate),
        message=f"{what}: GitLab takes this one and drops the one before without a word",
        fix="remove or rename one of the two",
    )


def _odd_key(odd: KeyPlace, owner: _Owner) -> Problem:
    value, key = read_bare(odd.key), owner.key(odd)
    if isinstance(value, Refused):
        return _refused(odd.key, value, odd.line, key)
    is_top = owner.is_top(odd)
    return Problem(
        code="PIP104" if is_top else "PIP161",
        line=odd.line,
        key=key,
        message=f"{odd.key} is no text without quotes"
        + (", and GitLab refuses it as the name of a job" if is_top else f": {_reading(value)}"),
        fix=f'write "{odd.key}":',
    )


def _values(tree: Tree, key: str) -> Iterator[Problem]:
    """The bare scalars below a value."""
    if isinstance(tree.value, dict):
        for name, below in tree.value.items():
            yield from _values(below, f"{key}.{name}" if key else name)
    elif isinstance(tree.value, list):
        for index, below in enumerate(tree.value):
            yield from _values(below, f"{key}[{index}]")
    elif tree.bare is not None:
        yield from _scalar(tree, tree.bare, key)


def _scalar(tree: Tree, bare: str, key: str) -> Iterator[Problem]:
    value = ruby_value(tree)
    if isinstance(value, str) or _PLAIN.fullmatch(bare) or _PLAIN_FLOAT.fullmatch(bare):
        return
    if isinstance(value, Refused):
        yield _refused(bare, value, tree.line, key)
    else:
        yield Problem(
            code="PIP161",
            line=tree.line,
            key=key,
            message=f"GitLab does not read {bare} as it is written: {_reading(value)}",
            fix=f'write "{bare}"',
        )


def _refused(bare: str, value: Refused, line: int, key: str) -> Problem:
    return Problem(
        code="PIP160",
        line=line,
        key=key,
        message=f"GitLab refuses the whole file for {bare}: without quotes it is a "
        f"{value.kind.lower()}",
        fix=f'write "{bare}"',
    )


def _reading(value: object) -> str:
    if isinstance(value, Symbol):
        return f'its Ruby parser makes it "{value.name}", without the colon'
    if isinstance(value, bool) or value is None:
        return f"its Ruby parser makes it {'null' if value is None else str(value).lower()}"
    return f"its Ruby parser makes it the number {value}"
