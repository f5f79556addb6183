"""Deal jobs that keep a GPU busy to different degrees, so that no GPU lacks work or has too much.

Jobs on one GPU slow each other down only when together they ask for more than all of it. So each
GPU gets as much work and as much time as the others; on one GPU, some slots begin with the jobs
that keep it busiest and others with those that do so least, which keeps their sum level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import field

from gpu_pipeline.dealing import deal
from gpu_pipeline.record import Record

# Exchanges between GPUs after the first deal; with many jobs that deal is even already.
_EXCHANGES = 25
_FEW = 300
_TOLERANCE = 1e-4


class Load(Record):
    """A job: `seconds` alone, and the `share` of a GPU that it keeps busy, 0 to 1."""

    seconds: float
    share: float


class _Gpu(msgspec.Struct):
    """The jobs of one GPU, by number; seconds of `time` in each slot, and of `work` at full use."""

    time: float = 0.0
    work: float = 0.0
    jobs: list[int] = field(default_factory=list)

    @property
    def fullness(self) -> float:
        """How long the GPU needs at least."""
        return max(self.time, self.work)


def deal_level(loads: Sequence[Load], *, gpus: int, per_gpu: int) -> list[list[int]]:
    """The jobs of each slot in their order. Slot n is on GPU n % `gpus`. Deterministic."""
    slots: list[list[int]] = [[] for _ in range(gpus * per_gpu)]
    for number, gpu in enumerate(_by_gpu(loads, gpus, per_gpu)):
        jobs = sorted(gpu.jobs, key=lambda job: -loads[job].seconds)
        count = min(per_gpu, len(jobs))
        dealt = deal([loads[job].seconds for job in jobs], count) if jobs else []
        for slot in range(count):
            mine = [job for job, where in zip(jobs, dealt, strict=True) if where == slot]
            ordered = _ordered(mine, slot, count, lambda job: loads[job].share)
            slots[slot * gpus + number] = ordered
    return slots


def _ordered(
    jobs: Sequence[int], slot: int, slots: int, share: Callable[[int], float]
) -> list[int]:
    """Busiest first in one slot, last in the next; in an odd one out, in turn."""
    if slots == 1:  # nothing runs beside it
        return list(jobs)
    falling = sorted(jobs, key=lambda job: -share(job))
    if slots % 2 and slot == slots - 1:
        half = (len(falling) + 1) // 2
        ordered = [0] * len(falling)
        ordered[::2], ordered[1::2] = falling[:half], falling[half:]
        return ordered
    return falling[::-1] if slot % 2 else falling


def _by_gpu(loads: Sequence[Load], gpus: int, per_gpu: int) -> list[_Gpu]:
    """Jobs to GPUs so that the fullest is as little full as can be."""
    times = [load.seconds / per_gpu for load in loads]
    works = [load.seconds * load.share for load in loads]
    dealt = [_Gpu() for _ in range(gpus)]
    for job in sorted(range(len(loads)), key=lambda job: -max(times[job], works[job])):
        best = min(
            dealt,
            key=lambda gpu: (
                max(gpu.time + times[job], gpu.work + works[job]),
                gpu.time + gpu.work,
            ),
        )
        best.jobs.append(job)
        best.time += times[job]
        best.work += works[job]
    if gpus > 1 and len(loads) <= _FEW:
        for _ in range(_EXCHANGES):
            if not _exchange(dealt, times, works):
                break
    return dealt


def _exchange(dealt: list[_Gpu], times: Sequence[float], works: Sequence[float]) -> bool:
    """Move or swap one job out of the fullest GPU, the best way; False if none helps."""
    fullest = max(dealt, key=lambda gpu: gpu.fullness)
    limit, best = fullest.fullness * (1 - _TOLERANCE), None
    for given in fullest.jobs:
        for other in dealt:
            if other is fullest:
                continue
            for taken in [*other.jobs, None]:
                time = times[given] - (times[taken] if taken is not None else 0.0)
                work = works[given] - (works[taken] if taken is not None else 0.0)
                fuller = max(
                    fullest.time - time, fullest.work - work, other.time + time, other.work + work
                )
                if fuller < limit:
                    limit, best = fuller, (given, other, taken, time, work)
    if best is None:
        return False
    given, other, taken, time, work = best
    for gpu, out, into, sign in ((fullest, given, taken, -1), (other, taken, given, 1)):
        if out is not None:
            gpu.jobs.remove(out)
        if into is not None:
            gpu.jobs.append(into)
        gpu.time += sign * time
        gpu.work += sign * work
    return True
