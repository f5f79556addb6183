"""What rules decide in a child file, also one written by hand, each at the line where it stands.

What can be said without deciding anything, such as a rule that GitLab cannot read or a need of a
job that does not exist, is said by `check_child`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec.structs import replace

from gpu_pipeline.checks.child.needs import needs_in
from gpu_pipeline.checks.child.parallel import expanded_names
from gpu_pipeline.checks.child.variables import variable_text
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.needs import Need, check_needs
from gpu_pipeline.checks.rules import RulesToCheck, check_rules, check_values
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import CiJob, resolve_ci_jobs, resolved_at, rules_in
from gpu_pipeline.context import Context
from gpu_pipeline.outcomes import Outcome
from gpu_pipeline.rules import Decision, RuleError, decide, decide_workflow


def check_child_rules(
    file: CiFile, context: Context, *, capture: Collection[str] = ()
) -> list[Finding]:
    """Findings about rules and needs; `context` is the parent that the file is meant for.

    `capture` are variables that a generated child has when its parent has them.
    """
    jobs = {name: job for name, job in resolve_ci_jobs(file)[0].items() if not job.hidden}
    root = _texts(resolved_at(file, "variables"))
    workflow = resolved_at(file, "workflow", "rules")
    known = {**dict.fromkeys(capture), **_set_by(workflow), **root}
    # A file that is included may define anything.
    is_whole = file.root.get("include") is None
    found = [] if workflow is None else _rules_of(file, "", workflow, root, is_settled=True)
    for job in jobs.values():
        rules = job.tree.get("rules")
        own = {**known, **_texts(job.tree.get("variables"))}
        found += _rules_of(file, job.name, rules, own, is_settled=_settles(job)) if rules else []
    found += _needs_findings(file, jobs, workflow, root, context)
    return _each_once(each for each in found if is_whole or each.code != "RUL105")


def _rules_of(
    file: CiFile, job: str, tree: Tree, known: Mapping[str, str | None], *, is_settled: bool
) -> list[Finding]:
    rules = [rule for rule in rules_in(tree) if isinstance(rule.value, dict)]
    prefix = "rules" if job else "workflow.rules"
    places = tuple(
        Place(file=file.name, line=rule.line, job=job, key=f"{prefix}[{i}]")
        for i, rule in enumerate(rules)
    )
    subject = RulesToCheck(
        job=job,
        rules=tuple(_mapping(rule) for rule in rules),
        places=places,
        defined=known,
        says_allow_failure=is_settled,
    )
    found = [each for each in check_rules(subject) if each.code != "RUL101"]
    conditions = {
        text: place
        for rule, place in zip(rules, places, strict=True)
        if isinstance(text := rule.plain_at("if"), str)
    }
    values = {name: value for name, value in known.items() if value is not None}
    return [*found, *check_values(conditions, values)]


def _settles(job: CiJob) -> bool:
    """Whether the job itself says if it may fail, which a manual rule then leaves as it is."""
    return job.tree.get("allow_failure") is not None or job.tree.plain_at("when") == "manual"


def _needs_findings(
    file: CiFile,
    jobs: Mapping[str, CiJob],
    workflow: Tree | None,
    root: Mapping[str, str],
    context: Context,
) -> list[Finding]:
    """Needs of jobs that are left out or manual; nothing while GitLab refuses some rule."""
    predefined = context.predefined_in_child
    try:
        admitted = decide_workflow(
            workflow.plain() if workflow else None, global_variables=root, predefined=predefined
        )
        decisions = {
            name: decide(
                _mapping(job.tree), global_variables=admitted.variables, predefined=predefined
            )
            for name, job in jobs.items()
        }
    except RuleError:
        return []
    if not admitted:
        return []
    made = {made: name for name, job in jobs.items() for made in expanded_names(job)}
    needs = {name: _needs(file, job, decisions[name], made) for name, job in jobs.items()}
    return list(check_needs(needs, [Outcome(context=context, decisions=decisions)]))


def _needs(file: CiFile, job: CiJob, decision: Decision, made: Mapping[str, str]) -> list[Need]:
    """What a job needs; the needs of the rule that decided replace its own.

    `made` has the job of each name that `parallel` makes, and which runs when that job does.
    """
    tree, key = job.tree.get("needs"), "needs"
    if decision.rule is not None and (rules := job.tree.get("rules")):
        own = rules_in(rules)[decision.rule].get("needs")
        if own is not None:
            tree, key = own, f"rules[{decision.rule}].needs"
    return [
        Need(
            name=made.get(need.name, need.name),
            optional=need.optional,
            place=Place(file=file.name, line=need.line, job=job.name, key=need.key),
        )
        for need in needs_in(tree, key)
    ]


def _each_once(found: Iterable[Finding]) -> list[Finding]:
    """The findings in order; one that jobs inherit is said for the first of them, with a number."""
    groups: dict[tuple[str, int, str], list[Finding]] = {}
    for each in found:
        groups.setdefault((each.code, each.place.line, each.message), []).append(each)
    counted = []
    for first, *others in groups.values():
        number = len({each.place.job for each in others} - {first.place.job})
        tail = f" ({number} more {'job has' if number == 1 else 'jobs have'} it too)"
        message = first.message + (tail if number else "")
        counted.append(replace(first, message=message))
    return sorted(counted, key=lambda each: each.sort_key)


def _mapping(tree: Tree) -> Mapping[str, object]:
    value = tree.plain()
    return value if isinstance(value, dict) else {}


def _set_by(rules: Tree | None) -> dict[str, None]:
    """The variables that rules of `workflow` may set for all jobs."""
    blocks = [rule.get("variables") for rule in rules_in(rules)]
    return {name: None for block in blocks if block for name, _ in block.items()}


def _texts(tree: Tree | None) -> dict[str, str]:
    """The values of a `variables` block as texts."""
    found = {}
    for name, item in tree.items() if tree else ():
        found[name] = variable_text(name, item) or ""
    return found
