"""Whether a job runs: rules, when, allow_failure, start_in, inherit and variables.

What is valid is asked of `gpu_pipeline.rules`; here is only found out which key is at fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpu_pipeline.checks.child.model import Problem
from gpu_pipeline.checks.child.ruby import ruby_plain
from gpu_pipeline.checks.child.shapes import is_boolean, is_null, is_text_list, shown, texts_in
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import DEFAULTABLE
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.rules import RuleError, RuleSyntaxError, decide, decide_workflow
from gpu_pipeline.rules.rule import JOB_RULES, WORKFLOW_RULES

_FLOW_KEYS = ("when", "start_in", "allow_failure", "inherit", "only", "except")
_MAX_LEVELS = 10


def check_flow(job: Tree) -> Iterator[Problem]:
    """The keys beside `rules` that decide whether and how a job runs."""
    if not any(job.get(key) for key in _FLOW_KEYS):
        return
    shape = {"trigger": None} if job.get("trigger") else {}
    when = _plain(job, "when")
    reason = _refusal({**shape, **when, **_start(when)})
    if reason is not None:
        yield _problem(job, "when", reason)
        when = {}
    if not is_null(job.get("rules")):
        for key in ("only", "except", "start_in"):
            if not is_null(job.get(key)):
                yield _problem(job, key, "it may not stand beside rules")
    else:
        yield from _alone(job, "start_in", {**shape, **when})
    yield from _alone(job, "allow_failure", {**shape, **when, **_start(when)})
    yield from list(_alone(job, "inherit", shape)) or _inherit(job)


def _inherit(job: Tree) -> Iterator[Problem]:
    """What `decide` does not look at, because no rule depends on it."""
    inherit = job.get("inherit")
    for name, tree in inherit.items() if inherit else ():
        if name not in ("default", "variables"):
            yield _problem(job, "inherit", f"it has no key {name}")
        elif name == "default" and not (is_null(tree) or is_boolean(tree) or is_text_list(tree)):
            yield _problem(job, "inherit", "its default is neither true or false nor a list")
        elif name == "default":
            for item in texts_in(tree):
                if item.value not in DEFAULTABLE:
                    hint = did_you_mean(str(item.value), DEFAULTABLE)
                    yield _problem(job, "inherit", f'default has no "{item.value}"{hint}')


def _start(when: Mapping[str, object]) -> dict[str, object]:
    """A start_in that is right for `when`, so that another key can be judged."""
    return {"start_in": "1 minute"} if when.get("when") == "delayed" else {}


def _alone(job: Tree, key: str, others: Mapping[str, object]) -> Iterator[Problem]:
    if job.get(key) is None and not (key == "start_in" and others.get("when") == "delayed"):
        return
    reason = _refusal({**others, **_plain(job, key)})
    if reason is not None:
        yield _problem(job, key, reason)


def _plain(job: Tree, key: str) -> dict[str, object]:
    tree = job.get(key)
    return {} if tree is None else {key: ruby_plain(tree)}


def _refusal(job: Mapping[str, object]) -> str | None:
    try:
        decide(job)
    except RuleError as error:
        return f'GitLab says "{error}"'
    return None


def _problem(job: Tree, key: str, reason: str) -> Problem:
    tree = job.get(key)
    value = shown(tree) if tree is not None else "nothing"
    return Problem(
        code="PIP131",
        line=(tree or job.get("when") or job).line,
        key=key,
        message=f"{key} cannot be {value} here: {reason}",
        fix=_FIXES[key],
    )


_FIXES = {
    "when": "write on_success, on_failure, always, manual, or delayed with start_in",
    "start_in": 'write it with when: delayed only, and as a text of at most "1 week"',
    "allow_failure": "write true or false, or exit_codes with whole numbers",
    "inherit": "write default and variables as true, false or a list of names",
    "only": "put the condition into rules",
    "except": "put the condition into rules",
}


def check_rules(tree: Tree, key: str) -> Iterator[Problem]:
    """The rules of a job."""
    if is_null(tree):
        return
    if reason := _rules_refusal(ruby_plain(tree), key):
        found = list(_rules(tree, key, _MAX_LEVELS))
        yield from found or [_rule_problem(tree, key, reason)]


def _rules(tree: Tree, key: str, levels: int) -> Iterator[Problem]:
    if not isinstance(tree.value, list) or not levels:
        return
    for index, rule in enumerate(tree.value):
        place = f"{key}[{index}]"
        if isinstance(rule.value, list):
            yield from _rules(rule, place, levels - 1)
        elif reason := _rules_refusal([ruby_plain(rule)], key):
            yield _culprit(rule, place, key, reason)


def _culprit(rule: Tree, place: str, key: str, reason: RuleError) -> Problem:
    """The problem at the one key without which the rule would be valid, if there is one."""
    for name, tree in rule.items():
        rest = {other: ruby_plain(value) for other, value in rule.items() if other != name}
        if _rules_refusal([rest or {"when": "always"}], key) is None:
            return _rule_problem(tree, f"{place}.{name}", reason)
    return _rule_problem(rule, place, reason)


def _rules_refusal(rules: object, key: str) -> RuleError | None:
    try:
        if key.startswith("workflow"):
            decide_workflow(rules)
        else:
            decide({"rules": rules})
    except RuleError as error:
        return error
    return None


def _rule_problem(tree: Tree, key: str, reason: RuleError) -> Problem:
    if isinstance(reason, RuleSyntaxError):
        near = reason.expression[reason.position :][:40]
        where = f', at "{near}"' if near else ", at its end"
        message = f"the condition {shown(tree)} cannot be read{where}: {reason.reason}"
        fix = reason.hint or 'write such as $NAME == "text" && $OTHER =~ /regex/'
    elif key.endswith(".if"):
        message, fix = f"a condition is a text, and this is {shown(tree)}", "put it in quotes"
    else:
        known = (WORKFLOW_RULES if key.startswith("workflow") else JOB_RULES).keys
        name = key.rpartition(".")[2]
        hint = did_you_mean(name, known) if "unknown keys" in str(reason) else ""
        said = re.sub(r" \(rule \d+\)$", "", str(reason))  # counted from the rule itself here
        message = f'{shown(tree)} cannot stand here: GitLab says "{said}"{hint}'
        fix = "correct or remove it"
    return Problem(code="RUL101", line=tree.line, key=key, message=message, fix=fix)
