"""Decides everything that the child pipeline contains, before a template gives it its shape.

A family's jobs share one hidden base job, `.BASE`. A base cannot be extended and then lose a
variable again, so a model that is sent to another pool gets a base of its own, `.BASE@POOL`, and a
second family on the same template `.BASE/FAMILY`. A job states only what differs from its base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gpu_pipeline.context import Context
from gpu_pipeline.jobs import Job, Values
from gpu_pipeline.names import EPOCHS, FINGERPRINT, PARENT_SOURCE
from gpu_pipeline.queueing import queue_up
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pipeline, Pool
from gpu_pipeline.yaml_text import Plain

MARKER = "gpu-route"
GPU_NAMES_COMMAND = "nvidia-smi --query-gpu=name --format=csv,noheader"
WRONG_GPU_EXIT_CODE = 78  # EX_CONFIG of sysexits.h; no retry covers it


class HiddenBase(Record):
    """One hidden job; `settings` are its keys as far as the routing decides them.

    `marker` and `guard` are the commands with which a job proves that it landed where it should:
    the marker is its first line of output, the guard stops it on any other GPU.
    """

    name: str
    template: str
    family: str
    pool: str
    gpu: str
    settings: Mapping[str, Plain]
    marker: str
    guard: tuple[str, ...]


class ChildJob(Record):
    """One visible job; `overrides` are the keys in which it differs from its base."""

    name: str
    task: str
    extends: str
    models: tuple[str, ...]
    epochs: int
    timeout: str
    resource_group: str | None
    needs: tuple[str, ...]
    variables: Mapping[str, str]
    overrides: Mapping[str, Plain]


class Notice(Record):
    """The one job of a child that has nothing to run: it prints `lines`, the reason."""

    name: str
    lines: tuple[str, ...]
    settings: Mapping[str, Plain]


class Child(Record):
    """The whole child pipeline: bases and jobs, or a notice instead."""

    name: str
    stages: tuple[str, ...]
    capture: tuple[str, ...]
    variables: Mapping[str, Plain]
    bases: tuple[HiddenBase, ...]
    jobs: tuple[ChildJob, ...]
    notice: Notice | None = None


def plan_child(
    jobs: Sequence[Job], context: Context, *, pipeline: Pipeline, fingerprint: str
) -> Child:
    """The child pipeline of `jobs` under the parent that `context` describes.

    `fingerprint` identifies routing and templates.
    """
    queue = queue_up(jobs, pipeline.queue)
    capture = pipeline.capture or ()
    names = _base_names(jobs)
    ordered = [each.job for each in queue]
    examples = {names[_key(job)]: job for job in ordered}
    bases = {name: _hidden_base(job, name) for name, job in examples.items()}
    return Child(
        name=f"GPU training (parent: {context.source})",
        stages=tuple(dict.fromkeys(job.stage.value for job in ordered)),
        capture=capture,
        variables=child_variables(context, capture=capture, fingerprint=fingerprint),
        bases=tuple(bases.values()),
        jobs=tuple(
            _child_job(each.job, bases[names[_key(each.job)]], each.group) for each in queue
        ),
    )


def child_variables(
    context: Context, *, capture: Sequence[str], fingerprint: str
) -> dict[str, Plain]:
    """The child's own `variables`: what it cannot learn from GitLab about its parent."""
    captured = {name: context.variables[name] for name in capture if name in context.variables}
    return {
        PARENT_SOURCE: context.source,
        **{name: _literal(value) for name, value in captured.items()},
        FINGERPRINT: fingerprint,
    }


def nothing_to_run(child: Child, pipeline: Pipeline, reason: str) -> Child:
    """A child that GitLab accepts although no job is left: one small job that says why."""
    settings: dict[str, Plain] = {
        "stage": child.stages[0],
        "image": "busybox:stable",
        **({"tags": pipeline.tags} if pipeline.tags else {}),
        "variables": {"GIT_STRATEGY": "none"},
    }
    lines = tuple(reason.splitlines())
    notice = Notice(name="nothing-to-run", lines=lines, settings=settings)
    return replace(child, bases=(), jobs=(), notice=notice)


def _key(job: Job) -> tuple[str, str, str]:
    return job.base.value, job.family, job.pool.value


def _base_names(jobs: Sequence[Job]) -> dict[tuple[str, str, str], str]:
    """A name for each base in use; the plain one for the first family's most used pool."""
    uses: dict[tuple[str, str, str], int] = {}
    for job in jobs:
        uses[_key(job)] = uses.get(_key(job), 0) + 1
    first_family: dict[str, str] = {}
    home: dict[tuple[str, str], str] = {}
    for base, family, pool in sorted(uses, key=lambda key: -uses[key]):
        home.setdefault((base, family), pool)
    for base, family, _ in uses:
        first_family.setdefault(base, family)
    return {
        (base, family, pool): f".{base}"
        + (f"/{family}" if family != first_family[base] else "")
        + (f"@{pool}" if pool != home[base, family] else "")
        for base, family, pool in uses
    }


def _literal(value: str) -> Plain:
    """A captured value, kept from being expanded a second time where the job runs."""
    return {"value": value, "expand": False} if "$" in value else value


def _hidden_base(job: Job, name: str) -> HiddenBase:
    variables = _pool_variables(job.pool_settings) | _variables(job.base_values)
    pool, gpu = job.pool.value, job.pool_settings.gpu or ""
    return HiddenBase(
        name=name,
        template=job.base.value,
        family=job.family,
        pool=pool,
        gpu=gpu,
        marker=(
            f"echo \"{MARKER}: family={job.family} pool={pool} gpu='{gpu}' "
            f'epochs=${{{EPOCHS}}} job=${{CI_JOB_NAME}} fingerprint=${{{FINGERPRINT}}}"'
        ),
        guard=(
            f'gpu_names="$({GPU_NAMES_COMMAND})"',
            'gpu_names="$(printf \'%s\\n\' "$gpu_names" | sort -u)"',
            f'if [ "$gpu_names" != \'{gpu}\' ]; then echo "{MARKER}: wrong GPU: found '
            f"'$gpu_names', pool {pool} has '{gpu}'\" >&2; exit {WRONG_GPU_EXIT_CODE}; fi",
        ),
        settings={
            "stage": job.stage.value,
            **_keys(job.base_values),
            **({"variables": variables} if variables else {}),
        },
    )


def runner_variables(job: Job) -> dict[str, str]:
    """All variables that the job and its base set together, as the runner sees them."""
    return _pool_variables(job.pool_settings) | _variables(job.values)


def _pool_variables(pool: Pool) -> dict[str, str]:
    """The runner's overwrite variables that lead a pod to the pool's nodes."""
    selector = {"KUBERNETES_NODE_SELECTOR_POOL": pool.node_selector} if pool.node_selector else {}
    tolerations = {
        f"KUBERNETES_NODE_TOLERATIONS_{n}": taint for n, taint in enumerate(pool.taints or (), 1)
    }
    return selector | tolerations


def _variables(values: Values) -> dict[str, str]:
    resources = {
        f"KUBERNETES_{resource.upper()}_{kind}": quantity.value
        for resource in ("cpu", "memory", "ephemeral_storage")
        for kind, quantities in (("REQUEST", values.requests), ("LIMIT", values.limits))
        for quantity in [quantities.get(resource)]
        if quantity is not None
    }
    return resources | {name: variable.value for name, variable in values.variables.items()}


def _keys(values: Values) -> dict[str, Plain]:
    """The keys of a job, other than variables, that a base and a job can both set."""
    keys: dict[str, Plain] = {}
    if values.image:
        keys["image"] = values.image.value
    if values.tags:
        keys["tags"] = values.tags.value
    if values.rules:
        keys["rules"] = [rule.as_yaml for rule in values.rules.value]
    return keys


def _child_job(job: Job, base: HiddenBase, resource_group: str | None) -> ChildJob:
    inherited = base.settings.get("variables")
    inherited = inherited if isinstance(inherited, Mapping) else {}
    own = _variables(job.values)
    return ChildJob(
        name=job.name,
        task=job.task,
        extends=base.name,
        models=job.models,
        epochs=job.epochs,
        timeout=job.timeout,
        resource_group=resource_group,
        needs=job.needs,
        variables={
            EPOCHS: str(job.epochs),
            **{name: value for name, value in own.items() if inherited.get(name) != value},
        },
        overrides={
            key: value
            for key, value in _keys(job.values).items()
            if base.settings.get(key) != value
        },
    )
