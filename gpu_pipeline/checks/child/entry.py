"""The check of a child file, from its text to its findings."""

from __future__ import annotations

import re
from collections.abc import Collection

from gpu_pipeline.checks.child.ci_schema import check_schema
from gpu_pipeline.checks.child.empty import check_empty
from gpu_pipeline.checks.child.jobs import check_jobs
from gpu_pipeline.checks.child.limits import check_limits
from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.needs import check_needs
from gpu_pipeline.checks.child.runner_variables import check_runner_variables
from gpu_pipeline.checks.child.scalars import check_scalars
from gpu_pipeline.checks.child.structure import check_structure, stages_of
from gpu_pipeline.checks.child.usage import check_usage
from gpu_pipeline.checks.finding import Finding
from gpu_pipeline.ci_file import parse_ci_file
from gpu_pipeline.ci_jobs import resolve_ci_jobs
from gpu_pipeline.yaml_text import YamlError

# A file of two documents, of which the first says what inputs the second takes.
_INPUTS = re.compile(r"(?:\s|#[^\n]*\n|---[ \t]*\n)*spec:.*?^---", re.DOTALL | re.MULTILINE)
_INPUTS_UNKNOWN = Problem(
    code="PIP119",
    line=1,
    key="spec",
    message="the file takes inputs, whose values are not known here: nothing else was checked",
    fix="generate the values themselves",
)


def check_child(text: str, name: str, *, given: Collection[str] = ()) -> list[Finding]:
    """Everything that can be said about a child file by itself, in the order of its lines.

    `name` is what to call the file, `given` are variables that are defined elsewhere. A file with
    no finding of severity error is one that GitLab accepts, as far as is known.
    """
    findings = Findings(name)
    child = _read(text, name, findings)
    if child is not None:
        check_structure(child, findings)
        check_jobs(child, findings)
        check_needs(child, findings)
        check_empty(child, findings)
        check_scalars(child, findings)
        check_runner_variables(child, findings)
        check_usage(child, findings, given)
        findings.add_all(check_limits(child))
        check_schema(child, findings)
    return findings.sorted()


def _read(text: str, name: str, findings: Findings) -> Child | None:
    """The parsed file, or None after a finding that says why there is none."""
    if not text.strip():
        fix = "look at what wrote it"
        findings.add(Problem(code="PIP102", line=1, key="", message="the file is empty", fix=fix))
        return None
    if _INPUTS.match(text):
        findings.add(_INPUTS_UNKNOWN)
        return None
    try:
        file = parse_ci_file(text, name)
    except YamlError as error:
        findings.add(_unreadable(error))
        return None
    if not file.root.value:
        message, fix = "there is nothing in the file but comments", "look at what wrote it"
        findings.add(Problem(code="PIP102", line=1, key="", message=message, fix=fix))
        return None
    jobs, faults = resolve_ci_jobs(file)
    return Child(text=text, file=file, jobs=jobs, faults=faults, stages=stages_of(file))


def _unreadable(error: YamlError) -> Problem:
    if "not a mapping" in str(error):
        code, fix = "PIP102", "write jobs as NAME: with their keys below"
    else:
        code, fix = "PIP101", "correct the line, or quote the value in it"
    return Problem(code=code, line=error.line, key="", message=str(error), fix=fix)
