"""Which jobs there are to resolve: each task for each model, or once for a whole family."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_pipeline.layers import Layers, pick_named
from gpu_pipeline.problems import Origin, Problems
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Routing
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


class _Candidates(Record):
    """A task in a family: each model with its number and, if it is left out, where that stands."""

    task: str
    family: str
    is_shared: bool
    models: tuple[tuple[int, str, Origin | None], ...]


def all_work(routing: Routing, layers: Layers, problems: Problems) -> Iterator[Work]:
    """Every job that is not disabled, in the order of the file."""
    for each in _candidates(routing, layers, problems):
        enabled = [(i, model) for i, model, disabled in each.models if disabled is None]
        names = tuple(model for _, model in enabled)
        here: Path = ("families", each.family)
        if each.is_shared and names:
            yield Work(task=each.task, family=each.family, models=names, model=None, path=here)
        elif not each.is_shared:
            for i, model in enabled:
                yield Work(
                    task=each.task, family=each.family, models=(model,), model=model,
                    path=(*here, "models", i),
                )  # fmt: skip


def disabled_jobs(routing: Routing, problems: Problems) -> dict[str, Origin]:
    """The jobs that `enabled = false` leaves out, and where that stands.

    A job for a whole family is left out when all its models are.
    """
    found: dict[str, Origin] = {}
    for each in _candidates(routing, Layers(routing, problems), problems):
        disabled = {model: origin for _, model, origin in each.models if origin is not None}
        if not each.is_shared:
            found |= {f"{each.task}-{model}": origin for model, origin in disabled.items()}
        elif disabled and len(disabled) == len(each.models):
            found[f"{each.task}-{each.family}"] = next(iter(disabled.values()))
    return found


def _candidates(routing: Routing, layers: Layers, problems: Problems) -> Iterator[_Candidates]:
    for family, settings in (routing.families or {}).items():
        for task in routing.tasks or {}:
            stack = layers.stack(task=task, family=family, model=None, pool=None)
            per = pick_named(stack, "per", str, problems)
            models = []
            for i, model in enumerate(settings.models or ()):
                own = layers.stack(task=task, family=family, model=model, pool=None)
                enabled = pick_named(own, "enabled", bool, problems)
                disabled = enabled is not None and not enabled.value
                models.append((i, model, enabled.origin if enabled and disabled else None))
            yield _Candidates(
                task=task,
                family=family,
                is_shared=per is not None and per.value == "family",
                models=tuple(models),
            )


def models_of_a_second_family(routing: Routing) -> Iterator[Path]:
    """Where a model stands that another family has already, which is one problem and not two."""
    seen: dict[str, str] = {}
    for family, settings in (routing.families or {}).items():
        for i, model in enumerate(settings.models or ()):
            if seen.setdefault(model, family) != family:
                yield ("families", family, "models", i)
