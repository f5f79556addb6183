"""The clauses `changes` and `exists` of a rule: checked, for they cannot be evaluated offline.

GitLab: lib/gitlab/ci/config/entry/rules/rule/{changes,exists}.rb
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_pipeline.rules.errors import RuleError

_MAX_PATTERNS = 50


def check_changes(clause: object, subject: str) -> None:
    """Raises RuleError unless `clause` is absent, a list of paths or `{paths, compare_to}`."""
    if isinstance(clause, Mapping):
        _check_mapping(clause, subject, ("compare_to",))
    elif clause is not None and not isinstance(clause, list):
        raise RuleError(f"{subject} should be an array or a hash")
    else:
        _check_paths(clause, f"{subject} config")


def check_exists(clause: object, subject: str) -> None:
    """Raises RuleError unless `clause` is absent, one path, a list, or `{paths, project, ref}`."""
    if isinstance(clause, Mapping):
        _check_mapping(clause, subject, ("project", "ref"))
        if "ref" in clause and "project" not in clause:
            raise RuleError(f"{subject} config missing required keys: project")
    elif not isinstance(clause, str | list | None):
        raise RuleError(f"{subject} should be a string, an array of strings, or a hash")
    elif not isinstance(clause, str):
        _check_paths(clause, f"{subject} config")


def _check_mapping(
    clause: Mapping[object, object], subject: str, settings: tuple[str, ...]
) -> None:
    if unknown := [str(key) for key in clause if key not in ("paths", *settings)]:
        raise RuleError(f"{subject} config contains unknown keys: {', '.join(unknown)}")
    if "paths" not in clause:
        raise RuleError(f"{subject} config missing required keys: paths")
    _check_paths(clause["paths"], f"{subject} paths")
    for key in settings:
        if not isinstance(clause.get(key), str | None):
            raise RuleError(f"{subject} {key.replace('_', ' ')} should be a string")


def _check_paths(paths: object, subject: str) -> None:
    if paths is None:
        return
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise RuleError(f"{subject} should be an array of strings")
    if len(paths) > _MAX_PATTERNS:
        raise RuleError(f"{subject} has too many entries (maximum {_MAX_PATTERNS})")
