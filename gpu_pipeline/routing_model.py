"""The shape of routing.toml: every table, its keys and what each key means.

Every key is optional for the type, so that the rest of a file can still be examined when one key is
wrong; `required` lists those that a table must have. The descriptions go into the JSON schema.
"""

from __future__ import annotations

import datetime
import functools
import operator
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, cast, dataclass_transform

import msgspec

from gpu_pipeline.record import RecordType
from gpu_pipeline.routing_values import (
    Count,
    CountOrZero,
    Cpu,
    Epochs,
    GpuName,
    Memory,
    Price,
    Prose,
    Queue,
    Seconds,
    Share,
    Speed,
    Stage,
    Text,
    Texts,
    Timeout,
    Variables,
    Word,
    Words,
)
from gpu_pipeline.toml_lines import Path


class _Key:
    """What `key` returns until its table is made."""

    def __init__(self, description: str) -> None:
        self.description = description


def key(description: str) -> Any:
    """An optional key, None where a file has none, and what the JSON schema says of it."""
    return _Key(description)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(key,))
class _TableType(RecordType):
    """Makes closed tables: no unknown keys, no conversions, no changes after loading.

    `descriptions` says of each key what `key` was given.
    """

    descriptions: dict[str, str]

    def __new__(
        cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **config: Any
    ) -> _TableType:
        own = {key: value.description for key, value in body.items() if isinstance(value, _Key)}
        config |= {"forbid_unknown_fields": True, "omit_defaults": True}
        table: Any = super().__new__(cls, name, bases, {**body, **dict.fromkeys(own)}, **config)
        inherited = [base.descriptions for base in bases if isinstance(base, _TableType)]
        table.descriptions = functools.reduce(operator.or_, [*inherited, own], {})
        return cast("_TableType", table)


class Table(msgspec.Struct, metaclass=_TableType):
    """A table of the file; `required` are the keys that it must have."""

    required: ClassVar[tuple[str, ...]] = ()


class Resources(Table):
    """Kubernetes quantities of one container."""

    cpu: Cpu | None = key('cores, for example "3000m"')
    memory: Memory | None = key('bytes, for example "16Gi"')
    ephemeral_storage: Memory | None = key('bytes of node-local disk, for example "50Gi"')

    @property
    def amounts(self) -> dict[str, str]:
        """The quantity of each resource that is given."""
        given = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return {name: str(amount) for name, amount in given if amount is not None}


class Rule(Table, dict=True, rename={"if_": "if"}):
    """One entry of a job's `rules`, in GitLab's own keys; the first that matches decides."""

    if_: Text | None = key(
        "expression over variables; in a child pipeline test $PARENT_PIPELINE_SOURCE"
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
        written: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=str))
        return written


class Settings(Table):
    """What any layer may set: pipeline, pool, task, family, model, and their tasks."""

    image: Word | None = key("container image of the job")
    tags: Words | None = key("runner tags")
    timeout: Timeout | None = key('job timeout with its unit, for example "12h"; at most a month')
    epochs: Epochs | None = key("epochs the training command is given")
    requests: Resources | None = key("what the scheduler reserves for the build container")
    limits: Resources | None = key("what the build container may use at most")
    variables: Variables | None = key("further CI/CD variables of the job; values are text")
    rules: tuple[Rule, ...] | None = key("when the job is added")
    seconds_per_epoch: Seconds | None = key(
        "measured training time of one epoch, in seconds; orders the queue"
    )
    expected: Timeout | None = key('training time of a whole job, for example "2h 30m"')
    trials: Count | None = key("trials of `epochs` each that one job runs; 1 when left out")


class JobSettings(Settings):
    """Settings of whatever has jobs, with what one job asks of a node that it has for itself."""

    gpu_memory: Memory | None = key('GPU memory that one job needs, for example "8G"')
    gpu_utilization: Share | None = key("share of the pool's GPU that one job keeps busy, 0 to 1")
    cpu_usage: Cpu | None = key("cores that one job keeps busy; its CPU request when left out")


_NEEDS = "tasks of the same model that must have succeeded before"
_ENABLED = "false leaves the job out"
_PER = "one job for each model, or one for the family"


class Task(JobSettings):
    """A kind of work, such as hyperopt."""

    needs: Texts | None = key(_NEEDS)
    enabled: bool | None = key(_ENABLED)
    per: Literal["model", "family"] | None = key(_PER)


class RoutedSettings(JobSettings):
    """Settings of whatever is sent to a pool."""

    pool: Text | None = key("name of the pool whose nodes run the jobs")
    base: Text | None = key("hidden base job: a file of templates/bases without .yml.j2")
    pin: bool | None = key("true: `plan --suggest` leaves it on its pool")
    reason: Prose | None = key("why this pool; `explain` shows it")


class ModelTask(RoutedSettings):
    """A model's own settings for one task."""

    needs: Texts | None = key(_NEEDS)
    enabled: bool | None = key(_ENABLED)


class FamilyTask(ModelTask):
    """A family's own settings for one task."""

    per: Literal["model", "family"] | None = key(_PER)


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
    gpu_speed: Speed | None = key(
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
    price_per_hour: Price | None = key(
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
    accept: tuple[Acceptance, ...] | None = key("findings that are known and meant")
    contexts: tuple[ParentContext, ...] | None = key(
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
