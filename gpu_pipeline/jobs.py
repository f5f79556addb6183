"""What the routing resolves to: jobs whose every value knows where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import field

from gpu_pipeline.durations import parse_duration
from gpu_pipeline.problems import Origin
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pool, Rule

T = TypeVar("T")


class Sourced(Record, Generic[T]):
    """A value and the place in routing.toml that set it; `items`: where a list's items stand."""

    value: T
    origin: Origin
    items: tuple[Origin, ...] = ()


class Values(Record):
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


class Job(Record):
    """One visible job of the child pipeline: for one `model`, or for all `models` of a family.

    `base_values` are the settings that all jobs of the same family and pool share: without the
    layers of task and model. `gpu_memory`, `gpu_utilization` and `cpu_usage` are what the model
    that needs most was declared to need. Of a model's two ways to say how long it trains,
    `expected` (text such as "2h") and `seconds_per_epoch`, the stronger layer's is kept. `pinned`
    says where `pin = true` stands.
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
    gpu_utilization: Sourced[float] | None = None
    cpu_usage: Sourced[str] | None = None
    expected: Mapping[str, Sourced[str]] = field(default_factory=dict)
    trials: Sourced[int] | None = None
    pinned: Origin | None = None

    @property
    def tags(self) -> tuple[str, ...]:
        """The runner tags, none if nobody set any."""
        return self.values.tags.value if self.values.tags else ()

    @property
    def epochs_in_all(self) -> int:
        """Epochs that one model trains in this job, over all trials."""
        return self.epochs * (self.trials.value if self.trials else 1)

    def seconds_of(self, model: str) -> float | None:
        """How long one of the job's models trains, in seconds, or None if nobody says."""
        if model in self.expected:
            return float(parse_duration(self.expected[model].value))
        if model in self.seconds_per_epoch:
            return self.epochs_in_all * self.seconds_per_epoch[model].value
        return None

    @property
    def expected_seconds(self) -> float | None:
        """Seconds of training, or None when nobody says it for one of the models."""
        seconds = [each for each in map(self.seconds_of, self.models) if each is not None]
        return sum(seconds) if len(seconds) == len(self.models) else None
