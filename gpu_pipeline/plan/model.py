"""What a plan is made from, and what it is: jobs, pools, and who ran where and when.

Times are seconds from the creation of the child pipeline. Amounts of resources are whole numbers as
the scheduler counts them: millicores, bytes, bytes, in the order of RESOURCES.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

from msgspec import field

from gpu_pipeline.cluster.runner_keys import DEFAULT_POLL_TIMEOUT
from gpu_pipeline.record import Record

RESOURCES = ("cpu", "memory", "ephemeral_storage")
Amounts = tuple[int, int, int]


class Source(enum.StrEnum):
    """How far a figure can be trusted."""

    MEASURED = "measured"
    CONFIGURED = "configured"
    ASSUMED = "assumed"


class Figure(Record):
    """A number and where it comes from: a line, a file, or why it was assumed."""

    value: float
    source: Source
    origin: str


class PlannedJob(Record):
    """One job: `seconds` and the shares are those of the job alone on a node of its pool.

    `gpu` is the share of one GPU that it keeps busy, `cpu` the cores. `requests` are those of the
    whole pod. `group` is its resource group, `runner` the key of its runner in Workload.limits,
    `poll_timeout` how long that runner lets a pod be Pending, None if its configuration is unknown.
    """

    name: str
    task: str
    family: str
    models: tuple[str, ...]
    pool: str
    seconds: Figure
    gpu: Figure
    cpu: Figure
    requests: Amounts
    timeout: float
    group: str | None = None
    needs: tuple[str, ...] = ()
    delay: float = 0.0
    runner: str = ""
    gpu_memory: int | None = None
    pinned: bool = False
    poll_timeout: float | None = None


class PlannedPool(Record):
    """A pool of nodes; an amount that is not known is None, and then bounds nothing.

    `boot`: from "node needed" to "GPU usable"; `pull`: the image, once a node; `idle`: until an
    unused node is removed. `price` is per node and hour. `speed` of the GPU is None if not stated.
    """

    name: str
    gpu: str
    gpus: int
    concurrency: int
    min_nodes: int
    max_nodes: int
    allocatable: tuple[int | None, int | None, int | None]
    boot: Figure
    pull: Figure
    idle: Figure
    price: float | None
    speed: float | None = None
    gpu_memory: int | None = None
    queue: str = "gitlab"
    sharing: str | None = None

    @property
    def slots(self) -> int:
        """How many jobs can run at once in the whole pool."""
        return self.concurrency * self.max_nodes

    @property
    def first_start(self) -> float:
        """The earliest second at which a pod can run."""
        return self.pull.value + (0.0 if self.min_nodes else self.boot.value)


class Workload(Record):
    """All that a plan is made from. Jobs stand in the order of their creation.

    `limits` is how many jobs each runner takes at once, by its key; "" is that of all together.
    """

    jobs: tuple[PlannedJob, ...]
    pools: Mapping[str, PlannedPool]
    limits: Mapping[str, int] = field(default_factory=dict)
    currency: str = ""


class Reason(enum.StrEnum):
    """What a job waits for."""

    DELAY = "its start_in"
    NEEDS = "jobs that it needs"
    GROUP = "its resource group"
    RUNNER = "the runner's limit"
    BOOT = "a node to boot"
    SLOT = "a slot on a node"
    CPU = "CPU on a node"
    MEMORY = "memory on a node"
    DISK = "disk on a node"


# The waits of a pod, after the runner has taken the job.
_PENDING = (Reason.BOOT, Reason.SLOT, Reason.CPU, Reason.MEMORY, Reason.DISK)


class Wait(Record):
    """A stretch of waiting; a job's waits follow each other from its creation to its start."""

    reason: Reason
    start: float
    end: float


class Run(Record):
    """One job as planned: `node` counts within the pool from 1, `slot` within the node from 1."""

    job: PlannedJob
    node: int
    slot: int
    picked: float
    start: float
    end: float
    waits: tuple[Wait, ...]

    @property
    def waiting(self) -> float:
        """Seconds from the creation of the pipeline to the start."""
        return self.start

    @property
    def slowdown(self) -> float:
        """How many times longer than alone on a node; 1 for what takes no time to speak of."""
        alone = self.job.seconds.value
        return max((self.end - self.start) / alone, 1.0) if alone else 1.0

    @property
    def hopeless(self) -> Wait | None:
        """The wait as a Pending pod that the runner gives up on, if any.

        Without a runner's configuration its default counts, and booting, which that has to allow
        for, does not.
        """
        limit = self.job.poll_timeout
        for wait in self.waits:
            known = limit is not None or wait.reason is not Reason.BOOT
            allowed = DEFAULT_POLL_TIMEOUT if limit is None else limit
            if wait.reason in _PENDING and known and wait.end - wait.start > allowed:
                return wait
        return None

    @property
    def is_late(self) -> bool:
        """Whether the job's timeout ends it first: it counts from when the runner takes the job."""
        return self.end - self.picked > self.job.timeout


class Stretch(Record):
    """A time in which nothing changes on a node: mean utilization of its GPUs, and running jobs."""

    start: float
    end: float
    gpu: float
    jobs: int


class NodeLife(Record):
    """A node from its creation, when billing begins, to its removal."""

    pool: str
    number: int
    created: float
    ready: float
    removed: float
    stretches: tuple[Stretch, ...]


class Stuck(Record):
    """A job that never starts, and why."""

    job: PlannedJob
    why: str


class Schedule(Record):
    """What the simulation found: `runs` in the order of the jobs."""

    workload: Workload
    runs: tuple[Run, ...]
    nodes: tuple[NodeLife, ...]
    stuck: tuple[Stuck, ...] = ()

    @property
    def makespan(self) -> float:
        """Seconds from the creation of the pipeline to the end of the last job."""
        return max((run.end for run in self.runs), default=0.0)
