"""Whether the parent pipeline triggers the child exactly when it has jobs, and passes nothing on.

The parent's own rules are evaluated under the same kinds of pipeline as the child's, and the two
results are held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.forwarding import check_forwarding
from gpu_pipeline.checks.parent_jobs import Trigger, check_jobs, find_triggers
from gpu_pipeline.child import Child
from gpu_pipeline.ci_file import CiFile
from gpu_pipeline.ci_jobs import CiJob, resolve_ci_jobs, resolved_at
from gpu_pipeline.context import Context
from gpu_pipeline.outcomes import Mode, Outcome, mode_of
from gpu_pipeline.rules import RuleError, decide, decide_workflow


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """The parent under one context: which triggers there are, and the child they would start."""

    context: Context
    triggers: tuple[str, ...]
    generators: frozenset[str]
    outcome: Outcome


def check_parent(
    file: CiFile,
    contexts: Sequence[Context],
    child: Child,
    outcome: Callable[[Context], Outcome],
    *,
    output: str,
) -> list[Finding]:
    """Every finding about a parent pipeline.

    `outcome` says what the child does under a context; `child` is any of its renderings and
    `output` the file that the generator writes.
    """
    jobs, faults = resolve_ci_jobs(file)
    found = [
        finding(
            "PAR101", Place(file=file.name, line=fault.line, job=fault.job, key=fault.key),
            fault.message, fix="GitLab refuses the whole file until this is mended",
        )
        for fault in faults
    ]  # fmt: skip
    triggers = find_triggers(jobs)
    if not triggers:
        found.append(
            finding(
                "PAR102",
                Place(file=file.name),
                "no job has trigger:include with an artifact",
                fix="add a job whose trigger includes the generated file and names its job",
            )
        )
    found += check_jobs(file, jobs, triggers, output=output)
    found += check_forwarding(file, triggers, child)
    try:
        seen = [_look(file, jobs, triggers, context, outcome) for context in contexts]
    except _RefusedError as refused:
        return sorted([*found, refused.finding], key=lambda each: each.sort_key)
    found += _compare(file, triggers, seen)
    return sorted(found, key=lambda each: each.sort_key)


class _RefusedError(Exception):
    def __init__(self, refused: Finding) -> None:
        super().__init__(refused.message)
        self.finding = refused


def _look(
    file: CiFile,
    jobs: Mapping[str, CiJob],
    triggers: Sequence[Trigger],
    context: Context,
    outcome: Callable[[Context], Outcome],
) -> _Seen:
    """Evaluate the parent's rules under `context`, and the child's with what would be captured."""
    workflow = resolved_at(file, "workflow")
    rules = workflow.get("rules") if workflow else None
    root = resolved_at(file, "variables")
    given = {
        "pipeline_variables": context.variables,
        "predefined": context.predefined_in_parent,
    }
    try:
        admitted = decide_workflow(
            rules.plain() if rules else None,
            global_variables=_mapping(root.plain() if root else None),
            **given,
        )
    except RuleError as error:
        place = Place(file=file.name, line=workflow.line if workflow else 0, key="workflow:rules")
        raise _RefusedError(_refused(place, error)) from None
    there, variables = [], dict(context.variables)
    for name in dict.fromkeys([*(t.job.name for t in triggers), *(t.generator for t in triggers)]):
        if name not in jobs or not admitted:
            continue
        try:
            decision = decide(
                _mapping(jobs[name].tree.plain()), global_variables=admitted.variables, **given
            )
        except RuleError as error:
            place = Place(file=file.name, line=jobs[name].line, job=name, key="rules")
            raise _RefusedError(_refused(place, error)) from None
        if decision.included:
            there.append(name)
        if any(name == trigger.generator for trigger in triggers):
            variables = {**decision.variables, **context.variables}
    return _Seen(
        context=context,
        triggers=tuple(t.job.name for t in triggers if t.job.name in there),
        generators=frozenset(there),
        outcome=outcome(replace(context, variables=variables)),
    )


def _refused(place: Place, error: RuleError) -> Finding:
    message = " ".join(str(error).split())
    return finding("PAR101", place, message, fix="GitLab refuses the whole file until it is mended")


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _compare(file: CiFile, triggers: Sequence[Trigger], seen: Sequence[_Seen]) -> Iterator[Finding]:
    by_name = {trigger.job.name: trigger for trigger in triggers}
    for name, trigger in by_name.items():
        place = Place(file=file.name, line=trigger.job.line, job=name)
        started = [each for each in seen if name in each.triggers]
        empty = [each.context.name for each in started if each.outcome.is_empty]
        orphaned = [
            each.context.name
            for each in started
            if trigger.generator not in each.generators and trigger.generator_exists
        ]
        manual = [each.context.name for each in started if _only_buttons(each.outcome)]
        if empty:
            yield finding(
                "PAR103", place,
                f"exists where the child would have no job: {', '.join(empty)}",
                fix="give it the rules under which the child has jobs; see `preview --all`",
            )  # fmt: skip
        if orphaned:
            yield finding(
                "PAR105", place,
                f"exists where {trigger.generator} does not: {', '.join(orphaned)}",
                fix=f"give {trigger.generator} the same rules",
            )  # fmt: skip
        if manual and trigger.waits:
            yield finding(
                "PAR109", place,
                f"waits for a child of manual jobs only ({', '.join(manual)}): GitLab reports it "
                "as failed, or as running for ever",
                fix="remove strategy there, or use a trigger job of its own for such pipelines",
            )  # fmt: skip
    forgotten = [
        each.context.name
        for each in seen
        if triggers and not each.triggers and not each.outcome.is_empty
    ]
    if forgotten:
        yield finding(
            "PAR104", Place(file=file.name),
            f"jobs of the child would run, but no trigger job exists: {', '.join(forgotten)}",
            fix="add a rule to a trigger job, or take the child's rule away",
        )  # fmt: skip


def _only_buttons(outcome: Outcome) -> bool:
    modes = {mode_of(decision) for decision in outcome.decisions.values()} - {Mode.ABSENT}
    return bool(modes) and Mode.AUTOMATIC not in modes
