"""Rules and needs of a child file, also one written by hand, each at the line where it stands."""

from __future__ import annotations

from collections.abc import Mapping

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.needs import Need, check_needs
from gpu_pipeline.checks.rules import RulesToCheck, check_rules, check_values
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import CiJob, resolve_ci_jobs, resolved_at
from gpu_pipeline.context import Context
from gpu_pipeline.outcomes import Outcome
from gpu_pipeline.rules import Decision, RuleError, decide


def check_child_rules(file: CiFile, context: Context) -> list[Finding]:
    """Findings about rules and needs; `context` is the parent that the file is meant for."""
    jobs = {name: job for name, job in resolve_ci_jobs(file)[0].items() if not job.hidden}
    root = _texts(resolved_at(file, "variables"))
    found: set[Finding] = set()
    decisions: dict[str, Decision] = {}
    for name, job in jobs.items():
        found |= set(_rules_of(file, job, root))
        try:
            decisions[name] = decide(
                _mapping(job.tree), global_variables=root, predefined=context.predefined_in_child
            )
        except RuleError as error:
            found |= _refusal(file, job, error)
    if len(decisions) == len(jobs):
        needs = {name: _needs(file, job) for name, job in jobs.items()}
        outcome = Outcome(context=context, decisions=decisions)
        found |= set(check_needs(needs, [outcome]))
    return sorted(found, key=lambda each: each.sort_key)


def _rules_of(file: CiFile, job: CiJob, root: Mapping[str, str | None]) -> list[Finding]:
    rules = _flat(job.tree.get("rules"))
    own = _texts(job.tree.get("variables"))
    places = tuple(
        Place(file=file.name, line=rule.line, job=job.name, key=f"rules[{i}]")
        for i, rule in enumerate(rules)
    )
    settled = job.tree.get("allow_failure") or job.tree.get("when")
    subject = RulesToCheck(
        job=job.name,
        rules=tuple(_mapping(rule) for rule in rules),
        places=places,
        defined={**root, **own},
        says_allow_failure=settled is not None,
    )
    conditions = {
        str(condition.value): place
        for rule, place in zip(rules, places, strict=True)
        if (condition := rule.get("if")) and isinstance(condition.value, str)
    }
    known = {name: value for name, value in {**root, **own}.items() if value is not None}
    return [*check_rules(subject), *check_values(conditions, known)]


def _refusal(file: CiFile, job: CiJob, error: RuleError) -> set[Finding]:
    """A rule that GitLab refuses; one with a bad expression was reported with its line already."""
    message = str(error).split("\n", maxsplit=1)[0]
    if "invalid expression syntax" in message:
        return set()
    rules = job.tree.get("rules")
    place = Place(file=file.name, line=rules.line if rules else job.line, job=job.name, key="rules")
    return {finding("RUL101", place, message, fix="GitLab refuses the whole pipeline until then")}


def _needs(file: CiFile, job: CiJob) -> list[Need]:
    needs = job.tree.get("needs")
    found = []
    for item in needs.value if needs and isinstance(needs.value, list) else []:
        name, optional = item.get("job") or item, item.get("optional")
        if isinstance(name.value, str) and item.get("pipeline") is None:
            place = Place(file=file.name, line=item.line, job=job.name, key="needs")
            is_optional = optional is not None and optional.value is True
            found.append(Need(name=name.value, optional=is_optional, place=place))
    return found


def _flat(tree: Tree | None) -> list[Tree]:
    """The rules of a list, those of nested lists included."""
    if tree is None or not isinstance(tree.value, list):
        return []
    return [
        rule
        for item in tree.value
        for rule in (_flat(item) if isinstance(item.value, list) else [item])
    ]


def _mapping(tree: Tree) -> Mapping[str, object]:
    value = tree.plain()
    return value if isinstance(value, dict) else {}


def _texts(tree: Tree | None) -> dict[str, str]:
    """The values of a `variables` block as texts."""
    found = {}
    for name, item in tree.items() if tree else ():
        value = item.get("value") or item
        found[name] = "" if value.value is None else str(value.value)
    return found
