"""A node in the simulation: what runs on it, how fast, and what is still free."""

from __future__ import annotations

import heapq

import msgspec

from gpu_pipeline.plan.model import PlannedJob, PlannedPool, Reason, Stretch

_LACKING = (Reason.CPU, Reason.MEMORY, Reason.DISK)


def lacking(
    job: PlannedJob, free: tuple[int | None, ...] | list[int | None], slots: int
) -> Reason | None:
    """What a node with that much free lacks for the pod of `job`; None if it fits.

    kube-scheduler, NodeResourcesFit: requests only, and equality fits.
    """
    if not slots:
        return Reason.SLOT
    for request, amount, reason in zip(job.requests, free, _LACKING, strict=True):
        if amount is not None and request > amount:
            return reason
    return None


class _Running(msgspec.Struct):
    job: PlannedJob
    gpu: int
    slot: int
    remaining: float


class Node:
    """One node. Jobs on one GPU share it, and all jobs share the cores.

    With utilizations u of the jobs on a GPU, each runs at min(1, 1/Σu) of its speed alone; CPU that
    the jobs keep busy is shared in the same way against what is allocatable. `version` changes with
    what runs, so that an announced end can be told from an outdated one.
    """

    def __init__(self, pool: PlannedPool, number: int, *, created: float, ready: float) -> None:
        self.pool = pool
        self.number = number
        self.created = created
        self.ready = ready
        self.is_ready = False
        self.removed: float | None = None
        self.free: list[int | None] = list(pool.allocatable)
        self.version = 0
        self.stretches: list[Stretch] = []
        self._slots = list(range(1, pool.concurrency + 1))
        self._running: dict[int, _Running] = {}
        self._gpu_jobs = [0] * pool.gpus
        self._now = ready
        self._rates: dict[int, float] = {}

    @property
    def slots_free(self) -> int:
        """How many more jobs the pool's concurrency allows here."""
        return len(self._slots)

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs."""
        return not self._running

    @property
    def load(self) -> tuple[int, float, int]:
        """What the scheduler prefers the least of: jobs, then requested share, then number."""
        free, whole = self.free[0], self.pool.allocatable[0]
        used = 1 - free / whole if free is not None and whole else 0.0
        return len(self._running), used, self.number

    def lacks(self, job: PlannedJob) -> Reason | None:
        """What is missing for `job` right now; None if it can start."""
        return lacking(job, self.free, len(self._slots))

    def start(self, key: int, job: PlannedJob, now: float) -> int:
        """Begin `job` and return its slot; the GPU with the fewest jobs takes it."""
        self.advance(now)
        gpu = min(range(len(self._gpu_jobs)), key=self._gpu_jobs.__getitem__)
        slot = heapq.heappop(self._slots)
        self._gpu_jobs[gpu] += 1
        self._take(job, 1)
        self._running[key] = _Running(job, gpu, slot, job.seconds.value)
        self._changed()
        return slot

    def finish(self, key: int, now: float) -> None:
        """End a job whose work is done."""
        self.advance(now)
        ended = self._running.pop(key)
        heapq.heappush(self._slots, ended.slot)
        self._gpu_jobs[ended.gpu] -= 1
        self._take(ended.job, -1)
        self._changed()

    def next_end(self) -> tuple[float, int] | None:
        """When the next job ends if nothing changes before, and which."""
        return min(
            (
                (self._now + each.remaining / self._rates[key], key)
                for key, each in self._running.items()
            ),
            default=None,
        )

    def advance(self, now: float) -> None:
        """Let everything run until `now`."""
        passed = now - self._now
        if passed <= 0:
            return
        work = 0.0
        for key, each in self._running.items():
            rate = self._rates[key]
            each.remaining -= passed * rate
            work += rate * each.job.gpu.value
        jobs = len(self._running)
        gpu = work / self.pool.gpus
        last = self.stretches[-1] if self.stretches else None
        if last and last.jobs == jobs and last.gpu == gpu and last.end == self._now:
            self.stretches[-1] = Stretch(start=last.start, end=now, gpu=gpu, jobs=jobs)
        else:
            self.stretches.append(Stretch(start=self._now, end=now, gpu=gpu, jobs=jobs))
        self._now = now

    def _take(self, job: PlannedJob, sign: int) -> None:
        for i, request in enumerate(job.requests):
            amount = self.free[i]
            if amount is not None:
                self.free[i] = amount - sign * request

    def _changed(self) -> None:
        self.version += 1
        wanted = [0.0] * self.pool.gpus
        cores = 0.0
        for each in self._running.values():
            wanted[each.gpu] += each.job.gpu.value
            cores += each.job.cpu.value
        whole = self.pool.allocatable[0]
        of_cpu = 1.0 if whole is None or cores * 1000 <= whole else whole / 1000 / cores
        self._rates = {
            key: min(1.0, of_cpu, 1.0 / wanted[each.gpu] if wanted[each.gpu] > 1 else 1.0)
            for key, each in self._running.items()
        }
