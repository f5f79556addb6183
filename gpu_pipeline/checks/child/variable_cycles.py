"""Variables that are defined by themselves, directly or over others of the same block.

GitLab: lib/gitlab/ci/variables/collection/sort.rb
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import is_mapping, text_in
from gpu_pipeline.checks.child.shell_words import names_in
from gpu_pipeline.ci_file import Tree


def check_cycles(block: Tree, key: str) -> Iterator[Problem]:
    """Each circle of a block of variables once, at the variable that closes it."""
    uses = {name: _uses(tree, block) for name, tree in block.items()}
    finished: set[str] = set()
    for start in uses:  # noqa: PLC0206, the uses of other variables are looked up on the way
        path = {} if start in finished else {start: iter(uses[start])}
        while path:
            name = next(reversed(path))
            used = next(path[name], None)
            if used is None:
                del path[name]
                finished.add(name)
            elif used in path:
                names = list(path)
                yield _problem(block, key, [*names[names.index(used) :], used])
            elif used not in finished:
                path[used] = iter(uses[used])


def _uses(tree: Tree, block: Tree) -> list[str]:
    """The variables of the block that GitLab would put into a value."""
    if is_mapping(tree) and tree.plain_at("expand") is False:
        return []
    text = text_in(tree.get("value") if is_mapping(tree) else tree) or ""
    return sorted(name for name in names_in(text) if block.get(name) is not None)


def _problem(block: Tree, key: str, circle: list[str]) -> Problem:
    name, *others, _ = circle
    way = " → ".join(circle)
    last = block.get(others[-1] if others else name) or block
    if others:
        message = f"variables are defined by each other, {way}: GitLab expands none of them"
        fix = "give one of them a value without the others"
    else:
        message = f"{name} is defined by itself: it stays the text ${name}, unless the project "
        message += "has a variable of this name"
        fix = "use another name, or write expand: false if the text is meant"
    place = f"{key}.{others[-1] if others else name}"
    return Problem(code="PIP158", line=last.line, key=place, message=message, fix=fix)
