"""Whether a job, or a whole pipeline, runs: the first rule that matches decides.

GitLab: lib/gitlab/ci/build/rules.rb, lib/gitlab/ci/pipeline/seed/build.rb,
lib/gitlab/ci/pipeline/chain/evaluate_workflow_rules.rb
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gpu_pipeline.names import CHILD_SOURCE, PARENT_SOURCE
from gpu_pipeline.record import Record
from gpu_pipeline.rules.errors import RuleSyntaxError
from gpu_pipeline.rules.evaluator import explain_if
from gpu_pipeline.rules.job import AllowFailure, Job, read_job
from gpu_pipeline.rules.rule import JOB_RULES, WORKFLOW_RULES, Dialect, Rule, read_rules
from gpu_pipeline.rules.variables import ROOT_KEYS, Origin, Scope, read_variables, scope_of

_NOTHING: Mapping[str, str] = MappingProxyType({})
_SOURCES_WITHOUT_DIFF = frozenset(("schedule", "web", "api"))


class RuleRead(Record):
    """A variable that a rule's `if` mentions, its value (None: undefined) and its definition."""

    name: str
    value: str | None
    origin: Origin


class RuleResult(Record):
    """How one rule came out. `index` counts from 0, in the flattened list.

    `condition` is the text of `if`, `notes` say what had to be assumed.
    """

    index: int
    matched: bool
    condition: str | None
    reads: tuple[RuleRead, ...]
    notes: tuple[str, ...]


class Decision(Record):
    """What GitLab does with a job.

    `when` is "never" for a job that is left out. `variables` are the YAML variables of the job:
    the child's, overridden by the job's own, overridden by the deciding rule's. `rule` is the index
    of the deciding rule, None if no rule matched or the job has none. `rules` holds the rules that
    were looked at, the deciding one last. `notes` are about the job as a whole.
    """

    included: bool
    when: str
    start_in: str | None
    allow_failure: AllowFailure
    variables: Mapping[str, str]
    rule: int | None
    rules: tuple[RuleResult, ...]
    notes: tuple[str, ...]


class WorkflowDecision(Record):
    """Whether `workflow:rules` lets a pipeline run; true or false itself.

    `variables` are the child's, overridden by the deciding rule's: what its jobs inherit. `rule`
    and `rules` are as in `Decision`.
    """

    included: bool
    variables: Mapping[str, str]
    rule: int | None
    rules: tuple[RuleResult, ...]

    def __bool__(self) -> bool:
        return self.included


def decide(
    job: Mapping[str, object],
    *,
    global_variables: Mapping[str, object] = _NOTHING,
    pipeline_variables: Mapping[str, str] = _NOTHING,
    predefined: Mapping[str, str] = _NOTHING,
) -> Decision:
    """What GitLab does with `job`, a mapping as parsed from YAML, its `extends` resolved.

    `global_variables` is the file's own `variables:` block. A later one of `predefined`,
    `global_variables`, the job's variables and `pipeline_variables` overrides an earlier one, but
    only `pipeline_variables` overrides a predefined `GITLAB_USER_*`.
    Raises RuleError for a job that GitLab refuses, RuleSyntaxError if an `if` is the reason.
    """
    read = read_job(job)
    root = read_variables(global_variables, where="variables", keys=ROOT_KEYS)
    child = read.inherits(root)
    scope = scope_of(
        predefined=predefined, child=child, job=read.variables, pipeline=pipeline_variables
    )
    variables = {**child, **read.variables}
    if read.rules is None:
        return _without_rules(read, variables, predefined)
    match = _first_match(read.rules, JOB_RULES, scope, predefined)
    rule = match.rule
    when = "never" if rule is None else rule.when or read.when
    return Decision(
        included=when != "never",
        when=when,
        start_in=rule.start_in if rule else None,
        allow_failure=_allow_failure(rule, read),
        variables={**variables, **rule.variables} if rule else variables,
        rule=match.index,
        rules=match.results,
        notes=(),
    )


def decide_workflow(
    rules: object,
    *,
    global_variables: Mapping[str, object] = _NOTHING,
    pipeline_variables: Mapping[str, str] = _NOTHING,
    predefined: Mapping[str, str] = _NOTHING,
) -> WorkflowDecision:
    """Whether a pipeline with these `workflow:rules` (None: it has none) runs.

    The variables are those of `decide`; jobs' variables do not exist yet. Raises RuleError.
    """
    root = read_variables(global_variables, where="variables", keys=ROOT_KEYS)
    if rules is None:
        return WorkflowDecision(included=True, variables=root, rule=None, rules=())
    scope = scope_of(predefined=predefined, child=root, job={}, pipeline=pipeline_variables)
    match = _first_match(read_rules(rules, WORKFLOW_RULES), WORKFLOW_RULES, scope, predefined)
    rule = match.rule
    return WorkflowDecision(
        included=rule is not None and rule.when != "never",
        variables={**root, **rule.variables} if rule else root,
        rule=match.index,
        rules=match.results,
    )


def _without_rules(
    job: Job, variables: Mapping[str, str], predefined: Mapping[str, str]
) -> Decision:
    notes = []
    if job.policies:
        notes.append(f"{' and '.join(job.policies)} cannot be evaluated offline: assumed to admit")
    elif "CI_MERGE_REQUEST_IID" in predefined:
        notes.append("left out of a merge request pipeline, unless the file has workflow:rules")
    return Decision(
        included=True,
        when=job.when,
        start_in=job.start_in,
        allow_failure=job.allow_failure,
        variables=variables,
        rule=None,
        rules=(),
        notes=tuple(notes),
    )


def _allow_failure(rule: Rule | None, job: Job) -> AllowFailure:
    if rule is None or rule.allow_failure is None:
        return job.allow_failure
    return rule.allow_failure


class _Match(Record):
    """The rule that decides and its index, None if there is none, and how the rules came out."""

    rule: Rule | None
    index: int | None
    results: tuple[RuleResult, ...]


def _first_match(
    rules: Sequence[Rule], dialect: Dialect, scope: Scope, predefined: Mapping[str, str]
) -> _Match:
    results = []
    for index, rule in enumerate(rules):
        try:
            results.append(_apply(rule, index, scope, has_diff=_has_diff(scope, predefined)))
        except RuleSyntaxError as error:
            raise error.about(f"{dialect.where}:rule if (rule {index + 1})") from None
        if results[-1].matched:
            return _Match(rule=rule, index=index, results=tuple(results))
    return _Match(rule=None, index=None, results=tuple(results))


def _has_diff(scope: Scope, predefined: Mapping[str, str]) -> bool:
    """Whether the pipeline may have one. A child has its parent's, which it knows the source of."""
    source = predefined.get("CI_PIPELINE_SOURCE", "")
    if source == CHILD_SOURCE:
        source = scope.values.get(PARENT_SOURCE, "")
    return source not in _SOURCES_WITHOUT_DIFF and "CI_COMMIT_TAG" not in predefined


def _apply(rule: Rule, index: int, scope: Scope, *, has_diff: bool) -> RuleResult:
    matched = True
    reads: tuple[RuleRead, ...] = ()
    if rule.condition is not None:
        evaluation = explain_if(rule.condition, scope.values)
        matched = evaluation.value
        reads = tuple(
            RuleRead(name=read.name, value=read.value, origin=scope.origin(read.name))
            for read in evaluation.reads
        )
    return RuleResult(
        index=index,
        matched=matched,
        condition=rule.condition,
        reads=reads,
        notes=_assumptions(rule, has_diff=has_diff) if matched else (),
    )


def _assumptions(rule: Rule, *, has_diff: bool) -> tuple[str, ...]:
    notes = []
    if rule.changes and has_diff:
        notes.append("changes cannot be known offline, assumed true")
    elif rule.changes:
        notes.append("changes is true: this kind of pipeline has no diff")
    if rule.exists:
        notes.append("exists cannot be known offline, assumed true")
    return tuple(notes)
