"""Layered values: model's task > model > family's task > family > task > pool > pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gpu_pipeline.jobs import Sourced, Values
from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import FamilyTask, ModelTask, Resources, Routing, Settings
from gpu_pipeline.toml_lines import Path

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Layer:
    """One table of routing.toml that may set a value, and its path."""

    path: Path
    settings: Settings


def layers(
    routing: Routing, *, task: str | None, family: str, model: str | None, pool: str | None
) -> list[Layer]:
    """The tables that apply, the strongest first. None leaves those of that kind out."""
    families, models = routing.families or {}, routing.models or {}
    found: list[tuple[Path, Settings | None]] = []
    if model is not None and model in models:
        own = models[model]
        found += [*_task_layer(("models", model), own.tasks, task), (("models", model), own)]
    shared = families[family]
    found += [
        *_task_layer(("families", family), shared.tasks, task),
        (("families", family), shared),
    ]
    if task is not None:
        found.append((("tasks", task), (routing.tasks or {}).get(task)))
    if pool is not None:
        found.append((("pools", pool), (routing.pools or {}).get(pool)))
    found.append((("pipeline",), routing.pipeline))
    return [Layer(path=path, settings=settings) for path, settings in found if settings is not None]


def _task_layer(
    path: Path, tasks: Mapping[str, ModelTask] | Mapping[str, FamilyTask] | None, task: str | None
) -> list[tuple[Path, Settings | None]]:
    if task is None or not tasks or task not in tasks:
        return []
    return [((*path, "tasks", task), tasks[task])]


def pick(
    stack: Iterable[Layer],
    key: Sequence[str],
    read: Callable[[Settings], T | None],
    problems: Problems,
) -> Sourced[T] | None:
    """The first value that a layer sets; `key` is its path within the layer's table."""
    for layer in stack:
        value = read(layer.settings)
        if value is not None:
            path: Path = (*layer.path, *key)
            count = len(value) if isinstance(value, tuple) else 0
            items = tuple(problems.origin((*path, i)) for i in range(count))
            return Sourced(value=value, origin=problems.origin(path), items=items)
    return None


def pick_named(
    stack: Sequence[Layer], name: str, kind: type[T], problems: Problems
) -> Sourced[T] | None:
    """Like `pick`, for a key that only some kinds of layer have, such as `pool`."""

    def read(settings: Settings) -> T | None:
        value = getattr(settings, name, None)
        return value if isinstance(value, kind) else None

    return pick(stack, (name,), read, problems)


def values(stack: Sequence[Layer], problems: Problems) -> Values:
    """All settings as the layers of `stack` give them; what no layer sets is None or absent."""
    return Values(
        image=pick(stack, ("image",), lambda s: s.image, problems),
        tags=pick(stack, ("tags",), lambda s: s.tags, problems),
        timeout=pick(stack, ("timeout",), lambda s: s.timeout, problems),
        epochs=pick(stack, ("epochs",), lambda s: s.epochs, problems),
        rules=pick(stack, ("rules",), lambda s: s.rules, problems),
        requests=_merge(stack, "requests", lambda s: _quantities(s.requests), problems),
        limits=_merge(stack, "limits", lambda s: _quantities(s.limits), problems),
        variables=_merge(stack, "variables", lambda s: s.variables or {}, problems),
    )


def _merge(
    stack: Sequence[Layer],
    key: str,
    read: Callable[[Settings], Mapping[str, str]],
    problems: Problems,
) -> dict[str, Sourced[str]]:
    """Each name of a table by itself: a layer may override one and leave the others."""
    merged: dict[str, Sourced[str]] = {}
    for layer in reversed(stack):
        for name, value in read(layer.settings).items():
            merged[name] = Sourced(value=value, origin=problems.origin((*layer.path, key, name)))
    return merged


def _quantities(resources: Resources | None) -> dict[str, str]:
    return resources.model_dump(exclude_none=True) if resources else {}
