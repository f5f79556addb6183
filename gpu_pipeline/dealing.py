"""Deal jobs to slots so that the slot with the most work has as little as possible.

Identical machines, makespan: longest processing time first, then moves and swaps out of the fullest
slot until none helps. Two starts are tried, since each ends in a local optimum of its own; of a few
jobs, every deal is.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence

# What further improvement below this share of the fullest slot is worth: nothing.
_TOLERANCE = 1e-6
# So many jobs at most are dealt in every possible way.
_FEW = 10
_Slot = list[tuple[float, int]]
"""The jobs of a slot, each its length and number, in ascending order."""


def deal(lengths: Sequence[float], slots: int) -> list[int]:
    """The slot of each job, from 0. `lengths` are seconds, in any order; deterministic."""
    least = max([sum(lengths) / slots, *lengths])
    best: list[_Slot] = []
    for start in (_longest_first, _largest_differences):
        found = start(lengths, slots)
        _improve(found)
        if not best or _fullest(found) < _fullest(best) * (1 - _TOLERANCE):
            best = found
        if _fullest(best) <= least * (1 + _TOLERANCE):
            break
    if len(lengths) <= _FEW:
        best = _best_of_all(best, lengths, least)
    where = [0] * len(lengths)
    for number, slot in enumerate(_in_order(best)):
        for _, job in slot:
            where[job] = number
    return where


def _fullest(slots: list[_Slot]) -> float:
    return max(map(_load, slots))


def _load(slot: _Slot) -> float:
    return sum(length for length, _ in slot)


def _in_order(slots: list[_Slot]) -> list[_Slot]:
    """Slots by their first job, which stands first in the file."""
    return sorted(slots, key=lambda slot: min((job for _, job in slot), default=len(slots) ** 9))


def _longest_first(lengths: Sequence[float], slots: int) -> list[_Slot]:
    """Each job, longest first, to the slot with the least work so far."""
    dealt: list[_Slot] = [[] for _ in range(slots)]
    loads = [(0.0, number) for number in range(slots)]
    for job in sorted(range(len(lengths)), key=lambda job: -lengths[job]):
        load, number = loads[0]
        heapq.heapreplace(loads, (load + lengths[job], number))
        dealt[number].append((lengths[job], job))
    for slot in dealt:
        slot.sort()
    return dealt


def _largest_differences(lengths: Sequence[float], slots: int) -> list[_Slot]:
    """Karmarkar and Karp: put the two most uneven partial deals together, fullest on emptiest."""
    empty: _Slot = []
    heap: list[tuple[float, int, list[tuple[float, _Slot]]]] = []
    for job, length in enumerate(lengths):
        alone = [(length, [(length, job)]), *((0.0, empty) for _ in range(slots - 1))]
        heapq.heappush(heap, (-length, job, alone))
    while len(heap) > 1:
        _, first, one = heapq.heappop(heap)
        _, _, two = heapq.heappop(heap)
        both = [
            (load + other, jobs + others)
            for (load, jobs), (other, others) in zip(one, reversed(two), strict=True)
        ]
        both.sort(key=lambda slot: -slot[0])
        heapq.heappush(heap, (both[-1][0] - both[0][0], first, both))
    return [sorted(jobs) for _, jobs in heap[0][2]] if heap else [[] for _ in range(slots)]


def _improve(slots: list[_Slot]) -> None:
    """Move or swap jobs out of the fullest slot as long as that makes it less full."""
    loads = [_load(slot) for slot in slots]
    while True:
        fullest = max(range(len(slots)), key=loads.__getitem__)
        found = _best_exchange(slots, loads, fullest)
        if found is None:
            return
        given, other, taken = found
        _exchange(slots[fullest], slots[other], given, taken)
        for number in (fullest, other):
            loads[number] = _load(slots[number])


_Exchange = tuple[tuple[float, int], int, tuple[float, int] | None]
"""What the fullest slot gives, to which slot, and what it takes back, if anything."""


def _best_exchange(slots: list[_Slot], loads: list[float], fullest: int) -> _Exchange | None:
    """The move or swap after which the fuller of the two slots is least full."""
    best: _Exchange | None = None
    limit = loads[fullest] * (1 - _TOLERANCE)
    previous = None
    for given in reversed(slots[fullest]):
        if given[0] == previous:  # as good as the one before
            continue
        previous = given[0]
        for other, load in enumerate(loads):
            if other == fullest or load >= limit:
                continue
            # Taking `back` makes the two slots even; jobs just above and below are candidates.
            even = given[0] - (loads[fullest] - load) / 2
            at = bisect_left(slots[other], (even, -1))
            candidates: list[tuple[float, int] | None] = [*slots[other][max(at - 1, 0) : at + 1]]
            for taken in [*candidates, None]:
                change = given[0] - (taken[0] if taken else 0.0)
                fuller = max(loads[fullest] - change, load + change)
                if change > 0 and fuller < limit:
                    limit, best = fuller, (given, other, taken)
    return best


def _best_of_all(best: list[_Slot], lengths: Sequence[float], least: float) -> list[_Slot]:
    """Every way to deal a few jobs, but for those that cannot beat `best`."""
    jobs = sorted(((length, job) for job, length in enumerate(lengths)), reverse=True)
    slots: list[_Slot] = [[] for _ in best]

    def place(number: int, loads: list[float]) -> None:
        nonlocal best
        limit = _fullest(best) * (1 - _TOLERANCE)
        if number == len(jobs):
            best = [sorted(slot) for slot in slots]
            return
        length = jobs[number][0]
        for load in dict.fromkeys(loads):  # slots that are equally full are the same
            if load + length < limit and limit > least:
                slot = loads.index(load)
                slots[slot].append(jobs[number])
                place(number + 1, [*loads[:slot], load + length, *loads[slot + 1 :]])
                slots[slot].pop()
                limit = _fullest(best) * (1 - _TOLERANCE)

    place(0, [0.0] * len(best))
    return best


def _exchange(
    one: _Slot, other: _Slot, given: tuple[float, int], taken: tuple[float, int] | None
) -> None:
    one.remove(given)
    insort(other, given)
    if taken is not None:
        other.remove(taken)
        insort(one, taken)
