"""Which jobs of a pipeline run under a given parent pipeline, how, and why."""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping

from gpu_pipeline.child import Child, child_variables
from gpu_pipeline.context import Context
from gpu_pipeline.record import Record
from gpu_pipeline.rules import Decision
from gpu_pipeline.rules.many import Decider


class Mode(enum.StrEnum):
    """How a job takes part in a pipeline."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"
    BLOCKING = "manual, blocking"
    ABSENT = "absent"


class Outcome(Record, dict=True):
    """The child pipeline under one kind of parent: what GitLab decides for each job."""

    context: Context
    decisions: Mapping[str, Decision]

    @functools.cached_property
    def modes(self) -> dict[str, Mode]:
        """How each job takes part."""
        return {name: mode_of(decision) for name, decision in self.decisions.items()}

    @property
    def is_empty(self) -> bool:
        """Whether no job is left, so that GitLab would refuse the pipeline."""
        return not any(decision.included for decision in self.decisions.values())


def mode_of(decision: Decision) -> Mode:
    """Automatic covers everything that starts without a click, delayed jobs included."""
    if not decision.included:
        return Mode.ABSENT
    if decision.when != "manual":
        return Mode.AUTOMATIC
    return Mode.MANUAL if decision.allow_failure is True else Mode.BLOCKING


def outcome_of(child: Child, context: Context) -> Outcome:
    """What GitLab would decide for the child if its parent were `context`.

    Raises RuleError for a rule that GitLab refuses.
    """
    variables = child_variables(context, capture=child.capture, fingerprint="")
    bases = {base.name: base.settings for base in child.bases}
    decider = Decider(global_variables=variables, predefined=context.predefined_in_child)
    decisions = {}
    for job in child.jobs:
        base = bases[job.extends]
        decisions[job.name] = decider.decide(
            job.overrides.get("rules", base.get("rules")),
            {**_variables(base.get("variables")), **job.variables},
        )
    return Outcome(context=context, decisions=decisions)


def _variables(block: object) -> Mapping[str, str]:
    return block if isinstance(block, Mapping) else {}
