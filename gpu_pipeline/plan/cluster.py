"""The nodes of one pool in the simulation: kube-scheduler and cluster autoscaler."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from gpu_pipeline.plan.model import NodeLife, PlannedJob, PlannedPool, Reason
from gpu_pipeline.plan.node import Node, lacking
from gpu_pipeline.record import Record

_Size = tuple[int, int, int]


class Started(Record):
    """A pod that began to run: its key, node and slot.

    It waited for a node to boot until `since`, and from then on for what it `lacked`, if anything.
    """

    key: int
    node: Node
    slot: int
    lacked: Reason | None
    since: float


class PoolState:
    """Pending pods and nodes of one pool.

    `announce(time, node)` is called when something will happen to a node at that time.
    """

    def __init__(self, pool: PlannedPool, announce: Callable[[float, Node], None]) -> None:
        self.pool = pool
        self.nodes: list[Node] = []
        self._alive: list[Node] = []
        self._announce = announce
        # Pods of one size fit or do not fit alike, so only the first of each size is looked at.
        self._pending: dict[_Size, list[tuple[int, PlannedJob]]] = {}
        self._unexplained: list[tuple[int, PlannedJob]] = []
        self._lacked: dict[int, tuple[Reason, float]] = {}
        for _ in range(pool.min_nodes):
            self._boot(0.0, pool.pull.value)

    def never_fits(self, job: PlannedJob) -> Reason | None:
        """What even an empty node lacks for `job`."""
        return lacking(job, self.pool.allocatable, self.pool.concurrency)

    def add(self, key: int, job: PlannedJob) -> None:
        """A new pod, Pending."""
        heapq.heappush(self._pending.setdefault(job.requests, []), (key, job))
        self._unexplained.append((key, job))

    def schedule(self, now: float) -> Iterator[Started]:
        """Start every pod that fits somewhere.

        A pod that fits nowhere lets later ones of another size pass; as nodes only fill up here,
        none of its size is looked at again.
        """
        heads = [queue[0] for queue in self._pending.values()]
        heapq.heapify(heads)
        while heads and any(node.is_ready and node.slots_free for node in self._alive):
            key, job = heapq.heappop(heads)
            node = self._node_for(job)
            if node is None:
                continue
            following = self._take_first(job.requests)
            if following is not None:
                heapq.heappush(heads, following)
            lacked, since = self._lacked.pop(key, (None, now))
            slot = node.start(key, job, now)
            yield Started(key=key, node=node, slot=slot, lacked=lacked, since=since)
        self._explain(now)
        self._scale_up(now)

    def _explain(self, now: float) -> None:
        """Note what pods lack that ready nodes have no room for; until then they wait for one."""
        ready = [node for node in self._alive if node.is_ready]
        if not ready or not self._unexplained:
            return
        pending = {key for queue in self._pending.values() for key, _ in queue}
        for key, job in self._unexplained:
            reasons = [reason for node in ready if (reason := node.lacks(job))]
            if key in pending and reasons:
                self._lacked[key] = (min(reasons, key=list(Reason).index), now)
        self._unexplained = []

    def release(self, node: Node, now: float) -> None:
        """Let an idle node go when it has been idle for long enough."""
        if node.is_idle and len(self._alive) > self.pool.min_nodes:
            node.advance(now)
            node.removed = now
            self._alive.remove(node)

    def lives(self, end: float) -> Iterator[NodeLife]:
        """All nodes; those that stay are billed until `end`."""
        for node in self.nodes:
            if node.removed is None:
                node.advance(end)
            yield NodeLife(
                pool=self.pool.name,
                number=node.number,
                created=node.created,
                ready=node.ready,
                removed=end if node.removed is None else node.removed,
                stretches=tuple(node.stretches),
            )

    def _node_for(self, job: PlannedJob) -> Node | None:
        able = (node for node in self._alive if node.is_ready and node.lacks(job) is None)
        return min(able, key=lambda node: node.load, default=None)

    def _take_first(self, size: _Size) -> tuple[int, PlannedJob] | None:
        """Take the first pod of a size out of the queue, and return the next, which stays."""
        queue = self._pending[size]
        heapq.heappop(queue)
        if queue:
            return queue[0]
        del self._pending[size]
        return None

    def _scale_up(self, now: float) -> None:
        """Boot a node for each pod that the nodes which are booting will have no room for.

        An empty group of nodes is scaled by a template that knows the node's real GPUs only, not
        how many jobs share them (cluster-autoscaler, scaleway_node_group.go: TemplateNodeInfo).
        """
        if len(self._alive) >= self.pool.max_nodes or not self._pending:
            return
        known = any(node.is_ready for node in self._alive)
        pods = self.pool.concurrency if known else min(self.pool.gpus, self.pool.concurrency)
        room = [([*self.pool.allocatable], pods) for node in self._alive if not node.is_ready]
        for _, job in heapq.merge(*self._pending.values()):
            for i, (free, slots) in enumerate(room):
                if lacking(job, free, slots) is None:
                    room[i] = (_less(free, job), slots - 1)
                    break
            else:
                if len(self._alive) >= self.pool.max_nodes:
                    return
                self._boot(now, self.pool.boot.value + self.pool.pull.value)
                room.append((_less([*self.pool.allocatable], job), pods - 1))

    def _boot(self, now: float, seconds: float) -> None:
        node = Node(self.pool, len(self.nodes) + 1, created=now, ready=now + seconds)
        self.nodes.append(node)
        self._alive.append(node)
        self._announce(node.ready, node)


def _less(free: list[int | None], job: PlannedJob) -> list[int | None]:
    return [
        None if amount is None else amount - request
        for amount, request in zip(free, job.requests, strict=True)
    ]
