"""Variables by which jobs ask the runner for their pod, as far as any runner would refuse them.

What one runner permits is another question, which needs its configuration. GitLab Runner:
executors/kubernetes/overwrites.go; Kubernetes refuses a request above its limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gpu_pipeline.checks.child.model import Child, Findings, Problem
from gpu_pipeline.checks.child.shapes import items_of
from gpu_pipeline.checks.child.variables import variable_text
from gpu_pipeline.ci_file import Tree
from gpu_pipeline.ci_jobs import resolved_at, rules_in
from gpu_pipeline.cluster.runner_keys import (
    RESOURCE_KEYS,
    SERVICE,
    Kind,
    instead_of,
    is_for_the_runner,
    permission_for,
)
from gpu_pipeline.quantity import QuantityError, parse_quantity

_PAIRS = [
    (f"KUBERNETES_{key.upper()}", f"KUBERNETES_{key.removesuffix('_request').upper()}_LIMIT")
    for key in RESOURCE_KEYS
    if key.endswith("_request")
]


def check_runner_variables(child: Child, findings: Findings) -> None:
    """Look at the file's own variables and at those of each job and of its services.

    A job's own replace the file's.
    """
    shared = _for_the_runner(resolved_at(child.file, "variables"))
    findings.add_all(_check_each(shared, "variables"))
    for job in child.visible:
        own = _for_the_runner(job.tree.get("variables"))
        if own:
            findings.add_all(_check_each(own, "variables"), job.name)
        findings.add_all(_check_pairs({**shared, **own}, "variables"), job.name)
        for index, rule in enumerate(rules_in(job.tree.get("rules"))):
            key, set_here = f"rules[{index}].variables", _for_the_runner(rule.get("variables"))
            findings.add_all(_check_each(set_here, key), job.name)
            pairs = _check_pairs({**shared, **own, **set_here}, key, within=set_here)
            findings.add_all(pairs, job.name)
        for index, service in enumerate(items_of(job.tree.get("services"))):
            key, own = f"services[{index}].variables", _for_the_runner(service.get("variables"))
            of_service = {name: own[name] for name in own if name.startswith(SERVICE)}
            findings.add_all(_check_unread(own.keys() - of_service.keys(), own, key), job.name)
            findings.add_all(_check_each(of_service, key), job.name)
            findings.add_all(_check_pairs(of_service, key), job.name)


def _for_the_runner(block: Tree | None) -> dict[str, Tree]:
    return {
        name: tree for name, tree in (block.items() if block else ()) if is_for_the_runner(name)
    }


def _check_unread(
    names: Collection[str], variables: Mapping[str, Tree], key: str
) -> Iterator[Problem]:
    """Variables of a service: the runner reads those for services there and no others."""
    for name in sorted(names):
        better = name.replace("KUBERNETES_", SERVICE, 1)
        hint = f"; did you mean {better}?" if permission_for(better) else ""
        yield Problem(
            code="RUN123",
            line=variables[name].line,
            key=f"{key}.{name}",
            message=f"no runner reads {name} of a service{hint}",
            fix=f"use {SERVICE}…, or set it for the job",
        )


def _check_each(variables: Mapping[str, Tree], key: str) -> Iterator[Problem]:
    for name, tree in variables.items():
        permission, text = permission_for(name), variable_text(name, tree)
        if permission is None:
            yield Problem(
                code="RUN123",
                line=tree.line,
                key=f"{key}.{name}",
                message=f"no runner reads {name}{instead_of(name)}",
                fix="correct the name, or remove it",
            )
        elif text is None or "$" in text:  # refused elsewhere, or known in the job only
            continue
        elif permission.kind is Kind.MAXIMUM and text:
            yield from _check_quantity(name, tree, text, key)
        elif permission.kind is Kind.PAIR and "=" not in text:
            yield _refused(
                name, tree, f'"{text}" is not label=value, and the runner fails the job', key
            )


def _check_quantity(name: str, tree: Tree, text: str, key: str) -> Iterator[Problem]:
    try:
        amount = parse_quantity(text)
    except QuantityError as error:
        yield _refused(name, tree, f"the runner fails the job: {error}", key)
        return
    if amount < 0:
        yield _refused(name, tree, f'"{text}" is below 0, and Kubernetes refuses the pod', key)


def _check_pairs(
    variables: Mapping[str, Tree], key: str, *, within: Collection[str] | None = None
) -> Iterator[Problem]:
    """Requests above limits of the same container; `within` are the names that stand at `key`."""
    for request, limit in _PAIRS:
        if request not in variables or limit not in variables:
            continue
        place = next((name for name in (request, limit) if within is None or name in within), None)
        texts = [variable_text(name, variables[name]) for name in (request, limit)]
        if place is None or not all(texts):
            continue
        try:
            asked, most = (parse_quantity(text or "") for text in texts)
        except QuantityError:  # said already, or known in the job only
            continue
        if asked > most:
            message = (
                f'Kubernetes refuses the pod: {request} "{texts[0]}" is above {limit} "{texts[1]}"'
            )
            yield _refused(place, variables[place], message, key)


def _refused(name: str, tree: Tree, message: str, key: str) -> Problem:
    return Problem(
        code="PIP159",
        line=tree.line,
        key=f"{key}.{name}",
        message=message,
        fix=f"correct {name}",
    )
