"""What the routing resolves to: jobs whose every value knows where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from gpu_pipeline.problems import Origin
from gpu_pipeline.routing_model import Pool, Rule

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Sourced(Generic[T]):
    """A value and the place in routing.toml that set it; `items`: where a list's items stand."""

    value: T
    origin: Origin
    items: tuple[Origin, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Values:
    """The settings of a job, or of the hidden base job it extends.

    `requests` and `limits` map cpu, memory and ephemeral_storage to Kubernetes quantities.
    """

    image: Sourced[str] | None
    tags: Sourced[tuple[str, ...]] | None
    timeout: Sourced[str] | None
    epochs: Sourced[int] | None
    rules: Sourced[tuple[Rule, ...]] | None
    requests: Mapping[str, Sourced[str]]
    limits: Mapping[str, Sourced[str]]
    variables: Mapping[str, Sourced[str]]


@dataclass(frozen=True, kw_only=True)
class Job:
    """One visible job of the child pipeline: for one `model`, or for all `models` of a family.

    `base_values` are the settings that all jobs of the same family and pool share: without the
    layers of task and model. `expected_seconds` is the training time as far as it was measured.
    `gpu_memory` is what the model that needs most was declared to need.
    """

    name: str
    task: str
    family: str
    model: str | None
    models: tuple[str, ...]
    pool: Sourced[str]
    pool_settings: Pool
    pool_origins: Mapping[str, Origin]
    base: Sourced[str]
    stage: Sourced[str]
    values: Values
    base_values: Values
    epochs: int
    timeout: str
    seconds_per_epoch: Mapping[str, Sourced[float]]
    reason: Sourced[str] | None
    needs: tuple[str, ...] = ()
    needs_origin: Origin | None = None
    gpu_memory: Sourced[str] | None = None

    @property
    def expected_seconds(self) -> float | None:
        """Seconds of training, or None when a model's time per epoch was never measured."""
        if set(self.seconds_per_epoch) != set(self.models):
            return None
        return self.epochs * sum(each.value for each in self.seconds_per_epoch.values())
