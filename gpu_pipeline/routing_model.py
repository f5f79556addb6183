"""The shape of routing.toml: every table, its keys and what each key means.

Every key is optional for the type, so that the rest of a file can still be examined when one key is
wrong; `required` lists those that a table must have. The descriptions go into the JSON schema.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from gpu_pipeline.durations import MAX_TIMEOUT_SECONDS, DurationError, parse_duration
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.toml_lines import Path

_HUGE = 10**18
_MIN_MEMORY_BYTES = 2**20
_MAX_CORES = 512


class Table(BaseModel):
    """A closed table: no unknown keys, no conversions, no changes after loading."""

    # Deferred: reading a file builds one validator, that of Routing, and not one for each class.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)
    required: ClassVar[tuple[str, ...]] = ()


def _quantity(value: object) -> object:
    if isinstance(value, float):
        raise PydanticCustomError("quantity", 'write it as text, for example "1500m" or "1.5"')
    if isinstance(value, int) and not isinstance(value, bool):
        text: object = str(value) if abs(value) < _HUGE else "a number that long"
    else:
        text = value
    if not isinstance(text, str):
        return value
    try:
        amount = parse_quantity(text)
    except QuantityError as error:
        raise PydanticCustomError("quantity", "{reason}", {"reason": str(error)}) from None
    if amount <= 0:
        raise PydanticCustomError("quantity", "must be more than zero")
    return text


def _memory(value: object) -> object:
    text = _quantity(value)
    if isinstance(text, str) and parse_quantity(text) < _MIN_MEMORY_BYTES:
        raise PydanticCustomError(
            "memory", '"{text}" is less than 1Mi: is the unit missing? For example "{example}"',
            {"text": text, "example": f"{text}Gi" if text.isdigit() else "16Gi"},
        )  # fmt: skip
    return text


def _cpu(value: object) -> object:
    text = _quantity(value)
    if isinstance(text, str) and parse_quantity(text) > _MAX_CORES:
        raise PydanticCustomError(
            "cpu", '"{text}" is more cores than any node has: did you mean "{text}m"?',
            {"text": text},
        )  # fmt: skip
    return text


def _timeout(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        example = f"{value}s" if 0 < value <= MAX_TIMEOUT_SECONDS else "90s"
        raise PydanticCustomError(
            "timeout", 'needs a unit: GitLab takes text such as "{example}" or "12h"',
            {"example": example},
        )  # fmt: skip
    if not isinstance(value, str):
        return value
    try:
        seconds = parse_duration(value)
    except DurationError as error:
        raise PydanticCustomError("timeout", "{reason}", {"reason": str(error)}) from None
    if seconds > MAX_TIMEOUT_SECONDS:
        raise PydanticCustomError("timeout", "is above one month, the most GitLab allows")
    return value


Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$")]
Word = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f]+$")]
Prose = Annotated[str, Field(pattern=r"^[^\x00]*$")]
Texts = Annotated[tuple[Text, ...], Field(strict=False)]
Words = Annotated[tuple[Word, ...], Field(strict=False)]
Stage = Annotated[
    str, Field(pattern=r"^[^\s\x00-\x1f\x7f.](?:[^\x00-\x1f\x7f]{0,253}[^\s\x00-\x1f\x7f])?$")
]
Variables = dict[str, Prose]
Cpu = Annotated[str, BeforeValidator(_cpu, json_schema_input_type=str | int)]
Memory = Annotated[str, BeforeValidator(_memory, json_schema_input_type=str | int)]
Timeout = Annotated[str, BeforeValidator(_timeout)]
GpuName = Annotated[str, Field(pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9 ()._+/-]*[A-Za-z0-9)+])?$")]
Epochs = Annotated[int, Field(ge=1, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=1_000)]
CountOrZero = Annotated[int, Field(ge=0, le=1_000)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Queue = Literal["gitlab", "kubernetes"]


def key(description: str) -> Any:
    """An optional key with its description, which the JSON schema shows."""
    return Field(default=None, description=description)


class Resources(Table):
    """Kubernetes quantities of one container."""

    cpu: Cpu | None = key('cores, for example "3000m"')
    memory: Memory | None = key('bytes, for example "16Gi"')
    ephemeral_storage: Memory | None = key('bytes of node-local disk, for example "50Gi"')


class Rule(Table):
    """One entry of a job's `rules`, in GitLab's own keys; the first that matches decides."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, validate_by_alias=True, validate_by_name=False
    )

    if_: Text | None = Field(
        default=None,
        alias="if",
        description="expression over variables; in a child pipeline test $PARENT_PIPELINE_SOURCE",
    )
    changes: Texts | None = key("paths, one of which must have changed")
    exists: Texts | None = key("paths, one of which must exist in the repository")
    when: Literal["on_success", "on_failure", "always", "never", "manual", "delayed"] | None = key(
        "how the job is added when the rule matches"
    )
    allow_failure: bool | None = key("must be given with manual: false blocks the pipeline")
    start_in: Timeout | None = key("how long a delayed job waits")
    variables: Variables | None = key("variables set when the rule matches")

    @functools.cached_property
    def as_yaml(self) -> dict[str, Any]:
        """The rule as it stands in a pipeline, to be read only: all jobs that have it share it."""
        return self.model_dump(by_alias=True, exclude_none=True, mode="json")


class Settings(Table):
    """What any layer may set: pipeline, pool, task, family, model, and their tasks."""

    image: Word | None = key("container image of the job")
    tags: Words | None = key("runner tags")
    timeout: Timeout | None = key('job timeout with its unit, for example "12h"; at most a month')
    epochs: Epochs | None = key("epochs the training command is given")
    requests: Resources | None = key("what the scheduler reserves for the build container")
    limits: Resources | None = key("what the build container may use at most")
    variables: Variables | None = key("further CI/CD variables of the job; values are text")
    rules: Annotated[tuple[Rule, ...], Field(strict=False)] | None = key("when the job is added")
    seconds_per_epoch: Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)] | None = (
        key("measured training time of one epoch, in seconds; orders the queue")
    )
    expected: Timeout | None = key('training time of a whole job, for example "2h 30m"')
    trials: Count | None = key("trials of `epochs` each that one job runs; 1 when left out")


class TaskSettings(Settings):
    """What a task may set wherever it stands."""

    needs: Texts | None = key("tasks of the same model that must have succeeded before")
    enabled: bool | None = key("false leaves the job out")


class Demand(Table):
    """What one job asks of its node when it has it for itself."""

    gpu_memory: Memory | None = key('GPU memory that one job needs, for example "8G"')
    gpu_utilization: Share | None = key("share of the pool's GPU that one job keeps busy, 0 to 1")
    cpu_usage: Cpu | None = key("cores that one job keeps busy; its CPU request when left out")


class Task(TaskSettings, Demand):
    """A kind of work, such as hyperopt."""

    per: Literal["model", "family"] | None = key("one job for each model, or one for the family")


class RoutedSettings(Settings, Demand):
    """Settings of whatever is sent to a pool."""

    pool: Text | None = key("name of the pool whose nodes run the jobs")
    base: Text | None = key("hidden base job: a file of templates/bases without .yml.j2")
    pin: bool | None = key("true: `plan --suggest` leaves it on its pool")
    reason: Prose | None = key("why this pool; `explain` shows it")


class ModelTask(TaskSettings, RoutedSettings):
    """A model's own settings for one task."""


class FamilyTask(Task, RoutedSettings):
    """A family's own settings for one task."""


class Pipeline(Settings):
    """Values of the whole child pipeline, and the last layer of every job's settings."""

    required: ClassVar[tuple[str, ...]] = ("stage",)
    stage: Stage | None = key("stage of all jobs")
    capture: Texts | None = key("variables read where the generator runs, written into the child")
    currency: Word | None = key("currency of the pools' prices, such as EUR")
    queue: Queue | None = key('"gitlab" (default): resource groups; "kubernetes": Pending pods')


class Pool(Settings):
    """A group of equal nodes with one GPU model."""

    required: ClassVar[tuple[str, ...]] = ("gpu", "concurrency")
    instance: Text | None = key("instance type of the cloud provider")
    gpu: GpuName | None = key("GPU name exactly as `nvidia-smi --query-gpu=name` prints it")
    gpu_memory: Memory | None = key('memory of one GPU, for example "24G"')
    gpus: Count | None = key("GPUs of one node; 1 when left out")
    gpu_speed: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] | None = key(
        "speed of the GPU next to those of other pools; `plan --suggest` moves models by it"
    )
    runner_default: bool | None = key("true: the runner's own node selector leads here")
    label: Text | None = key("of the runner's default pool: the node label, label=value")
    node_selector: Text | None = key("node label that selects the pool, label=value")
    taints: Texts | None = key("taints of the nodes, key[=value]:effect; jobs tolerate them")
    allocatable: Resources | None = key("measured with `kubectl get node`; leave out what is not")
    capacity: Resources | None = key("the instance's size as published: an upper bound")
    daemonsets: Resources | None = key("what the DaemonSets' pods request on each node")
    concurrency: Count | None = key("jobs at once on one node")
    sharing: Literal["none", "time-slicing", "mps"] | None = key("how jobs share a node's GPU")
    min_nodes: CountOrZero | None = key("the autoscaler's lower bound; 0 when left out")
    max_nodes: Count | None = key("the autoscaler's upper bound; 1 when left out")
    boot_time: Timeout | None = key('from "node needed" to "GPU usable"; 10m when left out')
    image_pull_time: Timeout | None = key("pull of the job's image on a new node; 5m when left out")
    idle_time: Timeout | None = key("until the autoscaler removes an idle node; 10m when left out")
    price_per_hour: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = key(
        "price of one node; state currency, date and source in a comment"
    )
    queue: Queue | None = key("overrides the pipeline's queue for this pool")


class Model(RoutedSettings):
    """What one model sets differently from its family."""

    tasks: dict[str, ModelTask] | None = key("the model's own settings for a task")


class Family(RoutedSettings):
    """Models that train alike."""

    required: ClassVar[tuple[str, ...]] = ("pool", "base", "models")
    models: Texts | None = key("names of the models")
    tasks: dict[str, FamilyTask] | None = key("the family's own settings for a task")


class ParentContext(Table):
    """A kind of parent pipeline that previews and checks look at, besides the usual eight."""

    required: ClassVar[tuple[str, ...]] = ("name", "source")
    name: Text | None = key("what to call it; the name of a usual one replaces that one")
    source: Word | None = key("CI_PIPELINE_SOURCE of the parent: push, schedule, web, api, …")
    branch: Text | None = key("branch the parent runs on; none for tags and merge requests")
    tag: Text | None = key("tag the parent runs on")
    variables: Variables | None = key("variables of the schedule, the form or the API call")


class Acceptance(Table):
    """A finding that is known and meant, for a while."""

    required: ClassVar[tuple[str, ...]] = ("code", "reason", "until")
    code: Word | None = key("code of the finding, such as FIT103")
    job: Text | None = key("glob over job names; without it the finding is accepted everywhere")
    reason: Prose | None = key("why it is accepted")
    until: datetime.date | None = key("the last day it is accepted, a date such as 2027-06-30")


class Routing(Table):
    """routing.toml: which model trains on which GPU pool, and with what resources."""

    required: ClassVar[tuple[str, ...]] = ("pipeline", "pools", "tasks", "families")
    pipeline: Pipeline | None = key("the child pipeline")
    pools: dict[str, Pool] | None = key("pools of nodes, by name")
    tasks: dict[str, Task] | None = key("kinds of work, by name; templates/tasks has each")
    families: dict[str, Family] | None = key("model families, by name")
    models: dict[str, Model] | None = key("what single models override, by model name")
    accept: Annotated[tuple[Acceptance, ...], Field(strict=False)] | None = key(
        "findings that are known and meant"
    )
    contexts: Annotated[tuple[ParentContext, ...], Field(strict=False)] | None = key(
        "further kinds of parent pipeline to preview and check"
    )


def all_settings(routing: Routing) -> Iterator[tuple[Path, Settings]]:
    """Every table of the file that can hold a job's settings, with its path."""
    if routing.pipeline:
        yield ("pipeline",), routing.pipeline
    for kind in ("pools", "tasks", "families", "models"):
        for name, settings in (getattr(routing, kind) or {}).items():
            yield (kind, name), settings
            for task, own in (getattr(settings, "tasks", None) or {}).items():
                yield (kind, name, "tasks", task), own
