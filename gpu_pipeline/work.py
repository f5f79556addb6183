"""Which jobs there are to resolve: each task for each model, or once for a whole family."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.layers import Layers, pick_named
from gpu_pipeline.problems import Origin, Problems
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Family, Routing
from gpu_pipeline.toml_lines import Path


class Work(Record):
    """A job still to be resolved: a task for one model (`model` given) or a whole family."""

    task: str
    family: str
    models: tuple[str, ...]
    model: str | None
    path: Path

    @property
    def name(self) -> str:
        return f"{self.task}-{self.model or self.family}"


def all_work(routing: Routing, layers: Layers, problems: Problems) -> Iterator[Work]:
    """Every job that is not disabled, in the order of the file."""
    for family, settings in (routing.families or {}).items():
        for task in routing.tasks or {}:
            stack = layers.stack(task=task, family=family, model=None, pool=None)
            per = pick_named(stack, "per", str, problems)
            models = tuple(_enabled_models(task, family, settings, layers, problems))
            if per and per.value == "family":
                if models:
                    names = tuple(model for _, model in models)
                    yield Work(
                        task=task, family=family, models=names, model=None,
                        path=("families", family),
                    )  # fmt: skip
                continue
            for i, model in models:
                yield Work(
                    task=task, family=family, models=(model,), model=model,
                    path=("families", family, "models", i),
                )  # fmt: skip


def _enabled_models(
    task: str, family: str, settings: Family, layers: Layers, problems: Problems
) -> Iterator[tuple[int, str]]:
    for i, model in enumerate(settings.models or ()):
        stack = layers.stack(task=task, family=family, model=model, pool=None)
        enabled = pick_named(stack, "enabled", bool, problems)
        if enabled is None or enabled.value:
            yield i, model


def models_of_a_second_family(routing: Routing) -> Iterator[Path]:
    """Where a model stands that another family has already, which is one problem and not two."""
    seen: dict[str, str] = {}
    for family, settings in (routing.families or {}).items():
        for i, model in enumerate(settings.models or ()):
            if seen.setdefault(model, family) != family:
                yield ("families", family, "models", i)


def disabled_jobs(routing: Routing, problems: Problems) -> dict[str, Origin]:
    """The jobs of single models that `enabled = false` leaves out, and where that stands."""
    layers = Layers(routing, problems)
    found = {}
    for family, settings in (routing.families or {}).items():
        for task in routing.tasks or {}:
            for model in settings.models or ():
                stack = layers.stack(task=task, family=family, model=model, pool=None)
                enabled = pick_named(stack, "enabled", bool, problems)
                if enabled is not None and not enabled.value:
                    found[f"{task}-{model}"] = enabled.origin
    return found
