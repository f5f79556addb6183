"""What a schedule amounts to: hours of nodes, utilization, cost, and the distance from the best."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from gpu_pipeline.plan.bound import Bound, lower_bound, pool_bounds
from gpu_pipeline.plan.model import NodeLife, PlannedPool, Run, Schedule
from gpu_pipeline.record import Record

_HOUR = 3600.0
_ROUNDING = 0.0005  # of the lower bound


class PoolUse(Record):
    """What one pool did. Times are node seconds, `cost` is None where no price is stated.

    `gpu_busy` is the mean utilization of the GPUs while any job runs on their node, `gpu_paid` that
    over all the time that is paid for. `end` is when its last job ended.
    """

    pool: PlannedPool
    jobs: int
    nodes: int
    booting: float
    busy: float
    idle: float
    gpu_work: float
    cost: float | None
    end: float
    mean_wait: float
    bound: Bound

    @property
    def paid(self) -> float:
        """All node seconds that are paid for."""
        return self.booting + self.busy + self.idle

    @property
    def gpu_busy(self) -> float:
        """GPU utilization, 0 to 1, while jobs run."""
        return self.gpu_work / (self.busy * self.pool.gpus) if self.busy else 0.0

    @property
    def gpu_paid(self) -> float:
        """GPU utilization, 0 to 1, of the time that is paid for."""
        return self.gpu_work / (self.paid * self.pool.gpus) if self.paid else 0.0


class Plan(Record):
    """A schedule with what it amounts to; `bound` is what no plan can beat, None without jobs."""

    schedule: Schedule
    pools: tuple[PoolUse, ...]
    bound: Bound | None

    @property
    def makespan(self) -> float:
        """Seconds from the creation of the pipeline to the end of the last job."""
        return self.schedule.makespan

    @property
    def above_bound(self) -> float:
        """How much longer than the lower bound, as a share of it."""
        if self.bound is None or not self.bound.seconds:
            return 0.0
        return self.makespan / self.bound.seconds - 1

    @property
    def is_shortest(self) -> bool:
        """Whether no plan can be shorter, by more than rounding."""
        return self.above_bound < _ROUNDING

    @property
    def cost(self) -> float | None:
        """Cost of all nodes, or None when one of the pools has no price."""
        costs = [use.cost for use in self.pools]
        return None if None in costs else sum(each for each in costs if each is not None)

    @property
    def paid(self) -> float:
        """Node seconds of all pools that are paid for."""
        return sum(use.paid for use in self.pools)

    @property
    def gpu_busy(self) -> float:
        """Utilization of all GPUs, 0 to 1, while jobs run on their node."""
        return self._gpu_share(lambda use: use.busy)

    @property
    def gpu_paid(self) -> float:
        """Utilization of all GPUs, 0 to 1, over the time that is paid for."""
        return self._gpu_share(lambda use: use.paid)

    def _gpu_share(self, seconds: Callable[[PoolUse], float]) -> float:
        """Work of all GPUs as a share of what they could do in that many node seconds."""
        able = sum(seconds(use) * use.pool.gpus for use in self.pools)
        return sum(use.gpu_work for use in self.pools) / able if able else 0.0

    @property
    def mean_wait(self) -> float:
        """Mean seconds from the creation of the pipeline to the start of a job."""
        return fmean([run.waiting for run in self.schedule.runs] or [0.0])

    @property
    def late(self) -> tuple[Run, ...]:
        """The runs that their timeout would end first."""
        return tuple(run for run in self.schedule.runs if run.is_late)

    @property
    def hopeless(self) -> tuple[Run, ...]:
        """The runs whose pod is Pending for longer than their runner waits."""
        return tuple(run for run in self.schedule.runs if run.hopeless)

    @property
    def is_sound(self) -> bool:
        """Whether every job starts, none is given up on while Pending, and none times out."""
        return not (self.schedule.stuck or self.late or self.hopeless)


def summarise(schedule: Schedule) -> Plan:
    """The plan that a schedule amounts to."""
    workload = schedule.workload
    bounds = pool_bounds(workload)
    return Plan(
        schedule=schedule,
        pools=tuple(
            _pool_use(pool, schedule, bounds[name])
            for name, pool in workload.pools.items()
            if name in bounds
        ),
        bound=lower_bound(workload),
    )


def _pool_use(pool: PlannedPool, schedule: Schedule, bound: Bound) -> PoolUse:
    nodes = [node for node in schedule.nodes if node.pool == pool.name]
    runs = [run for run in schedule.runs if run.job.pool == pool.name]
    paid = sum(node.removed - node.created for node in nodes)
    busy = sum(_busy(node) for node in nodes)
    booting = sum(min(node.ready, node.removed) - node.created for node in nodes)
    return PoolUse(
        pool=pool,
        jobs=len(runs),
        nodes=len(nodes),
        booting=booting,
        busy=busy,
        idle=max(paid - busy - booting, 0.0),
        gpu_work=sum(_gpu_work(node, pool.gpus) for node in nodes),
        cost=None if pool.price is None else paid / _HOUR * pool.price,
        end=max((run.end for run in runs), default=0.0),
        mean_wait=fmean([run.waiting for run in runs] or [0.0]),
        bound=bound,
    )


def _busy(node: NodeLife) -> float:
    return sum(each.end - each.start for each in node.stretches if each.jobs)


def _gpu_work(node: NodeLife, gpus: int) -> float:
    return sum((each.end - each.start) * each.gpu * gpus for each in node.stretches)
