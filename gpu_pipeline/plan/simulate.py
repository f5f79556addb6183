"""Play a workload through: who runs where and when. Deterministic, and without a clock.

GitLab hands out jobs in the order of their creation, one at a time from each resource group; the
runner takes as many as it may; kube-scheduler places a pod where its requests fit and the pool's
concurrency allows; the autoscaler boots nodes for pods that fit nowhere, and removes idle ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import msgspec
from msgspec import field

from gpu_pipeline.plan.cluster import PoolState
from gpu_pipeline.plan.model import (
    PlannedJob,
    Reason,
    Run,
    Schedule,
    Stuck,
    Wait,
    Workload,
)
from gpu_pipeline.plan.node import Node

# Two things at the same instant: jobs end before nodes are looked at.
_EPSILON = 1e-9


def simulate(workload: Workload) -> Schedule:
    """The schedule of a workload. Every job runs once, or is `stuck` with the reason."""
    return _Simulation(workload).run()


class _Progress(msgspec.Struct, kw_only=True):
    """How far a job has come: the time of each step that it has behind it."""

    missing: int
    released: float = 0.0
    grouped: float = 0.0
    picked: float = 0.0
    start: float = 0.0
    node: int = 0
    slot: int = 0
    end: float | None = None
    waits: list[Wait] = field(default_factory=list)


class _Simulation:
    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._jobs = workload.jobs
        self._keys = {job.name: key for key, job in enumerate(self._jobs)}
        self._dependents: dict[int, list[int]] = {}
        for key, job in enumerate(self._jobs):
            for needed in job.needs:
                self._dependents.setdefault(self._keys[needed], []).append(key)
        self._progress = [_Progress(missing=len(job.needs)) for job in self._jobs]
        self._stuck: dict[int, str] = {}
        self._events: list[tuple[float, int, int | None, Node | None, int]] = []
        self._sequence = 0
        self._groups = _Groups(self._jobs)
        self._runners = _Runners(self._jobs, workload.limits)
        self._pools = {
            name: PoolState(pool, self._announce) for name, pool in workload.pools.items()
        }

    def run(self) -> Schedule:
        for key, job in enumerate(self._jobs):
            if not job.needs:
                self._push(job.delay, key, None)
        while self._events:
            now = self._events[0][0]
            while self._events and self._events[0][0] <= now + _EPSILON:
                _, _, released, node, version = heapq.heappop(self._events)
                if node is not None:
                    self._at_node(node, version, now)
                elif released is not None:
                    self._release(released, now)
            self._dispatch(now)
        end = max((each.end for each in self._progress if each.end is not None), default=0.0)
        return Schedule(
            workload=self._workload,
            runs=tuple(self._result(key) for key in range(len(self._jobs)) if self._ran(key)),
            nodes=tuple(life for pool in self._pools.values() for life in pool.lives(end)),
            stuck=tuple(Stuck(job=self._jobs[key], why=why) for key, why in self._stuck.items()),
        )

    def _push(self, time: float, key: int | None, node: Node | None) -> None:
        self._sequence += 1
        version = node.version if node else 0
        heapq.heappush(self._events, (time, self._sequence, key, node, version))

    def _announce(self, time: float, node: Node) -> None:
        self._push(time, None, node)

    def _at_node(self, node: Node, version: int, now: float) -> None:
        """A node became ready, a job on it ended, or it was idle for long enough."""
        if node.removed is not None or version != node.version:
            return
        pool = self._pools[node.pool.name]
        if not node.is_ready:
            node.is_ready = True
            if node.is_idle:
                self._push(now + node.pool.idle.value, None, node)
            return
        ending = node.next_end()
        if ending is None:
            pool.release(node, now)
            return
        while ending is not None and ending[0] <= now + _EPSILON:
            node.finish(ending[1], now)
            self._finish(ending[1], now)
            ending = node.next_end()
        self._expect(node, now)

    def _expect(self, node: Node, now: float) -> None:
        """Announce what happens next on a node if nothing changes."""
        ending = node.next_end()
        self._push(ending[0] if ending else now + node.pool.idle.value, None, node)

    def _release(self, key: int, now: float) -> None:
        """All that the job needs has ended, and its delay is over."""
        job, progress = self._jobs[key], self._progress[key]
        ends = [self._progress[self._keys[name]].end or 0.0 for name in job.needs]
        needed = max(ends, default=0.0)
        self._waited(key, Reason.NEEDS, 0.0, needed)
        self._waited(key, Reason.DELAY, needed, now)
        progress.released = now
        self._groups.add(key)

    def _dispatch(self, now: float) -> None:
        for key in self._groups.take():
            self._waited(key, Reason.GROUP, self._progress[key].released, now)
            self._progress[key].grouped = now
            self._runners.add(key)
        touched: dict[int, Node] = {}
        for key in self._runners.take():
            self._pick(key, now)
        for pool in self._pools.values():
            for begun in pool.schedule(now):
                progress = self._progress[begun.key]
                self._waited(begun.key, Reason.BOOT, progress.picked, begun.since)
                if begun.lacked is not None:
                    self._waited(begun.key, begun.lacked, begun.since, now)
                progress.start, progress.node, progress.slot = now, begun.node.number, begun.slot
                touched[id(begun.node)] = begun.node
        for node in touched.values():
            self._expect(node, now)

    def _pick(self, key: int, now: float) -> None:
        """The runner takes the job and makes its pod."""
        job, progress = self._jobs[key], self._progress[key]
        self._waited(key, Reason.RUNNER, progress.grouped, now)
        progress.picked = now
        pool = self._pools[job.pool]
        reason = pool.never_fits(job)
        if reason is not None:
            self._fail(key, f"no node of {job.pool} has enough: {reason}")
        else:
            pool.add(key, job)

    def _finish(self, key: int, now: float) -> None:
        self._progress[key].end = now
        self._groups.leave(key)
        self._runners.leave(key)
        for dependent in self._dependents.get(key, ()):
            self._progress[dependent].missing -= 1
            if not self._progress[dependent].missing and dependent not in self._stuck:
                self._push(now + self._jobs[dependent].delay, dependent, None)

    def _fail(self, key: int, why: str) -> None:
        """The job never starts, nor does any that needs it."""
        self._stuck[key] = why
        self._groups.leave(key)
        self._runners.leave(key)
        waiting = list(self._dependents.get(key, ()))
        while waiting:
            dependent = waiting.pop()
            if dependent not in self._stuck:
                self._stuck[dependent] = f"it needs {self._jobs[key].name}, which never starts"
                waiting += self._dependents.get(dependent, ())
        self._push(self._progress[key].picked, None, None)

    def _waited(self, key: int, reason: Reason, start: float, end: float) -> None:
        if end > start + _EPSILON:
            self._progress[key].waits.append(Wait(reason=reason, start=start, end=end))

    def _ran(self, key: int) -> bool:
        return self._progress[key].end is not None

    def _result(self, key: int) -> Run:
        progress = self._progress[key]
        return Run(
            job=self._jobs[key],
            node=progress.node,
            slot=progress.slot,
            picked=progress.picked,
            start=progress.start,
            end=progress.end or 0.0,
            waits=tuple(progress.waits),
        )


class _Groups:
    """Resource groups: one job of each at a time, in the order of creation."""

    def __init__(self, jobs: tuple[PlannedJob, ...]) -> None:
        self._jobs = jobs
        self._waiting: dict[str, list[int]] = {}
        self._busy: set[str] = set()
        self._free: list[int] = []
        self._changed: dict[str, None] = {}

    def add(self, key: int) -> None:
        group = self._jobs[key].group
        if group is None:
            heapq.heappush(self._free, key)
        else:
            heapq.heappush(self._waiting.setdefault(group, []), key)
            self._changed[group] = None

    def leave(self, key: int) -> None:
        group = self._jobs[key].group
        if group is not None:
            self._busy.discard(group)
            self._changed[group] = None

    def take(self) -> list[int]:
        """The jobs that go on to the runners now, in the order of creation."""
        taken, self._free = self._free, []
        for group in self._changed:
            if group not in self._busy and self._waiting.get(group):
                self._busy.add(group)
                taken.append(heapq.heappop(self._waiting[group]))
        self._changed = {}
        return sorted(taken)


class _Runners:
    """What the runners may take at once: each its own limit, all of them `concurrent`."""

    def __init__(self, jobs: tuple[PlannedJob, ...], limits: Mapping[str, int]) -> None:
        self._jobs = jobs
        self._room = dict(limits)
        self._waiting: dict[str, list[int]] = {}

    def add(self, key: int) -> None:
        heapq.heappush(self._waiting.setdefault(self._jobs[key].runner, []), key)

    def leave(self, key: int) -> None:
        for name in {self._jobs[key].runner, ""}:
            if name in self._room:
                self._room[name] += 1

    def take(self) -> list[int]:
        """The jobs that runners take now, in the order of creation."""
        taken = []
        while self._room.get("", 1) > 0:
            able = [
                queue[0]
                for runner, queue in self._waiting.items()
                if queue and self._room.get(runner, 1) > 0
            ]
            if not able:
                break
            key = min(able)
            runner = self._jobs[key].runner
            heapq.heappop(self._waiting[runner])
            for name in {runner, ""}:
                if name in self._room:
                    self._room[name] -= 1
            taken.append(key)
        return taken
