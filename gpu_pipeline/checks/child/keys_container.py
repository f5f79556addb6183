"""What a job runs in: image and services.

GitLab: lib/gitlab/ci/config/entry/{imageable,image,service,pull_policy}.rb
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gpu_pipeline.checks.child.keys_run import check_text_list
from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import (
    is_mapping,
    is_null,
    one_of,
    text_in,
    unknown_keys,
    wrong,
)
from gpu_pipeline.ci_file import Tree

_CODE = "PIP127"
_IMAGE_KEYS = ("name", "entrypoint", "ports", "pull_policy", "docker", "kubernetes")
_SERVICE_KEYS = (*_IMAGE_KEYS, "command", "alias", "variables")
_PULL_POLICIES = ("always", "never", "if-not-present")
_EXECUTOR_KEYS = {"docker": ("platform", "user"), "kubernetes": ("user",)}


def check_image(tree: Tree, key: str) -> Iterator[Problem]:
    """The name of an image, or a mapping with it."""
    if not is_null(tree):
        yield from _image(tree, key, _IMAGE_KEYS)


def check_services(tree: Tree, key: str) -> Iterator[Problem]:
    """A list of images."""
    if is_null(tree):
        return
    if not isinstance(tree.value, list):
        yield wrong(_CODE, tree, key, "a list of images")
        return
    for index, item in enumerate(tree.value):
        yield from _image(item, f"{key}[{index}]", _SERVICE_KEYS)


def _image(tree: Tree, key: str, keys: Collection[str]) -> Iterator[Problem]:
    if not is_mapping(tree):
        if not (text_in(tree) or "").strip():
            yield wrong(_CODE, tree, key, "the name of an image, or a mapping with name")
        return
    yield from unknown_keys(_CODE, tree, key, keys)
    name = tree.get("name")
    if name is None or not (text_in(name) or "").strip():
        yield wrong(_CODE, name or tree, f"{key}.name", "the name of an image")
    for part in ("entrypoint", "command"):
        if part in keys and (words := tree.get(part)):
            yield from check_text_list(words, f"{key}.{part}")
    yield from _pull_policy(tree.get("pull_policy"), f"{key}.pull_policy")
    for executor, known in _EXECUTOR_KEYS.items():
        if options := tree.get(executor):
            yield from _executor(options, f"{key}.{executor}", known)


def _pull_policy(tree: Tree | None, key: str) -> Iterator[Problem]:
    if tree is None or not isinstance(tree.value, list):
        yield from one_of(_CODE, tree, key, _PULL_POLICIES)
        return
    for index, item in enumerate(tree.value):
        yield from one_of(_CODE, item, f"{key}[{index}]", _PULL_POLICIES, null=False)


def _executor(tree: Tree, key: str, known: Collection[str]) -> Iterator[Problem]:
    if not is_mapping(tree):
        yield wrong(_CODE, tree, key, f"a mapping with {' or '.join(known)}")
        return
    yield from unknown_keys(_CODE, tree, key, known)
    for name, value in tree.items():
        if name in known and text_in(value) is None:
            yield wrong(_CODE, value, f"{key}.{name}", "a text", "put it in quotes")
