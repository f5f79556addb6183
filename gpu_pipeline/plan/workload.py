"""From jobs and pools of the routing to what a plan is made from, each figure with its source."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal

from msgspec import field

from gpu_pipeline.cluster.fit import RunnerOf, node_size, pod_request
from gpu_pipeline.cluster.pool_start import BOOT_ESTIMATE, PULL_ESTIMATE
from gpu_pipeline.cluster.runner_config import Runner
from gpu_pipeline.cluster.runner_keys import DEFAULT_POLL_TIMEOUT
from gpu_pipeline.demand import TrainingTime, training_times
from gpu_pipeline.durations import parse_duration
from gpu_pipeline.durations_file import Durations
from gpu_pipeline.jobs import Job
from gpu_pipeline.plan.model import (
    RESOURCES,
    Figure,
    PlannedJob,
    PlannedPool,
    Source,
    Workload,
)
from gpu_pipeline.problems import Origin
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.queueing import Queued
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pipeline, Pool
from gpu_pipeline.words import count

# cluster-autoscaler, scale-down-unneeded-time; Kapsule has the same default.
IDLE_ESTIMATE = "10m"
_MILLI = 1000
# A job of which nothing is said is taken to fill the GPU: then sharing promises nothing.
_GPU_SHARE = 1.0


class Circumstances(Record):
    """What a plan knows besides the routing.

    `runner_of` says which runner takes a job; `limits` how many jobs each runner takes at once, by
    its name, "" for all of them together. `delays` are the jobs' start_in, in seconds. `measured`
    are training times by job and pool: one from another pool says little about this one.
    """

    runner_of: RunnerOf = lambda _job: None
    limits: Mapping[str, int] = field(default_factory=dict)
    delays: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[tuple[str, str], Figure] = field(default_factory=dict)


def workload_of(
    queue: Sequence[Queued], circumstances: Circumstances, pipeline: Pipeline
) -> Workload:
    """The workload of the jobs, in the order of their creation."""
    jobs = [each.job for each in queue]
    times = training_times(jobs)
    names = set(times)
    return Workload(
        jobs=tuple(
            _planned(
                each,
                _seconds(
                    times[each.job.name],
                    circumstances.measured.get((each.job.name, each.job.pool.value)),
                ),
                circumstances,
                names,
            )
            for each in queue
        ),
        pools={
            name: _pool(name, job.pool_settings, job.pool_origins, pipeline.queue)
            for name, job in {job.pool.value: job for job in jobs}.items()
        },
        limits=circumstances.limits,
        currency=pipeline.currency or "",
    )


def measured_figures(durations: Durations, file: str) -> dict[tuple[str, str], Figure]:
    """The median of each measured job, by job and pool; `file` is the name to show."""
    return {
        (each.name, each.pool): Figure(
            value=each.p50,
            source=Source.MEASURED,
            origin=f"{file}: median of {count(each.samples, 'run')}",
        )
        for each in durations.jobs
    }


def _seconds(said: TrainingTime, measured: Figure | None) -> Figure:
    if measured is not None:
        return measured
    if said.origin is not None:
        return Figure(value=said.seconds, source=Source.CONFIGURED, origin=str(said.origin))
    return Figure(value=said.seconds, source=Source.ASSUMED, origin=said.assumed)


def _planned(
    queued: Queued, seconds: Figure, circumstances: Circumstances, names: set[str]
) -> PlannedJob:
    job = queued.job
    runner = circumstances.runner_of(job)
    request = pod_request(job, runner)
    return PlannedJob(
        name=job.name,
        task=job.task,
        family=job.family,
        models=job.models,
        pool=job.pool.value,
        seconds=seconds,
        gpu=_gpu(job),
        cpu=_cpu(job),
        requests=(
            _up(request[RESOURCES[0]] * _MILLI),
            _up(request[RESOURCES[1]]),
            _up(request[RESOURCES[2]]),
        ),
        timeout=float(parse_duration(job.timeout)),
        group=queued.group,
        # A needed job that is not part of this run is not waited for.
        needs=tuple(name for name in job.needs if name in names),
        delay=circumstances.delays.get(job.name, 0.0),
        runner=_key(runner),
        gpu_memory=_up(parse_quantity(job.gpu_memory.value)) if job.gpu_memory else None,
        pinned=job.pinned is not None,
        poll_timeout=_poll_timeout(runner),
    )


def _gpu(job: Job) -> Figure:
    if job.gpu_utilization is None:
        origin = "as if a job filled the GPU: gpu_utilization is not set"
        return Figure(value=_GPU_SHARE, source=Source.ASSUMED, origin=origin)
    return _configured(job.gpu_utilization.value, job.gpu_utilization.origin)


def _cpu(job: Job) -> Figure:
    if job.cpu_usage is not None:
        return _configured(float(parse_quantity(job.cpu_usage.value)), job.cpu_usage.origin)
    request = job.values.requests.get("cpu")
    cores = float(parse_quantity(request.value)) if request else 0.0
    return Figure(
        value=cores, source=Source.ASSUMED, origin="its CPU request: cpu_usage is not set"
    )


def _configured(value: float, origin: Origin) -> Figure:
    return Figure(value=value, source=Source.CONFIGURED, origin=str(origin))


def _poll_timeout(runner: Runner | None) -> float | None:
    if runner is None:
        return None
    return float(runner.poll_timeout.value if runner.poll_timeout else DEFAULT_POLL_TIMEOUT)


def _key(runner: Runner | None) -> str:
    """The name under which a runner's limit stands."""
    return f"{runner.name}:{runner.line}" if runner else ""


def runner_limits(runners: Sequence[Runner], concurrent: int | None) -> dict[str, int]:
    """How many jobs at once each of the runners takes, and all of them together.

    config.toml: `concurrent` bounds the manager, `limit` one [[runners]]; 0 means no bound.
    """
    limits = {_key(each): each.limit.value for each in runners if each.limit and each.limit.value}
    return limits | ({"": concurrent} if concurrent else {})


def _pool(name: str, pool: Pool, origins: Mapping[str, Origin], queue: str | None) -> PlannedPool:
    size = node_size(pool)

    def down(resource: str, unit: int) -> int | None:
        amount = size.amounts.get(resource)
        return None if amount is None else int(amount * unit)

    def time(key: str, stated: str | None, estimate: str) -> Figure:
        if stated is None:
            value = float(parse_duration(estimate))
            return Figure(value=value, source=Source.ASSUMED, origin=f"{key} is not set")
        return _configured(float(parse_duration(stated)), origins[key])

    return PlannedPool(
        name=name,
        gpu=pool.gpu or "",
        gpus=pool.gpus or 1,
        concurrency=pool.concurrency or 1,
        min_nodes=pool.min_nodes or 0,
        max_nodes=pool.max_nodes or 1,
        allocatable=(
            down(RESOURCES[0], _MILLI),
            down(RESOURCES[1], 1),
            down(RESOURCES[2], 1),
        ),
        boot=time("boot_time", pool.boot_time, BOOT_ESTIMATE),
        pull=time("image_pull_time", pool.image_pull_time, PULL_ESTIMATE),
        idle=time("idle_time", pool.idle_time, IDLE_ESTIMATE),
        price=pool.price_per_hour,
        speed=pool.gpu_speed,
        gpu_memory=int(parse_quantity(pool.gpu_memory)) if pool.gpu_memory else None,
        queue=pool.queue or queue or "gitlab",
        sharing=pool.sharing,
    )


def _up(amount: Decimal) -> int:
    """Whole millicores or bytes, rounded up as the scheduler does (MilliValue and Value)."""
    return math.ceil(amount)
