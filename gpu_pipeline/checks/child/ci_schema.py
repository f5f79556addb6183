"""GitLab's own JSON schema for CI files, as a net under the other checks.

It knows every key and the type of each value, but no text: not whether a stage exists, a duration
can be read or a condition parses. It is stricter than GitLab itself in places, so what it alone
finds is a warning.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.ruby import ruby_value
from gpu_pipeline.checks.child.shapes import is_null, shown
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import KEYWORDS

# Lists may be nested here to any depth that GitLab allows, which the schema does not say.
_NESTING_KEYS = ("script", "before_script", "after_script", "rules", "stages")
_SCHEMA_PACKAGE = "check_jsonschema"
_SCHEMA = ("builtin_schemas", "vendor", "gitlab-ci.json")


def check_schema(child: Child, findings: Findings) -> None:
    """What only the schema finds, or a note that it could not be asked.

    The schema does not look into hidden jobs, so it is given the jobs as they are worked out.
    """
    try:
        validator = _validator()
    except ModuleNotFoundError as error:
        findings.add(_absent(str(error.name)))
        return
    top = {key: tree for key, tree in child.file.root.items() if key in KEYWORDS}
    jobs = {job.name: job.tree for job in child.visible}
    root = Tree(value={**top, **jobs}, line=1)
    try:
        paths = [tuple(error.instance_path) for error in validator.iter_errors(_json(root, {}))]
    except (RecursionError, ValueError):  # what !reference puts together may be that deep
        findings.add(_TOO_DEEP)
        return
    for path in dict.fromkeys(paths):
        job = str(path[0]) if path and path[0] in jobs else ""
        tree = root.get(*path)
        keys = path[1:] if job else path
        if tree is None or is_null(tree) or not keys or keys[0] in _NESTING_KEYS:
            continue  # GitLab itself is laxer here, and the checks of these keys are exact
        problem = _problem(tree, keys)
        if not findings.has_other(job, problem):
            findings.add(problem, job)


_TOO_DEEP = Problem(
    code="PIP101",
    line=1,
    key="",
    message="the values are nested too deeply, once each !reference is replaced",
    fix="write what they refer to with fewer lists in lists",
)


@functools.cache
def _validator() -> Any:
    """The compiled schema. Raises ModuleNotFoundError when one of two packages is absent."""
    engine = importlib.import_module("jsonschema_rs")
    package = importlib.util.find_spec(_SCHEMA_PACKAGE)  # an import would load an HTTP client too
    if package is None or package.origin is None:
        raise ModuleNotFoundError(f"No module named {_SCHEMA_PACKAGE}", name=_SCHEMA_PACKAGE)
    file = Path(package.origin).parent.joinpath(*_SCHEMA)
    return engine.validator_for(json.loads(file.read_text(encoding="utf-8")))


def _json(tree: Tree, done: dict[int, object]) -> object:
    """The value as JSON has it; what jobs share is converted once."""
    if id(tree) in done:
        return done[id(tree)]
    value: object
    if isinstance(tree.value, dict):
        value = done[id(tree)] = {key: _json(below, done) for key, below in tree.value.items()}
    elif isinstance(tree.value, list):
        value = done[id(tree)] = [_json(below, done) for below in tree.value]
    else:
        value = ruby_value(tree)
    return value if isinstance(value, dict | list | str | int | float | None) else str(value)


def _problem(tree: Tree, keys: tuple[str | int, ...]) -> Problem:
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in keys)
    return Problem(
        code="PIP180",
        line=tree.line,
        key=key.removeprefix("."),
        message=f"GitLab's schema for CI files has no place for {shown(tree)} here",
        fix="compare it with the documentation of this key",
    )


def _absent(module: str) -> Problem:
    package = module.replace("_", "-")
    return Problem(
        code="PIP181",
        line=1,
        key="",
        message=f"GitLab's JSON schema was not asked, because {package} is not installed",
        fix="pip install -r requirements-dev.txt, with the Python that runs this",
    )
