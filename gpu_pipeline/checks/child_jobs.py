"""The jobs of a child file, as far as a runner and its nodes see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from gpu_pipeline.checks.child.shapes import items_of
from gpu_pipeline.checks.child.variables import variable_text
from gpu_pipeline.ci_file import CiFile, Tree
from gpu_pipeline.ci_jobs import CiJob, resolve_ci_jobs, resolved_at, rules_in
from gpu_pipeline.cluster.runner_keys import SERVICE, is_for_the_runner
from gpu_pipeline.durations import DurationError, parse_duration
from gpu_pipeline.jobs import Job, Sourced, Values
from gpu_pipeline.problems import Origin
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.routing_model import Pool

_SELECTOR = "KUBERNETES_NODE_SELECTOR_"
_RESOURCES = ("cpu", "memory", "ephemeral_storage")
_DEFAULT_TIMEOUT = "1h"  # GitLab: a project's timeout unless it is changed
_NO_POOL = Pool(gpu="an unknown GPU", concurrency=1)


def child_jobs(file: CiFile, pools: Mapping[str, Pool]) -> list[Job]:
    """The visible jobs that a runner takes, each in the pool that its node selector leads to.

    `pools` are those of the routing. A job without a selector belongs to the runner's default pool;
    one whose selector no pool has gets a pool named after it, of which nothing else is known.
    """
    shared = dict(_variables(file, resolved_at(file, "variables")))
    return [
        _job(file, job, shared, pools)
        for job in resolve_ci_jobs(file)[0].values()
        if not job.hidden and job.tree.get("trigger") is None
    ]


def _job(
    file: CiFile, job: CiJob, shared: Mapping[str, Sourced[str]], pools: Mapping[str, Pool]
) -> Job:
    variables = dict(shared)
    for rule in rules_in(job.tree.get("rules")):
        variables |= dict(_variables(file, rule.get("variables")))
    variables |= dict(_variables(file, job.tree.get("variables")))
    for service in items_of(job.tree.get("services")):
        for name, size in _variables(file, service.get("variables")):
            if name.startswith(SERVICE) and _is_larger(size, variables.get(name)):
                variables[name] = size
    origin = Origin(file=file.name, line=job.line, key=(job.name,))
    name, pool = _pool(variables, pools)
    values = Values(
        image=None,
        tags=Sourced(value=_texts(job.tree.get("tags")), origin=origin),
        timeout=None,
        epochs=None,
        rules=None,
        requests=_sizes(variables, "REQUEST"),
        limits=_sizes(variables, "LIMIT"),
        variables=variables,
    )
    text = Sourced(value=job.name, origin=origin)
    return Job(
        name=job.name,
        task="",
        family="",
        model=None,
        models=(),
        pool=Sourced(value=name, origin=origin),
        pool_settings=pool,
        pool_origins={},
        base=text,
        stage=text,
        values=values,
        base_values=values,
        epochs=0,
        timeout=_timeout(job.tree.get("timeout")),
        seconds_per_epoch={},
        reason=None,
    )


def _variables(file: CiFile, block: Tree | None) -> Iterator[tuple[str, Sourced[str]]]:
    for name, tree in block.items() if block else ():
        text = variable_text(name, tree) if is_for_the_runner(name) else None
        if text is not None:
            origin = Origin(file=file.name, line=tree.line, key=("variables", name))
            yield name, Sourced(value=text, origin=origin)


def _sizes(variables: Mapping[str, Sourced[str]], side: str) -> dict[str, Sourced[str]]:
    """The build container's requests or limits that are known before the job runs."""
    named = {key: variables.get(f"KUBERNETES_{key.upper()}_{side}") for key in _RESOURCES}
    return {key: size for key, size in named.items() if size and _is_size(size.value)}


def _is_larger(size: Sourced[str], other: Sourced[str] | None) -> bool:
    """Whether a service's own size asks for more than the one that is known so far."""
    if other is None or not (_is_size(size.value) and _is_size(other.value)):
        return other is None
    return parse_quantity(size.value) > parse_quantity(other.value)


def _is_size(text: str) -> bool:
    try:
        return parse_quantity(text) >= 0
    except QuantityError:  # a finding of the file itself
        return False


def _pool(variables: Mapping[str, Sourced[str]], pools: Mapping[str, Pool]) -> tuple[str, Pool]:
    """The pool of a job, without the variables that the routing would give to its jobs."""
    selected = [each.value for name, each in variables.items() if name.startswith(_SELECTOR)]
    for name, pool in pools.items():
        if pool.node_selector in selected if selected else pool.runner_default:
            label = pool.node_selector or pool.label
            bare = {"node_selector": None, "taints": None, "label": label}
            return name, replace(pool, **bare)
    return " and ".join(selected) or "the runner's own nodes", _NO_POOL


def _timeout(tree: Tree | None) -> str:
    text = str(tree.value) if tree else _DEFAULT_TIMEOUT
    try:
        parse_duration(text)
    except DurationError:  # a finding of the file itself
        return _DEFAULT_TIMEOUT
    return text


def _texts(tree: Tree | None) -> tuple[str, ...]:
    items = tree.value if tree and isinstance(tree.value, list) else ()
    return tuple(item.value for item in items if isinstance(item.value, str))
