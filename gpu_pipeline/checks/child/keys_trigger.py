"""Trigger jobs and what a file includes.

GitLab: lib/gitlab/ci/config/entry/{trigger,include}.rb
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import (
    is_boolean,
    is_mapping,
    is_null,
    listed,
    one_of,
    shown,
    text_in,
    unknown_keys,
    wrong,
)
from gpu_pipeline.ci_file import Tree

_TRIGGER_KEYS = ("project", "branch", "strategy", "include", "forward", "inputs")
_STRATEGIES = ("depend", "mirror")
_FORWARD_KEYS = ("yaml_variables", "pipeline_variables")
_SOURCES = ("local", "project", "remote", "template", "artifact", "component")
MAX_TRIGGER_INCLUDES, MAX_INCLUDES = 3, 150


def check_trigger(tree: Tree, key: str) -> Iterator[Problem]:
    """A warning that there is one, and what is wrong with it."""
    yield Problem(
        code="PIP113",
        line=tree.line,
        key=key,
        message="a child that triggers a pipeline is one level deep already: GitLab allows two, "
        "and counts all of them to 1,000 a tree",
        fix="generate the jobs into this child instead",
    )
    if not is_mapping(tree):
        if not text_in(tree):
            yield wrong("PIP118", tree, key, "a project, or a mapping with include or project")
        return
    yield from unknown_keys("PIP118", tree, key, _TRIGGER_KEYS)
    yield from one_of("PIP118", tree.get("strategy"), f"{key}.strategy", _STRATEGIES)
    include, project = tree.get("include"), tree.get("project")
    if is_null(include) == is_null(project):
        yield wrong("PIP118", tree, key, "a mapping with either include or project")
    elif include is not None:
        yield from _includes(include, f"{key}.include", "PIP118", MAX_TRIGGER_INCLUDES)
    if forward := tree.get("forward"):
        yield from unknown_keys("PIP118", forward, f"{key}.forward", _FORWARD_KEYS)
        for name, value in forward.items():
            if name in _FORWARD_KEYS and not is_boolean(value):
                yield wrong("PIP118", value, f"{key}.forward.{name}", "true or false")


def check_include(tree: Tree, key: str) -> Iterator[Problem]:
    """What a file includes, at its top level."""
    if not is_null(tree):
        yield from _includes(tree, key, "PIP106", MAX_INCLUDES)


def _includes(tree: Tree, key: str, code: str, most: int) -> Iterator[Problem]:
    entries = tree.value if isinstance(tree.value, list) else [tree]
    if len(entries) > most:
        yield Problem(
            code=code,
            line=tree.line,
            key=key,
            message=f"{len(entries)} files are included, and GitLab allows {most} here",
            fix="merge them",
        )
    for index, entry in enumerate(entries):
        place = f"{key}[{index}]" if isinstance(tree.value, list) else key
        if is_mapping(entry):
            yield from _include(entry, place, code)
        elif not text_in(entry):
            yield wrong(code, entry, place, "the path of a file, or a mapping that names it")


def _include(tree: Tree, key: str, code: str) -> Iterator[Problem]:
    sources = [source for source in _SOURCES if tree.get(source) is not None]
    if len(sources) != 1:
        yield Problem(
            code=code,
            line=tree.line,
            key=key,
            message=f"{shown(tree)} has to have exactly one of {listed(_SOURCES)}",
            fix="name where the file comes from",
        )
    elif sources == ["artifact"] and tree.get("job") is None:
        yield Problem(
            code=code,
            line=tree.line,
            key=key,
            message="an artifact is included without the job that makes it",
            fix="add job: with the name of that job",
        )
