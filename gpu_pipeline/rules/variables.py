"""Variables: what YAML makes of them, and which of several definitions a rule sees.

GitLab: lib/gitlab/ci/config/entry/variable.rb, lib/gitlab/ci/variables/builder.rb
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from gpu_pipeline.record import Record
from gpu_pipeline.rules.errors import RuleError

ROOT_KEYS = frozenset(("value", "expand", "description", "options"))
JOB_KEYS = frozenset(("value", "expand"))
# In a rule a variable may not be written as a mapping at all.
RULE_KEYS: frozenset[str] = frozenset()


class Origin(enum.StrEnum):
    """Where a variable that a rule reads was defined."""

    PIPELINE = "pipeline variable"
    JOB = "job variable"
    CHILD = "child variable"
    PREDEFINED = "predefined"
    UNDEFINED = "undefined"


class Scope(Record):
    """The variables that rules see. A name without an origin is undefined."""

    values: Mapping[str, str]
    origins: Mapping[str, Origin]

    def origin(self, name: str) -> Origin:
        return self.origins.get(name, Origin.UNDEFINED)


def scope_of(
    *,
    predefined: Mapping[str, str],
    child: Mapping[str, str],
    job: Mapping[str, str],
    pipeline: Mapping[str, str],
) -> Scope:
    """Merges the definitions; the child's YAML cannot override `GITLAB_USER_*`."""
    user = {name: value for name, value in predefined.items() if name.startswith("GITLAB_USER_")}
    values: dict[str, str] = {}
    origins: dict[str, Origin] = {}
    for origin, layer in (
        (Origin.PREDEFINED, predefined),
        (Origin.CHILD, child),
        (Origin.JOB, job),
        (Origin.PREDEFINED, user),
        (Origin.PIPELINE, pipeline),
    ):
        values.update(layer)
        origins.update(dict.fromkeys(layer, origin))
    return Scope(values=values, origins=origins)


def read_variables(block: object, *, where: str, keys: frozenset[str]) -> dict[str, str]:
    """The texts that GitLab makes of a `variables:` block, None for an absent one.

    `where` is how GitLab names the block, `keys` what a variable that is a mapping may have.
    Raises RuleError for what GitLab refuses.
    """
    if block is None:
        return {}
    if not isinstance(block, Mapping):
        raise RuleError(f"{where} config should be a hash")
    variables = {}
    for name, definition in block.items():
        place = f"{where}:{str(name).lower()}"
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise RuleError(f"{place} key must be an alphanumeric string")
        if isinstance(definition, Mapping):
            _check_mapping(definition, place=place, keys=keys)
            variables[str(name)] = _text(definition.get("value"))
        else:
            variables[str(name)] = _text(definition)
    return variables


def _check_mapping(
    definition: Mapping[object, object], *, place: str, keys: frozenset[str]
) -> None:
    if not keys:
        raise RuleError(f"{place} config must be a string")
    if unknown := [str(key) for key in definition if key not in keys]:
        raise RuleError(f"{place} config uses invalid data keys: {', '.join(unknown)}")
    if not isinstance(definition.get("expand"), bool | None):
        raise RuleError(f"{place} config expand should be a boolean value")
    options = definition.get("options")
    if options is None:
        return
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise RuleError(f"{place} config options should be an array of strings")
    if options and definition.get("value") not in options:
        raise RuleError(f"{place} config value must be present in options")


def _text(value: object) -> str:
    """Ruby's text for a YAML scalar."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int():
            return str(value)
        case float():
            return _float_text(value)
        case _:
            raise RuleError("variable definition must be either a string or a hash")


def _float_text(value: float) -> str:
    """Ruby prints as Python does, but for infinity, and for the mantissa in `1.0e-05`."""
    mantissa, exponent, power = repr(value).partition("e")
    if exponent and "." not in mantissa:
        mantissa += ".0"
    return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(
        mantissa, mantissa + exponent + power
    )
