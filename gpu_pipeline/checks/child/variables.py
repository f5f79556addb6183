"""Variables: what GitLab refuses, what it reads as another text, what a shell cannot take.

GitLab: lib/gitlab/ci/config/entry/{variables,variable}.rb
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.ruby import Refused, ruby_plain, ruby_value
from gpu_pipeline.checks.child.shapes import is_mapping, is_null, items_of, shown
from gpu_pipeline.checks.child.variable_cycles import check_cycles
from gpu_pipeline.ci_file import Reference, Tree
from gpu_pipeline.names import VARIABLE_NAME
from gpu_pipeline.rules import RuleError, decide


def check_global_variables(tree: Tree, key: str) -> Iterator[Problem]:
    """The file's own variables, which may have a description and options."""
    yield from _check_block(tree, key, is_global=True)


def check_variables(tree: Tree, key: str) -> Iterator[Problem]:
    """The variables of a job."""
    yield from _check_block(tree, key, is_global=False)


def _check_block(tree: Tree, key: str, *, is_global: bool) -> Iterator[Problem]:
    if is_null(tree):
        return
    if not is_mapping(tree):
        yield Problem(
            code="PIP150",
            line=tree.line,
            key=key,
            message=f"variables are a mapping of names and texts, and this is {shown(tree)}",
            fix='write NAME: "value", one a line, without dashes',
        )
        return
    for name, value in tree.items():
        yield from _check_variable(name, value, f"{key}.{name}", is_global=is_global)
    yield from check_cycles(tree, key)


def _check_variable(name: str, tree: Tree, key: str, *, is_global: bool) -> Iterator[Problem]:
    if not VARIABLE_NAME.fullmatch(name):
        yield Problem(
            code="PIP153",
            line=tree.line,
            key=key,
            message=f'no shell can use a variable named "{name}"',
            fix="use letters, digits and _, and no digit first",
        )
    if isinstance(tree.value, str) and tree.bare is None:
        return
    text = _text(name, tree, is_global=is_global)
    if isinstance(text, RuleError):
        yield Problem(
            code="PIP150",
            line=tree.line,
            key=key,
            message=f'{shown(tree)} cannot be a variable; GitLab says "{text}"',
            fix="write a text in quotes, or a mapping with value and expand",
        )
    else:
        scalar = tree.get("value") or tree
        yield from _bare_value(scalar, text, key)


def variable_text(name: str, tree: Tree) -> str | None:
    """The text that jobs get for a variable, as GitLab reads it; None if GitLab refuses it."""
    if isinstance(tree.value, str) and tree.bare is None:  # a text in quotes is what it says
        return tree.value
    if isinstance(tree.value, list | Reference):
        return None
    text = _text(name, tree, is_global=True)
    return None if isinstance(text, RuleError) else text


def _text(name: str, tree: Tree, *, is_global: bool) -> str | RuleError:
    """The text that GitLab makes of a variable, or why it makes none."""
    block = {name: ruby_plain(tree)}
    try:
        if is_global:
            return decide({}, global_variables=block).variables[name]
        return decide({"variables": block}).variables[name]
    except RuleError as error:
        return error


def _bare_value(tree: Tree, text: str, key: str) -> Iterator[Problem]:
    value = ruby_value(tree)
    if tree.bare is None or isinstance(value, str | Refused):
        return
    if text != tree.bare or isinstance(value, bool | None):
        written = f"{tree.bare} without quotes" if tree.bare else "an empty value"
        yield Problem(
            code="PIP151",
            line=tree.line,
            key=key,
            message=f'GitLab reads {written} as {_kind(value)}, so the job gets "{text}"'
            + (", and older versions refuse it" if isinstance(value, bool) else ""),
            fix=f'write "{tree.bare}"',
        )
    else:
        yield Problem(
            code="PIP152",
            line=tree.line,
            key=key,
            message=f"{tree.bare} is a number here; it happens to turn into the same text",
            fix=f'write "{tree.bare}"',
        )


def _kind(value: object) -> str:
    if value is None:
        return "null"
    return "true or false" if isinstance(value, bool) else "a number"


def check_rule_variables(rules: Tree, key: str) -> Iterator[Problem]:
    """Variables of rules: a number or boolean passes the lint and fails when the job starts."""
    for index, rule in enumerate(items_of(rules)):
        if isinstance(rule.value, list):
            yield from check_rule_variables(rule, f"{key}[{index}]")
            continue
        block = rule.get("variables")
        for name, tree in block.items() if block else ():
            if isinstance(ruby_value(tree), int | float):
                yield Problem(
                    code="PIP154",
                    line=tree.line,
                    key=f"{key}[{index}].variables.{name}",
                    message=f"{shown(tree)} is no text: GitLab takes the file, but a job with such "
                    "a variable in its rule fails to start",
                    fix=f'write "{tree.bare}"',
                )
