"""Whether the parent pipeline triggers the child exactly when it has jobs, and passes nothing on.

The parent's own rules are evaluated under the same kinds of pipeline as the child's, and the two
results are held against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.child.keys_flow import check_rules
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.parent.forwarding import check_forwarding, check_self_references
from gpu_pipeline.checks.parent.jobs import Trigger, check_trigger_jobs, find_triggers
from gpu_pipeline.checks.parent.needs import check_needed_jobs
from gpu_pipeline.child import Child
from gpu_pipeline.ci_file import CiFile
from gpu_pipeline.ci_jobs import CiJob, Fault, resolve_ci_jobs, resolved_at
from gpu_pipeline.context import Context
from gpu_pipeline.outcomes import Mode, Outcome, mode_of
from gpu_pipeline.record import Record
from gpu_pipeline.rules import RuleError, decide, decide_workflow


class _Seen(Record):
    """The parent under one context: its triggers, and the child they would start.

    `modes` says how the triggers that are there, and the jobs that they need, take part.
    """

    context: Context
    triggers: tuple[str, ...]
    modes: Mapping[str, Mode]
    outcome: Outcome

    def waits_for_a_click(self, trigger: Trigger) -> bool:
        """Whether a schedule's jobs would start by themselves if nobody had to start the parent."""
        awaited = {self.modes.get(trigger.job.name), self.modes.get(trigger.generator)}
        return (
            self.context.source == "schedule"
            and Mode.AUTOMATIC in self.outcome.modes.values()
            and not awaited.isdisjoint((Mode.MANUAL, Mode.BLOCKING))
        )


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
    triggers = find_triggers(jobs)
    found = [*_faults(file, faults), *_refused_rules(file, jobs)]
    is_refused = bool(found)
    found += _missing(file, triggers, is_refused=is_refused)
    found += check_trigger_jobs(file, jobs, triggers, output=output)
    found += check_forwarding(file, triggers, child)
    found += check_self_references(file, triggers)
    found += _deadlocks(file, triggers, child)
    found += check_needed_jobs(file, jobs)
    if not is_refused:
        try:
            seen = [_look(file, jobs, triggers, context, outcome) for context in contexts]
            found += _compare(file, triggers, seen)
        except _RefusedError as refused:
            found.append(refused.finding)
    return sorted(found, key=lambda each: each.sort_key)


def _faults(file: CiFile, faults: Sequence[Fault]) -> Iterator[Finding]:
    """What cannot be worked out, unless an included file may have it."""
    for fault in faults:
        if not (fault.missing and file.root.get("include")):
            place = Place(file=file.name, line=fault.line, job=fault.job, key=fault.key)
            yield _unreadable(place, fault.message)


def _missing(file: CiFile, triggers: Sequence[Trigger], *, is_refused: bool) -> Iterator[Finding]:
    """Included files, which are not looked at; or that nothing triggers a child."""
    include = file.root.get("include")
    if include:
        yield finding(
            "PAR115",
            Place(file=file.name, line=include.line, key="include"),
            "what the included files add or change is not known here",
            fix="check the merged file instead, which GitLab's pipeline editor shows",
        )
    elif not triggers and not is_refused:
        yield finding(
            "PAR102",
            Place(file=file.name),
            "no job has trigger:include with an artifact",
            fix="add a job whose trigger includes the generated file and names its job",
        )


def _refused_rules(file: CiFile, jobs: Mapping[str, CiJob]) -> Iterator[Finding]:
    """Rules that GitLab cannot read, of any job; those that several inherit are named once."""
    lists = {"": resolved_at(file, "workflow", "rules")}
    lists |= {name: job.tree.get("rules") for name, job in jobs.items() if not job.hidden}
    seen: set[tuple[int, str]] = set()
    for name, rules in lists.items():
        for problem in check_rules(rules, "rules" if name else "workflow.rules") if rules else ():
            if (problem.line, problem.message) not in seen:
                seen.add((problem.line, problem.message))
                place = Place(file=file.name, line=problem.line, job=name, key=problem.key)
                yield _unreadable(place, problem.message, fix=problem.fix)


def _unreadable(place: Place, message: str, *, fix: str = "correct it") -> Finding:
    return finding("PAR101", place, message, fix=f"{fix}; until then GitLab refuses the whole file")


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
        place = Place(file=file.name, line=workflow.line if workflow else 0, key="workflow")
        raise _RefusedError(_unreadable(place, str(error))) from None
    there: dict[str, Mode] = {}
    variables = dict(context.variables)
    for name in dict.fromkeys([*(t.job.name for t in triggers), *(t.generator for t in triggers)]):
        if name not in jobs or not admitted:
            continue
        try:
            decision = decide(
                _mapping(jobs[name].tree.plain()), global_variables=admitted.variables, **given
            )
        except RuleError as error:
            place = Place(file=file.name, line=jobs[name].line, job=name)
            raise _RefusedError(_unreadable(place, str(error))) from None
        if decision.included:
            there[name] = mode_of(decision)
        if any(name == trigger.generator for trigger in triggers):
            variables = {**decision.variables, **context.variables}
    return _Seen(
        context=context,
        triggers=tuple(t.job.name for t in triggers if t.job.name in there),
        modes=there,
        outcome=outcome(replace(context, variables=variables)),
    )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _compare(file: CiFile, triggers: Sequence[Trigger], seen: Sequence[_Seen]) -> Iterator[Finding]:
    for trigger in {trigger.job.name: trigger for trigger in triggers}.values():
        yield from _compare_one(file, trigger, [s for s in seen if trigger.job.name in s.triggers])
    forgotten = [
        each.context.name
        for each in seen
        if triggers and not each.triggers and not each.outcome.is_empty
    ]
    if forgotten and file.root.get("include") is None:
        yield finding(
            "PAR104", Place(file=file.name),
            f"jobs of the child would run, but no trigger job exists: {', '.join(forgotten)}",
            fix="add a rule to a trigger job, or take the child's rule away",
        )  # fmt: skip


def _compare_one(file: CiFile, trigger: Trigger, started: Sequence[_Seen]) -> Iterator[Finding]:
    """What goes wrong in the kinds of parent pipeline that have this trigger job."""
    place = Place(file=file.name, line=trigger.job.line, job=trigger.job.name)

    def where(holds: Callable[[_Seen], bool]) -> str:
        return ", ".join(each.context.name for each in started if holds(each))

    if empty := where(lambda each: each.outcome.is_empty):
        yield finding(
            "PAR103", place, f"exists where the child would have no job: {empty}",
            fix="give it the rules under which the child has jobs; see `preview --all`",
        )  # fmt: skip
    orphaned = where(lambda each: trigger.generator not in each.modes)
    if orphaned and trigger.generator_exists:
        yield finding(
            "PAR105", place, f"exists where {trigger.generator} does not: {orphaned}",
            fix=f"give {trigger.generator} the same rules",
        )  # fmt: skip
    manual = where(lambda each: _only_buttons(each.outcome))
    if manual and trigger.strategy == "depend":
        yield finding(
            "PAR109", place,
            f"waits for a child of manual jobs only ({manual}): GitLab reports it as failed, or as "
            "running for ever",
            fix="use a trigger job without strategy for such pipelines, or strategy: mirror "
            "(GitLab 18.2 or newer)",
        )  # fmt: skip
    if clicked := where(lambda each: each.waits_for_a_click(trigger)):
        yield finding(
            "PAR116", place,
            "waits for a click, itself or its generate job, where the child's jobs run by "
            f"themselves: {clicked}",
            fix="let both run by themselves in a schedule, where nobody is there to click",
        )  # fmt: skip


def _deadlocks(file: CiFile, triggers: Sequence[Trigger], child: Child) -> Iterator[Finding]:
    """Groups that a trigger job keeps while it waits for jobs that need them."""
    users = {job.resource_group: job.name for job in reversed(child.jobs)}
    for trigger in triggers:
        group = trigger.job.tree.get("resource_group")
        name = group.value if group else None
        if group and trigger.waits and isinstance(name, str) and name in users:
            yield finding(
                "PAR114",
                Place(file=file.name, line=group.line, job=trigger.job.name, key="resource_group"),
                f"keeps the resource group {name} while it waits for the child, whose job "
                f"{users[name]} waits for that group: neither ever ends",
                fix="give the trigger job a group of its own",
            )


def _only_buttons(outcome: Outcome) -> bool:
    modes = {mode_of(decision) for decision in outcome.decisions.values()} - {Mode.ABSENT}
    return bool(modes) and Mode.AUTOMATIC not in modes
