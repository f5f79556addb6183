"""What a job leaves behind: artifacts, cache, environment.

GitLab: lib/gitlab/ci/config/entry/{artifacts,cache,environment}.rb
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gpu_pipeline.checks.child.keys_run import (
    ENVIRONMENT_CHARACTERS,
    ENVIRONMENT_NAME,
    check_duration_text,
)
from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.shapes import (
    is_boolean,
    is_mapping,
    is_null,
    is_text_list,
    one_of,
    shown,
    text_in,
    texts_in,
    unknown_keys,
    wrong,
)
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.names import did_you_mean

ARTIFACT_KEYS = set(
    "name untracked paths reports when expire_in expose_as exclude public access".split()
)
_WHEN = ("on_success", "on_failure", "always")
_ACCESS = ("none", "developer", "maintainer", "all")
CACHE_KEYS = set("key untracked paths policy unprotect when fallback_keys".split())
_POLICIES = ("pull-push", "push", "pull")
_MAX_CACHES = 4
_ENVIRONMENT_KEYS = set("name url action on_stop auto_stop_in kubernetes deployment_tier".split())
_ACTIONS = ("start", "stop", "prepare", "verify", "access")
_TIERS = ("production", "staging", "testing", "development", "other")


def check_artifacts(tree: Tree, key: str) -> Iterator[Problem]:
    """A mapping: lists of paths, when and for how long to keep them, and for whom."""
    code = "PIP124"
    if is_null(tree):
        return
    if not is_mapping(tree):
        yield wrong(code, tree, key, "a mapping", "write the paths as a list under paths:")
        return
    yield from unknown_keys(code, tree, key, ARTIFACT_KEYS)
    yield from _typed(code, tree, key, _ARTIFACT_TYPES)
    yield from one_of(code, tree.get("when"), f"{key}.when", _WHEN)
    yield from one_of(code, tree.get("access"), f"{key}.access", _ACCESS)
    yield from _until(code, tree.get("expire_in"), f"{key}.expire_in")
    yield from _exposed(tree, key)


def _typed(
    code: str, tree: Tree, key: str, types: Mapping[str, Callable[[Tree], bool]]
) -> Iterator[Problem]:
    """A problem for each key whose value is neither null nor of its type."""
    for name, is_right in types.items():
        value = tree.get(name)
        if value is not None and not is_null(value) and not is_right(value):
            expected, fix = _EXPECTED[is_right]
            yield wrong(code, value, f"{key}.{name}", expected, fix)


def _until(code: str, tree: Tree | None, key: str) -> Iterator[Problem]:
    """A problem unless the value is a duration or `never`."""
    if tree is not None and not is_null(tree) and text_in(tree) != "never":
        yield from check_duration_text(code, tree, key)


def _is_text(tree: Tree) -> bool:
    return text_in(tree) is not None


_EXPECTED: Mapping[Callable[[Tree], bool], tuple[str, str]] = {
    is_text_list: ("a list of texts", ""),
    _is_text: ("a text", "put it in quotes"),
    is_boolean: ("true or false, without quotes", ""),
    is_mapping: ("a mapping", ""),
}
_ARTIFACT_TYPES = {
    "paths": is_text_list,
    "exclude": is_text_list,
    "name": _is_text,
    "expose_as": _is_text,
    "untracked": is_boolean,
    "public": is_boolean,
    "reports": is_mapping,
}
_CACHE_TYPES = {"paths": is_text_list, "fallback_keys": is_text_list, "untracked": is_boolean}
_ENVIRONMENT_TYPES = {"url": _is_text, "on_stop": _is_text, "kubernetes": is_mapping}


def _exposed(tree: Tree, key: str) -> Iterator[Problem]:
    if tree.get("expose_as") is None:
        return
    for index, path in enumerate(texts_in(tree.get("paths"))):
        if "*" in (text_in(path) or ""):
            yield Problem(
                code="PIP124",
                line=path.line,
                key=f"{key}.paths[{index}]",
                message=f"{shown(path)} has a *, which expose_as does not allow",
                fix="name the files one by one, or remove expose_as",
            )


def check_cache(tree: Tree, key: str) -> Iterator[Problem]:
    """One cache or up to four."""
    if is_null(tree):
        return
    if not isinstance(tree.value, list):
        yield from _cache(tree, key)
        return
    if len(tree.value) > _MAX_CACHES:
        yield wrong("PIP129", tree, key, "a list of at most 4 caches", "merge some of them")
    for index, item in enumerate(tree.value):
        yield from _cache(item, f"{key}[{index}]")


def _cache(tree: Tree, key: str) -> Iterator[Problem]:
    if not is_mapping(tree):
        yield wrong("PIP129", tree, key, "a mapping with key and paths")
        return
    yield from unknown_keys("PIP129", tree, key, CACHE_KEYS)
    yield from _typed("PIP129", tree, key, _CACHE_TYPES)
    yield from one_of("PIP129", tree.get("when"), f"{key}.when", _WHEN)
    policy = tree.get("policy")
    word = text_in(policy)
    if policy is not None and word is not None and word not in _POLICIES and "$" not in word:
        yield Problem(
            code="PIP130",
            line=policy.line,
            key=f"{key}.policy",
            message=f'GitLab takes the cache policy "{word}", but no runner knows it'
            f"{did_you_mean(word, _POLICIES)}",
            fix="write pull-push, pull or push",
        )


def check_environment(tree: Tree, key: str) -> Iterator[Problem]:
    """A name, or a mapping with it."""
    if is_null(tree):
        return
    if not is_mapping(tree):
        yield from _environment_name(tree, key)
        return
    yield from unknown_keys("PIP126", tree, key, _ENVIRONMENT_KEYS)
    yield from _environment_name(tree.get("name") or tree, f"{key}.name")
    yield from one_of("PIP126", tree.get("action"), f"{key}.action", _ACTIONS)
    yield from one_of("PIP126", tree.get("deployment_tier"), f"{key}.deployment_tier", _TIERS)
    yield from _typed("PIP126", tree, key, _ENVIRONMENT_TYPES)
    stop = tree.get("auto_stop_in")
    if "$" not in (text_in(stop) or ""):
        yield from _until("PIP126", stop, f"{key}.auto_stop_in")


def _environment_name(tree: Tree, key: str) -> Iterator[Problem]:
    name = text_in(tree)
    if name is None:
        yield wrong("PIP126", tree, key, "the name of an environment")
    elif not ENVIRONMENT_NAME.fullmatch(name) or len(name) > 255:
        yield Problem(
            code="PIP126",
            line=tree.line,
            key=key,
            message=f"{shown(tree)} cannot name an environment: a name has "
            f"{ENVIRONMENT_CHARACTERS}, at most 255",
            fix="replace the other characters",
        )
