"""CI/CD variables: those that the routing captures, and those that would override the child's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_pipeline.gitlab.checkups.line import Case, Line, ask, error, ok, warning
from gpu_pipeline.names import OWN_VARIABLES, TRAIN_VALIDATE

_PLACE = "Settings → CI/CD → Variables"
# Names that the child sets. A project or group variable of that name has precedence over the
# variables of a job and of a pipeline file (doc/ci/variables: precedence).
_CHILDS_OWN = re.compile(rf"KUBERNETES_\w+|{'|'.join(OWN_VARIABLES)}|{TRAIN_VALIDATE}")


def check_variables(case: Case) -> list[Line]:
    """Each captured variable has a value, and none of the child's own is overridden."""
    project, lines = _listed(case)
    pipeline = case.routed.routing.pipeline
    for name in (pipeline.capture or ()) if pipeline else ():
        if name != TRAIN_VALIDATE:  # the schedule sets it
            lines.append(_captured(case, name, project))
    overriding = [each["key"] for each in project or () if _CHILDS_OWN.fullmatch(each["key"])]
    if overriding:
        lines.append(
            error(
                "overriding variables",
                f"{', '.join(overriding)}: a project or group variable overrides what the child "
                "sets, in every job",
                f"delete it ({_PLACE})",
            )
        )
    return lines


def _listed(case: Case) -> tuple[list[Mapping[str, Any]] | None, list[Line]]:
    """The variables of the project and its group, None if the token may read neither.

    A group's can be read only by its owner, which is no fault of the project.
    """
    project = case.connection.project
    own = ask(
        case.connection,
        "CI/CD variables",
        "Maintainer",
        lambda: project.variables.list(get_all=True),
    )
    if isinstance(own, Line):
        return None, [own]
    namespace = case.project.attributes.get("namespace") or {}
    if namespace.get("kind") != "group":
        return [each.attributes for each in own], []
    group = case.connection.client.groups.get(namespace["id"], lazy=True)
    inherited = ask(
        case.connection, "group variables", "Owner", lambda: group.variables.list(get_all=True)
    )
    above = [] if isinstance(inherited, Line) else inherited
    return [each.attributes for each in (*own, *above)], []


def _captured(case: Case, name: str, project: Sequence[Mapping[str, Any]] | None) -> Line:
    subject = f"variable {name}"
    found = [each for each in project or () if each["key"] == name]
    if found:
        return _judge(case, subject, found)
    declared = case.parent.root.get("variables", name)
    if declared is None:
        if project is None:
            return warning(subject, "it cannot be seen whether it is set", "look at " + _PLACE)
        return error(
            subject,
            "is set nowhere: not in the project, nor in the parent pipeline's `variables`",
            f"set it ({_PLACE}); a group's variables show only to the owner of the group",
        )
    value = declared.plain()
    text = str(value.get("value", "") if isinstance(value, dict) else value)
    if "CI_REGISTRY_IMAGE" in text and _registry_off(case):
        return error(
            subject,
            f"is {text} in the parent pipeline, but the project's container registry is off",
            f"turn the registry on (Settings → General), or set {name} ({_PLACE})",
        )
    return ok(subject, f"is {text or 'empty'} in the parent pipeline")


def _registry_off(case: Case) -> bool:
    facts = case.project.attributes
    return (
        facts.get("container_registry_access_level") == "disabled"
        or facts.get("container_registry_enabled") is False
    )


def _judge(case: Case, subject: str, found: Sequence[Mapping[str, Any]]) -> Line:
    """Values are never shown: a variable may be a secret."""
    everywhere = [each for each in found if each.get("environment_scope", "*") == "*"]
    if not everywhere:
        return warning(
            subject,
            "is set for some environments only, and the training jobs have none",
            f"set it for all environments ({_PLACE})",
        )
    first = everywhere[0]
    if first.get("protected") and case.protected is False:
        return error(
            subject,
            f"is protected, and {case.ref} is not: jobs there do not get it",
            f"protect the branch, or unprotect the variable ({_PLACE})",
        )
    if first.get("value") == "":
        return error(subject, "is empty", f"give it a value ({_PLACE})")
    return ok(subject, "is set in the project or its group")
