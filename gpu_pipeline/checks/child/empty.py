"""Whether a child could have a job at all, whatever starts its parent and is passed on to it.

GitLab refuses a pipeline without a job, or with jobs of `.pre` and `.post` only, and the trigger
job of the parent fails with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.shapes import is_null, text_in
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import CiJob, resolved_at, rules_in
from gpu_pipeline.names import CHILD_SOURCE
from gpu_pipeline.rules.evaluator import holds, parse_expression
from gpu_pipeline.rules.lexer import Kind
from gpu_pipeline.rules.parser import Binary, Constant, Node, Not, Variable

# What every child knows. Any other variable may come from the parent.
_KNOWN = {"CI": "true", "GITLAB_CI": "true", "CI_PIPELINE_SOURCE": CHILD_SOURCE}
_OWN_STAGES = (".pre", ".post")


def check_empty(child: Child, findings: Findings) -> None:
    """One finding if it is certain that the pipeline would have no job."""
    is_whole = child.file.root.get("include") is None and not child.faults
    loaded = any(child.file.root.get(key, "script") for key in ("default", "workflow"))
    if not is_whole or loaded or not child.visible or findings.has("RUL101"):
        return  # rules that GitLab cannot read have no result
    for job, problem in _problems(child):
        findings.add(problem, job)


def _problems(child: Child) -> Iterator[tuple[str, Problem]]:
    workflow = resolved_at(child.file, "workflow", "rules")
    fix = "give a job a rule that holds in a child, or do not trigger the child"
    if workflow is not None and not is_null(workflow) and not _may_match(workflow, "always"):
        message = "the pipeline would have no job: workflow lets none be made in a child"
        fix = "add the rule when: always to workflow, or remove its rules"
        yield "", _problem(workflow.line, "workflow.rules", message, fix)
        return
    left = [job for job in child.visible if _may_run(job)]
    if not left:
        message = "the pipeline would have no job: no rule can add one"
        yield _at(child.visible[0], "rules", message, fix)
    elif all(text_in(job.tree.get("stage")) in _OWN_STAGES for job in left):
        message = "the pipeline would have no job but those of .pre and .post, which do not count"
        fix = "put a job that always runs into another stage"
        yield _at(left[0], "stage", message, fix)


def _at(job: CiJob, key: str, message: str, fix: str) -> tuple[str, Problem]:
    return job.name, _problem((job.tree.get(key) or job).line, key, message, fix)


def _problem(line: int, key: str, message: str, fix: str) -> Problem:
    return Problem(code="PIP145", line=line, key=key, message=message, fix=fix)


def _may_run(job: CiJob) -> bool:
    rules = job.tree.get("rules")
    if rules is None or is_null(rules):
        return True
    return _may_match(rules, text_in(job.tree.get("when")) or "on_success")


def _may_match(rules: Tree, default: str) -> bool:
    """Whether some rule may hold that does not say `when: never`."""
    for rule in rules_in(rules):
        condition = text_in(rule.get("if"))
        truth = True if condition is None else _truth(parse_expression(condition))
        if truth is False:
            continue
        if (text_in(rule.get("when")) or default) != "never":
            return True
        if truth and rule.get("changes") is None and rule.get("exists") is None:
            return False
    return False


def _truth(node: Node) -> bool | None:
    """Whether a part of a condition is true in any child; None where that depends."""
    if isinstance(node, Not):
        truth = _truth(node.operand)
        return None if truth is None else not truth
    if isinstance(node, Binary) and node.operator in (Kind.AND, Kind.OR):
        decisive = node.operator is Kind.OR
        sides = (_truth(node.left), _truth(node.right))
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    parts = (node.left, node.right) if isinstance(node, Binary) else (node,)
    return holds(node, _KNOWN) if all(map(_is_known, parts)) else None


def _is_known(node: Node) -> bool:
    return isinstance(node, Constant) or (isinstance(node, Variable) and node.name in _KNOWN)
