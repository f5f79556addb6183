"""What of a job decides whether and how it runs, checked as GitLab checks it.

GitLab: lib/gitlab/ci/config/entry/{processable,job,bridge,allow_failure}.rb
"""

from __future__ import annotations

from collections.abc import Mapping

from gpu_pipeline.record import Record
from gpu_pipeline.rules.errors import RuleError
from gpu_pipeline.rules.rule import JOB_RULES, Rule, check_duration, read_rules
from gpu_pipeline.rules.variables import JOB_KEYS, read_variables

AllowFailure = bool | Mapping[str, object]

_WHEN = ("on_success", "on_failure", "always", "manual", "delayed")
_TRIGGER_WHEN = ("on_success", "on_failure", "always", "manual")


class Job(Record):
    """A valid job; `rules` is None when it has none.

    `inherited` names the child's variables that it takes over, None for all of them; `policies`
    says which of `only` and `except` it has.
    """

    when: str
    start_in: str | None
    allow_failure: AllowFailure
    variables: Mapping[str, str]
    inherited: frozenset[str] | None
    rules: tuple[Rule, ...] | None
    policies: tuple[str, ...]

    def inherits(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Those of the child's `variables` that the job takes over."""
        return {
            name: value
            for name, value in variables.items()
            if self.inherited is None or name in self.inherited
        }


def read_job(job: Mapping[str, object]) -> Job:
    """The job as parsed from YAML. Raises RuleError for what GitLab refuses."""
    if not isinstance(job, Mapping):
        raise RuleError("job config should be a hash")
    rules = job.get("rules")
    policies = tuple(key for key in ("only", "except") if job.get(key) is not None)
    if rules is not None:
        clashing = [*policies, *(["start_in"] if job.get("start_in") is not None else [])]
        if clashing:
            raise RuleError(f"config key may not be used with `rules`: {', '.join(clashing)}")
    is_trigger = "trigger" in job
    when = _when(job.get("when"), _TRIGGER_WHEN if is_trigger else _WHEN)
    return Job(
        when=when,
        start_in=_start_in(job, when, is_trigger),
        allow_failure=_allow_failure(job.get("allow_failure"), when, is_trigger),
        variables=read_variables(job.get("variables"), where="variables", keys=JOB_KEYS),
        inherited=_inherited(job.get("inherit")),
        rules=None if rules is None else read_rules(rules, JOB_RULES),
        policies=policies,
    )


def _when(value: object, allowed: tuple[str, ...]) -> str:
    if value is None:
        return "on_success"
    if not isinstance(value, str):
        raise RuleError("when should be a string")
    if value not in allowed:
        raise RuleError(f"when should be one of: {', '.join(allowed)}")
    return value


def _start_in(job: Mapping[str, object], when: str, is_trigger: bool) -> str | None:
    if is_trigger and "start_in" in job:
        raise RuleError("config contains unknown keys: start_in")
    value = job.get("start_in")
    if when == "delayed":
        return check_duration(value, "start in")
    if value not in (None, ""):
        raise RuleError("start in must be blank")
    return None


def _allow_failure(value: object, when: str, is_trigger: bool) -> AllowFailure:
    if value is None:
        return when == "manual"
    if isinstance(value, bool):
        return value
    if is_trigger:
        raise RuleError("allow failure should be a boolean value")
    if not isinstance(value, Mapping):
        raise RuleError("allow failure should be a hash or a boolean value")
    if unknown := [str(key) for key in value if key != "exit_codes"]:
        raise RuleError(f"allow_failure config contains unknown keys: {', '.join(unknown)}")
    return {"exit_codes": _exit_codes(value.get("exit_codes"))}


def _exit_codes(value: object) -> list[int]:
    codes = value if isinstance(value, list) else [] if value is None else [value]
    numbers = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    if len(numbers) < len(codes):
        raise RuleError("allow_failure exit codes should be an array of integers or an integer")
    return numbers


def _inherited(inherit: object) -> frozenset[str] | None:
    if not isinstance(inherit, Mapping | None):
        raise RuleError("inherit config should be a hash")
    variables = inherit.get("variables") if inherit else None
    if variables is None or variables is True:
        return None
    if variables is False:
        return frozenset()
    if not isinstance(variables, list) or not all(isinstance(name, str) for name in variables):
        raise RuleError("inherit:variables config should be a boolean or an array of strings")
    return frozenset(variables)
