"""The top level of the file: its keywords, and that there is a job at all.

GitLab: lib/gitlab/ci/config/entry/{root,default,workflow,stages}.rb
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from gpu_pipeline.checks.child.job_keys import KEY_CHECKS
from gpu_pipeline.checks.child.keys_flow import check_rules
from gpu_pipeline.checks.child.keys_trigger import check_include
from gpu_pipeline.checks.child.model import Child, Findings, KeyCheck, Problem
from gpu_pipeline.checks.child.shapes import (
    Hints,
    flat_texts,
    is_mapping,
    is_null,
    one_of,
    text_in,
    unknown_keys,
    wrong,
)
from gpu_pipeline.checks.child.variables import check_global_variables, check_rule_variables
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import DEFAULTABLE, KEYWORDS, Fault, raw_jobs, resolved_at

DEFAULT_STAGES = ("build", "test", "deploy")
_STAGE_LEVELS = 10
_MAX_STAGE_NAME = 255


def stages_of(file: CiFile) -> tuple[str, ...] | None:
    """All stages in their order, GitLab's own two included; none if `stages` is an empty list.

    None stands for stages that cannot be read.
    """
    tree = resolved_at(file, "stages")
    if tree is None or is_null(tree):
        return (".pre", *DEFAULT_STAGES, ".post")
    texts = flat_texts(tree, _STAGE_LEVELS)
    if texts is None:
        return None
    names = [text_in(text) or "" for text in texts]
    return (".pre", *names, ".post") if names else ()


def check_structure(child: Child, findings: Findings) -> None:
    """Everything that is not about a single job."""
    hints = Hints(raw_jobs(child.file))
    for fault in child.faults:
        findings.add(_fault(fault, hints), fault.job)
    for key, check in _TOP_CHECKS.items():
        tree = resolved_at(child.file, key)
        if tree is not None and not _is_job(key, tree):
            findings.add_all(check(tree, key))
    if not any(_is_visible_job(key, tree) for key, tree in child.file.root.items()):
        message = "the file has no visible job, and GitLab refuses an empty pipeline"
        fix = "write a job; one whose name begins with a dot is hidden"
        findings.add(Problem(code="PIP107", line=1, key="", message=message, fix=fix))


def _is_job(key: str, tree: Tree) -> bool:
    """Whether GitLab takes a keyword for a job, which it does with `default` and `workflow`."""
    return key in ("default", "workflow") and tree.get("script") is not None


def _is_visible_job(key: str, tree: Tree) -> bool:
    return _is_job(key, tree) or not (key.startswith(".") or key in KEYWORDS)


def _fault(fault: Fault, hints: Hints) -> Problem:
    """A job that could not be worked out, with the nearest name where one is missing."""
    if not fault.key:
        code, message, fix = "PIP108", fault.message, "write its script, or remove the entry"
    elif fault.key == "extends":
        wanted = fault.message.partition('"')[2].rpartition('"')[0]
        hint = hints.near(wanted) if "unknown key" in fault.message else ""
        code, message = "PIP111", f"extends cannot be worked out: {fault.message}{hint}"
        fix = "name a job of this file, hidden or not, that does not lead back here"
    else:
        code, message = "PIP112", f"a value cannot be worked out: {fault.message}"
        fix = "name a job of this file, or a hidden entry, and one of its keys"
    return Problem(code=code, line=fault.line, key=fault.key, message=message, fix=fix)


def _check_stages(tree: Tree, key: str) -> Iterator[Problem]:
    if is_null(tree):
        return
    names = flat_texts(tree, _STAGE_LEVELS)
    if names is None:
        yield wrong("PIP106", tree, key, "a list of texts")
    for name in names or []:
        if len(text_in(name) or "") > _MAX_STAGE_NAME:
            yield wrong("PIP106", name, key, f"names of at most {_MAX_STAGE_NAME} characters")


def _check_default(tree: Tree, key: str) -> Iterator[Problem]:
    if is_null(tree):
        return
    if not is_mapping(tree):
        yield wrong("PIP106", tree, key, "a mapping of what jobs inherit")
        return
    yield from unknown_keys("PIP106", tree, key, DEFAULTABLE)
    for name, value in tree.items():
        if name in DEFAULTABLE and (check := KEY_CHECKS.get(name)):
            yield from check(value, f"{key}.{name}")


def _check_workflow(tree: Tree, key: str) -> Iterator[Problem]:
    if is_null(tree):
        return
    if not is_mapping(tree):
        yield wrong("PIP106", tree, key, "a mapping with rules")
        return
    yield from unknown_keys("PIP106", tree, key, ("rules", "name", "auto_cancel"))
    if rules := tree.get("rules"):
        yield from check_rules(rules, f"{key}.rules")
        yield from check_rule_variables(rules, f"{key}.rules")
    name = tree.get("name")
    if name is not None and not is_null(name) and text_in(name) is None:
        yield wrong("PIP106", name, f"{key}.name", "a text", "put it in quotes")
    if cancel := tree.get("auto_cancel"):
        yield from _check_auto_cancel(cancel, f"{key}.auto_cancel")


def _check_auto_cancel(tree: Tree, key: str) -> Iterator[Problem]:
    choices = {
        "on_new_commit": ("conservative", "interruptible", "none"),
        "on_job_failure": ("none", "all"),
    }
    if not is_mapping(tree):
        if not is_null(tree):
            yield wrong("PIP106", tree, key, "a mapping with on_new_commit or on_job_failure")
        return
    yield from unknown_keys("PIP106", tree, key, choices)
    for name, known in choices.items():
        yield from one_of("PIP106", tree.get(name), f"{key}.{name}", known)


_TOP_CHECKS: Mapping[str, KeyCheck] = MappingProxyType(
    {
        "stages": _check_stages,
        "variables": check_global_variables,
        "default": _check_default,
        "workflow": _check_workflow,
        "include": check_include,
        **{
            key: KEY_CHECKS[key]
            for key in ("image", "services", "before_script", "after_script", "cache")
        },
    }
)
