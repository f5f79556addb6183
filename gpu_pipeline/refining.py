"""Refine how a few jobs are dealt, by how long they take when they share GPUs.

Where jobs slow each other down, slots of equal work do not end at the same time, and dealing by
work alone misses the best deal. So moves and swaps are judged by when the last GPU is done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from gpu_pipeline.levelling import Load

Slots = list[list[int]]
"""The jobs of each slot, by number, in their order. Of the slots with jobs, the nth is on GPU
n % gpus: the scheduler puts the first job of each where fewest are."""

# With more jobs there is little left to gain, and too much to try; even more so for pairs of them.
FEW = 200
VERY_FEW = 9
_FEW_TO_SWAP = 40
_TOLERANCE = 1e-6
_MAX_TRIALS = 2_000
_MAX_DEALS = 1_000


def gpu_time(loads: Sequence[Load], queues: Sequence[Sequence[int]]) -> float:
    """How long a GPU takes for its slots' jobs: together they run at min(1, 1/Σshare) of alone."""
    positions = [0] * len(queues)
    running = {
        slot: (loads[queue[0]].seconds, loads[queue[0]].share)
        for slot, queue in enumerate(queues)
        if queue
    }
    total = 0.0
    while running:
        asked = sum(share for _, share in running.values())
        slower = max(asked, 1.0)
        passed = min(left for left, _ in running.values())
        total += passed * slower
        following = {}
        for slot, (left, share) in running.items():
            if left - passed > _TOLERANCE:
                following[slot] = (left - passed, share)
                continue
            positions[slot] += 1
            if positions[slot] < len(queues[slot]):
                load = loads[queues[slot][positions[slot]]]
                following[slot] = (load.seconds, load.share)
        running = following
    return total


def time_of(loads: Sequence[Load], slots: Slots, gpus: int) -> float:
    """How long the GPU that takes longest takes."""
    return max(_times(loads, [slot for slot in slots if slot], gpus))


def time_placed(loads: Sequence[Load], slots: Slots, gpus: int) -> float:
    """How long all takes when each job goes to the GPU that has the fewest then, as it will.

    A slot is not held to a GPU: where others have run out of jobs, its next one moves. That is what
    `time_of` leaves out, which is fast enough for many jobs.
    """
    queues = [deque(slot) for slot in slots if slot]
    running: dict[int, tuple[float, float, int]] = {}
    starting: Iterable[int] = range(len(queues))
    on = [0] * gpus
    total = 0.0
    while True:
        for slot in starting:
            if queues[slot]:
                load, gpu = loads[queues[slot].popleft()], on.index(min(on))
                on[gpu] += 1
                running[slot] = (load.seconds, load.share, gpu)
        if not running:
            return total
        asked = [0.0] * gpus
        for _, share, gpu in running.values():
            asked[gpu] += share
        slower = [max(each, 1.0) for each in asked]
        passed = min(left * slower[gpu] for left, _, gpu in running.values())
        total += passed
        starting = []
        for slot, (before, share, gpu) in list(running.items()):
            left = before - passed / slower[gpu]
            running[slot] = (left, share, gpu)
            if left <= _TOLERANCE:
                del running[slot]
                on[gpu] -= 1
                starting.append(slot)


def least_time(loads: Sequence[Load], *, slots: int, gpus: int) -> float:
    """No deal takes less: the longest job, the time over the slots, the GPU work over the GPUs."""
    seconds = [load.seconds for load in loads]
    work = sum(load.seconds * load.share for load in loads)
    return max([*seconds, sum(seconds) / slots, work / gpus])


def refine(loads: Sequence[Load], slots: Slots, gpus: int) -> Slots:
    """Move and swap jobs, one or two at a time, as long as the last GPU is done sooner by it.

    Within a slot the order of the numbers is kept, longest first.
    """
    slots = [sorted(slot) for slot in slots if slot]
    times = _times(loads, slots, gpus)
    least = least_time(loads, slots=len(slots), gpus=gpus) * (1 + _TOLERANCE)
    trials = 0
    improved = True
    while improved and max(times) > least:
        improved = False
        for changed in _neighbours(slots, times.index(max(times)), gpus):
            trials += 1
            after = _after(loads, slots, changed, times, gpus)
            if _better(after, times):
                slots = _changed(slots, changed)
                times, improved = after, True
                break
        if trials > _MAX_TRIALS:
            break
    return slots


def _after(
    loads: Sequence[Load],
    slots: Slots,
    changed: dict[int, list[int]],
    times: list[float],
    gpus: int,
) -> list[float]:
    """How long each GPU takes after a change; only what changed is looked at anew."""
    if not all(changed.values()):  # a slot is left empty, and later ones go to other GPUs
        return _times(loads, _changed(slots, changed), gpus)
    after = list(times)
    for gpu in {slot % gpus for slot in changed}:
        queues = [changed.get(slot, slots[slot]) for slot in range(gpu, len(slots), gpus)]
        after[gpu] = gpu_time(loads, queues)
    return after


def _changed(slots: Slots, changed: dict[int, list[int]]) -> Slots:
    """The slots after a change, without empty ones."""
    return [jobs for slot, old in enumerate(slots) if (jobs := changed.get(slot, old))]


def _better(after: list[float], before: list[float]) -> bool:
    """Whether the last GPU is done sooner; of equally late ones, the others count."""
    if max(after) < max(before) * (1 - _TOLERANCE):
        return True
    return max(after) <= max(before) and sum(after) < sum(before) * (1 - _TOLERANCE)


def _neighbours(slots: Slots, latest: int, gpus: int) -> Iterator[dict[int, list[int]]]:
    """What one move, or else one swap, out of the latest GPU makes of the slots that it changes."""
    pairs = [
        (one, other)
        for one in range(latest, len(slots), gpus)
        for other in range(len(slots))
        if other != one
    ]
    for one, other in pairs:
        for given in slots[one]:
            rest = [job for job in slots[one] if job != given]
            yield {one: rest, other: sorted([*slots[other], given])}
    for one, other in pairs if sum(map(len, slots)) <= _FEW_TO_SWAP else ():
        for given in slots[one]:
            rest = [job for job in slots[one] if job != given]
            for taken in slots[other]:
                left = [job for job in slots[other] if job != taken]
                yield {one: sorted([*rest, taken]), other: sorted([*left, given])}


def _times(loads: Sequence[Load], slots: Slots, gpus: int) -> list[float]:
    return [gpu_time(loads, slots[gpu::gpus]) for gpu in range(gpus)]


def best_of_all(loads: Sequence[Load], count: int, gpus: int, at_most: float) -> Slots | None:
    """The best of all ways to deal a few jobs to `count` slots; None if none takes less.

    Slots are filled from the longest job on. A part of a deal is given up when one of its slots
    takes as long as the best deal so far.
    """
    best: Slots | None = None
    slots: Slots = [[] for _ in range(count)]
    limit, leaves = at_most * (1 - _TOLERANCE), 0

    def place(job: int, used: int) -> None:
        nonlocal best, limit, leaves
        if leaves >= _MAX_DEALS:
            return
        if job == len(loads):
            leaves += 1
            time = time_placed(loads, slots[:used], gpus)
            if time < limit:
                best, limit = [list(slot) for slot in slots[:used]], time * (1 - _TOLERANCE)
            return
        for slot in range(min(used + 1, count)):  # empty slots are all alike
            slots[slot].append(job)
            if sum(loads[each].seconds for each in slots[slot]) < limit:
                place(job + 1, max(used, slot + 1))
            slots[slot].pop()

    place(0, 0)
    return best
