"""From the routing to its jobs, each value with the line it came from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from typing import TypeVar

from msgspec.structs import replace

from gpu_pipeline.gitlab_limits import MAX_NEEDS
from gpu_pipeline.jobs import Job, Sourced, Values
from gpu_pipeline.layers import Layer, Layers, pick, pick_named
from gpu_pipeline.problems import Origin, Problems
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.routing_model import Pipeline, Pool, RoutedSettings, Routing, all_settings
from gpu_pipeline.toml_lines import Path
from gpu_pipeline.work import Work, all_work, models_of_a_second_family

T = TypeVar("T")


def resolve_jobs(routing: Routing, problems: Problems) -> list[Job]:
    """All jobs in the order of the file. What cannot be resolved is noted in `problems`."""
    layers = Layers(routing, problems)
    jobs: dict[str, Job] = {}
    doubled = set(models_of_a_second_family(routing))
    for work in all_work(routing, layers, problems):
        if work.path in doubled:
            continue
        if work.name in jobs:
            problems.add(work.path, f'makes a second job "{work.name}"; choose another name')
            continue
        job = _resolve(routing, work, layers, problems)
        if job is not None:
            jobs[job.name] = job
    _check_pools_used(routing, jobs.values(), problems)
    return _with_needs(routing, list(jobs.values()), layers, problems)


def _resolve(routing: Routing, work: Work, layers: Layers, problems: Problems) -> Job | None:
    routed = layers.stack(task=work.task, family=work.family, model=work.model, pool=None)
    pool = pick_named(routed, "pool", str, problems)
    base = pick_named(routed, "base", str, problems)
    stage = pick([_pipeline_layer(routing)], ("stage",), _stage, problems)
    pools = routing.pools or {}
    if pool is None or pool.value not in pools:
        # Noted already, as a missing key or an unknown pool; sizes can be compared without it.
        without = layers.values(task=work.task, family=work.family, model=work.model, pool=None)
        _check_requests(without, problems)
        return None
    # A missing base or stage is noted too; the rest can be examined without them.
    base = base or Sourced(value="", origin=pool.origin)
    stage = stage or Sourced(value="", origin=pool.origin)
    stack = layers.stack(task=work.task, family=work.family, model=work.model, pool=pool.value)
    own = layers.values(task=work.task, family=work.family, model=work.model, pool=pool.value)
    _check_requests(own, problems)
    if not _complete(own, stack, work, problems) or own.epochs is None or own.timeout is None:
        return None
    if work.model is None:
        _check_shared_by_models(work, (pool, base, own), layers, problems)
    most = functools.partial(_most, work, layers=layers, problems=problems)
    seconds_per_epoch, expected = _training_times(work, pool.value, layers, problems)
    return Job(
        name=work.name,
        task=work.task,
        family=work.family,
        model=work.model,
        models=work.models,
        pool=pool,
        pool_settings=pools[pool.value],
        pool_origins={
            key: problems.origin(("pools", pool.value, key)) for key in Pool.__struct_fields__
        },
        base=base,
        stage=stage,
        values=own,
        base_values=layers.values(task=None, family=work.family, model=None, pool=pool.value),
        epochs=own.epochs.value,
        timeout=own.timeout.value,
        seconds_per_epoch=seconds_per_epoch,
        expected=expected,
        trials=pick(stack, ("trials",), lambda s: s.trials, problems),
        reason=_reason(routed, pool, problems),
        gpu_memory=most("gpu_memory", str, amount=parse_quantity),
        gpu_utilization=most("gpu_utilization", float, amount=float),
        cpu_usage=most("cpu_usage", str, amount=parse_quantity),
        pinned=_pinned(work, layers, problems),
    )


def _reason(routed: Sequence[Layer], pool: Sourced[str], problems: Problems) -> Sourced[str] | None:
    """Why this pool: said by the layer that chose it, or a stronger one."""
    until = next(i for i, layer in enumerate(routed) if pool.origin.key == (*layer.path, "pool"))
    return pick_named(routed[: until + 1], "reason", str, problems)


def _pipeline_layer(routing: Routing) -> Layer:
    return Layer(path=("pipeline",), settings=routing.pipeline or Pipeline())


def _stage(settings: object) -> str | None:
    return settings.stage if isinstance(settings, Pipeline) else None


def _training_times(
    work: Work, pool: str, layers: Layers, problems: Problems
) -> tuple[dict[str, Sourced[float]], dict[str, Sourced[str]]]:
    """For each model its seconds per epoch or its expected time: what the strongest layer says."""
    per_epoch, expected = {}, {}
    for model in work.models:
        stack = layers.stack(task=work.task, family=work.family, model=model, pool=pool)
        for layer in stack:
            in_all: Sourced[str] | None = pick(
                [layer], ("expected",), lambda s: s.expected, problems
            )
            measured = pick(
                [layer], ("seconds_per_epoch",), lambda s: s.seconds_per_epoch, problems
            )
            if in_all is not None:
                expected[model] = in_all
            elif measured is not None:
                per_epoch[model] = measured
            if in_all is not None or measured is not None:
                break
    return per_epoch, expected


def _most(
    work: Work,
    name: str,
    kind: type[T],
    *,
    amount: Callable[[T], Decimal | float],
    layers: Layers,
    problems: Problems,
) -> Sourced[T] | None:
    """The most that any of the job's models needs; a pool's key of this name is the card's size."""
    stacks = (
        layers.stack(task=work.task, family=work.family, model=model, pool=None)
        for model in work.models
    )
    declared = (pick_named(stack, name, kind, problems) for stack in stacks)
    return max(
        (each for each in declared if each is not None),
        key=lambda each: amount(each.value),
        default=None,
    )


def _pinned(work: Work, layers: Layers, problems: Problems) -> Origin | None:
    """Where one of the job's models is held on its pool."""
    for model in work.models:
        stack = layers.stack(task=work.task, family=work.family, model=model, pool=None)
        pin = pick_named(stack, "pin", bool, problems)
        if pin is not None and pin.value:
            return pin.origin
    return None


def _complete(own: Values, stack: Sequence[Layer], work: Work, problems: Problems) -> bool:
    """Whether every value that a job needs was set somewhere; notes those that were not."""
    keys: list[Path] = [(name,) for name in own.__struct_fields__ if getattr(own, name) is None]
    keys += [
        (kind, resource)
        for kind in ("requests", "limits")
        for resource in ("cpu", "memory")
        if resource not in getattr(own, kind)
    ]
    missing = [
        ".".join(map(str, key))
        for key in keys
        if not any(problems.has_cut((*layer.path, *key)) for layer in stack)
    ]
    of_task = [name for name in missing if name in ("epochs", "timeout")]
    of_family = [name for name in missing if name not in of_task]
    if of_task:
        problems.add(
            ("tasks", work.task),
            f"has no {', '.join(of_task)}; set it here, in a family or a model",
        )
    if of_family:
        problems.add(
            ("families", work.family),
            f"has no {', '.join(of_family)}; set it here, in a task, in the pool or in [pipeline]",
        )
    return not keys


def _check_requests(own: Values, problems: Problems) -> None:
    for resource, request in own.requests.items():
        limit = own.limits.get(resource)
        if limit and parse_quantity(request.value) > parse_quantity(limit.value):
            problems.add(
                request.origin.key,
                f"request {request.value} is above the limit {limit.value} ({limit.origin}); "
                "Kubernetes would refuse the pod",
            )


def _check_shared_by_models(
    work: Work,
    shared: tuple[Sourced[str], Sourced[str], Values],
    layers: Layers,
    problems: Problems,
) -> None:
    """One job for a whole family cannot honour what a single model wants otherwise."""
    pool, base, own = shared
    together = layers.stack(task=work.task, family=work.family, model=None, pool=None)
    shared_needs = pick_named(together, "needs", tuple, problems)
    for model in work.models:
        routed = layers.stack(task=work.task, family=work.family, model=model, pool=None)
        theirs = layers.values(task=work.task, family=work.family, model=model, pool=pool.value)
        differing = [
            other
            for mine, other in (
                (pool, pick_named(routed, "pool", str, problems)),
                (base, pick_named(routed, "base", str, problems)),
                (shared_needs, pick_named(routed, "needs", tuple, problems)),
                *_pairs(own, theirs),
            )
            if other is not None and (mine is None or mine.value != other.value)
        ]
        for other in differing:
            problems.add(
                other.origin.key,
                f'job "{work.name}" trains {" and ".join(work.models)} together and cannot honour '
                f'this; set per = "model" in [families.{work.family}.tasks.{work.task}], or give '
                f"the value to single tasks of {model} only",
            )


def _pairs(
    own: Values, theirs: Values
) -> Iterator[tuple[Sourced[object] | None, Sourced[object] | None]]:
    for name in Values.__struct_fields__:
        mine, other = getattr(own, name), getattr(theirs, name)
        if isinstance(other, dict):
            yield from ((mine.get(key), value) for key, value in other.items())
        else:
            yield mine, other


def _check_pools_used(routing: Routing, jobs: Iterable[Job], problems: Problems) -> None:
    used = {job.pool.value for job in jobs}
    if problems.any():  # a job that could not be resolved may still refer to a pool
        used |= {
            settings.pool
            for _, settings in all_settings(routing)
            if isinstance(settings, RoutedSettings) and settings.pool
        }
    for name in routing.pools or {}:
        if name not in used and not problems.has_noted("pool"):
            problems.add(("pools", name), "no job uses this pool; route a model to it or remove it")


def _with_needs(routing: Routing, jobs: list[Job], layers: Layers, problems: Problems) -> list[Job]:
    by_task_and_model = {(job.task, model): job for job in jobs for model in job.models}
    resolved = []
    for job in jobs:
        stack = layers.stack(task=job.task, family=job.family, model=job.model, pool=None)
        needs = pick_named(stack, "needs", tuple, problems)
        names: dict[str, None] = {}
        for task in needs.value if needs else ():
            for each in job.models:
                needed = by_task_and_model.get((task, each))
                if needed is not None:
                    names[needed.name] = None
                elif needs and task in (routing.tasks or {}):
                    problems.add(
                        needs.origin.key,
                        f"{job.name} needs {task} of {each}, which has no such job",
                    )
        if needs and len(names) > MAX_NEEDS:
            problems.add(
                needs.origin.key,
                f"{job.name} would need {len(names)} jobs; GitLab allows {MAX_NEEDS}",
            )
        origin = needs.origin if needs else None
        resolved.append(replace(job, needs=tuple(names), needs_origin=origin))
    try:
        TopologicalSorter({job.name: job.needs for job in resolved}).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        origins = [job.needs_origin for job in resolved if job.name in circle and job.needs_origin]
        problems.add(
            origins[0].key if origins else ("tasks",),
            f"jobs need each other in a circle: {' → '.join(circle)}",
        )
    return resolved
