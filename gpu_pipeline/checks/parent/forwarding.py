"""What a trigger job passes on to the child.

Forwarded variables become pipeline variables of the child, which nothing in the child overrides, so
a `KUBERNETES_…` variable that the parent sets for itself would send every job elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.child.variables import variable_text
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.parent.jobs import Trigger
from gpu_pipeline.child import Child
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import resolved_at, rules_in

_SELF = "a variable that is defined as itself is passed on as literal text, not as its value"


def check_self_references(file: CiFile, triggers: Sequence[Trigger]) -> Iterator[Finding]:
    """Variables of the parent, or of a trigger job, that are defined as themselves."""
    blocks = [("", resolved_at(file, "variables"))]
    blocks += [(trigger.job.name, trigger.job.tree.get("variables")) for trigger in triggers]
    for job, block in blocks:
        for name, tree in _entries(block):
            value = variable_text(name, tree) or ""
            if re.fullmatch(rf"\$\{{?{re.escape(name)}\}}?", value):
                yield finding(
                    "PAR110",
                    Place(file=file.name, line=tree.line, job=job, key=f"variables:{name}"),
                    f"{name} is {value}: {_SELF}",
                    fix="use another name, or let the generator capture it",
                )


def check_forwarding(file: CiFile, triggers: Sequence[Trigger], child: Child) -> Iterator[Finding]:
    """Findings about the variables that reach the child."""
    own = _variables_of(child)
    for trigger in triggers:
        for name, tree, origin in _sent(file, trigger):
            value = variable_text(name, tree) or ""
            place = Place(
                file=file.name, line=tree.line, job=trigger.job.name, key=f"variables:{name}"
            )
            if name in own:
                code = "PAR106" if name.startswith("KUBERNETES_") else "PAR107"
                where, theirs = own[name]
                yield finding(
                    code,
                    place,
                    f'{origin} passes {name} = "{value}" on to the child, where it wins over '
                    f'"{theirs}" of {where}',
                    fix="write inherit: {variables: false} and forward: {yaml_variables: false} in "
                    "the trigger job",
                )
        forward = trigger.job.tree.get("trigger", "forward", "pipeline_variables")
        if forward is not None and forward.value is True and own:
            yield finding(
                "PAR107",
                Place(
                    file=file.name,
                    line=forward.line,
                    job=trigger.job.name,
                    key="trigger:forward:pipeline_variables",
                ),
                "passes on whatever a person or a schedule sets, and it wins over the child's own "
                f"variables, such as {next(iter(own))}",
                fix="write pipeline_variables: false; the generator captures what the child needs",
            )


def _variables_of(child: Child) -> dict[str, tuple[str, str]]:
    """Each variable that the child sets: where, and its value."""
    found: dict[str, tuple[str, str]] = {}
    for job in child.jobs:
        for name, text in job.variables.items():
            found.setdefault(name, (job.name, text))
    for base in child.bases:
        variables = base.settings.get("variables")
        if isinstance(variables, dict):
            for name, value in variables.items():
                found.setdefault(name, (base.name, str(value)))
    for name, value in child.variables.items():
        found.setdefault(name, ("the child", str(value)))
    for name in child.capture:
        found.setdefault(name, ("the child", "what the generator captured"))
    return found


def _sent(file: CiFile, trigger: Trigger) -> Iterator[tuple[str, Tree, str]]:
    """The YAML variables that a trigger job passes on, and who defines them."""
    forward = trigger.job.tree.get("trigger", "forward", "yaml_variables")
    if forward is not None and forward.value is False:
        return
    name = trigger.job.name
    own = {n: (tree, name) for n, tree in _entries(trigger.job.tree.get("variables"))}
    for rule in rules_in(trigger.job.tree.get("rules")):
        own |= {n: (tree, f"a rule of {name}") for n, tree in _entries(rule.get("variables"))}
    inherit = trigger.job.tree.get("inherit", "variables")
    allowed = inherit.plain() if inherit else True
    root = {n: (tree, "the parent") for n, tree in _entries(resolved_at(file, "variables"))}
    for rule in rules_in(resolved_at(file, "workflow", "rules")):
        origin = "a workflow rule of the parent"
        root |= {n: (tree, origin) for n, tree in _entries(rule.get("variables"))}
    inherited = {
        n: sent
        for n, sent in root.items()
        if allowed is True or (isinstance(allowed, list) and n in allowed)
    }
    for sent_name, (tree, origin) in {**inherited, **own}.items():
        yield sent_name, tree, origin


def _entries(tree: Tree | None) -> Iterator[tuple[str, Tree]]:
    yield from tree.items() if tree else ()
