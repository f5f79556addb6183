"""Layered values: model's task > model > family's task > family > task > pool > pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from gpu_pipeline.jobs import Sourced, Values
from gpu_pipeline.problems import Problems
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import FamilyTask, ModelTask, Resources, Routing, Settings
from gpu_pipeline.toml_lines import Path

T = TypeVar("T")
# Task, family, model and pool.
_Place = tuple[str | None, str, str | None, str | None]


class Layer(Record):
    """One table of routing.toml that may set a value, and its path."""

    path: Path
    settings: Settings


class Layers:
    """The layers of a routing, each stack and its values made once.

    Most models set nothing of their own, and share what their family and task set.
    """

    def __init__(self, routing: Routing, problems: Problems) -> None:
        self._routing = routing
        self._problems = problems
        self._stacks: dict[_Place, tuple[Layer, ...]] = {}
        self._values: dict[_Place, Values] = {}

    def stack(
        self, *, task: str | None, family: str, model: str | None, pool: str | None
    ) -> tuple[Layer, ...]:
        """The tables that apply, the strongest first. None leaves those of that kind out."""
        place = self._place(task, family, model, pool)
        if place not in self._stacks:
            self._stacks[place] = tuple(_layers(self._routing, place))
        return self._stacks[place]

    def values(
        self, *, task: str | None, family: str, model: str | None, pool: str | None
    ) -> Values:
        """All settings as these tables give them; what none of them sets is None or absent."""
        place = self._place(task, family, model, pool)
        if place not in self._values:
            stack = self.stack(task=task, family=family, model=model, pool=pool)
            self._values[place] = _values(stack, self._problems)
        return self._values[place]

    def _place(self, task: str | None, family: str, model: str | None, pool: str | None) -> _Place:
        """What is the same for all models without a table of their own."""
        return task, family, model if model in (self._routing.models or {}) else None, pool


def _layers(routing: Routing, place: _Place) -> Iterator[Layer]:
    task, family, model, pool = place
    found: list[tuple[Path, Settings | None]] = []
    if model is not None:
        own = (routing.models or {})[model]
        found += [*_task_layer(("models", model), own.tasks, task), (("models", model), own)]
    shared = (routing.families or {})[family]
    found += [
        *_task_layer(("families", family), shared.tasks, task),
        (("families", family), shared),
    ]
    if task is not None:
        found.append((("tasks", task), (routing.tasks or {}).get(task)))
    if pool is not None:
        found.append((("pools", pool), (routing.pools or {}).get(pool)))
    found.append((("pipeline",), routing.pipeline))
    for path, settings in found:
        if settings is not None:
            yield Layer(path=path, settings=settings)


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


def _values(stack: Sequence[Layer], problems: Problems) -> Values:
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
    return resources.amounts if resources else {}
