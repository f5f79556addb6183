"""Do the jobs that share a GPU fit on it, and may that many share it?

Sources: NVIDIA k8s-device-plugin v0.20 (README: shared access to GPUs), NVIDIA MPS documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from gpu_pipeline.checks.catalogue import finding
from gpu_pipeline.checks.finding import Finding, Place
from gpu_pipeline.checks.wording import named, with_gpu
from gpu_pipeline.cluster.emitted import Locate
from gpu_pipeline.cluster.fit import heaviest, jobs_per_gpu, shown
from gpu_pipeline.jobs import Job
from gpu_pipeline.quantity import parse_quantity
from gpu_pipeline.words import count

MAX_MPS_CLIENTS = 48  # on Volta and newer; NVIDIA MPS documentation
# Under MPS the plugin sets the first one in the container. The second is its daemon's matter, and
# the plugin does not set it there.
_UNDER_MPS = {
    "CUDA_MPS_PIPE_DIRECTORY": (
        "is set by the device plugin, and another value leads jobs away from its daemon"
    ),
    "CUDA_MPS_LOG_DIRECTORY": (
        "says where the MPS daemon writes its logs, and that daemon is the device plugin's, which "
        "leaves it unset in jobs"
    ),
}


def check_gpu_sharing(name: str, jobs: Sequence[Job], *, locate: Locate) -> list[Finding]:
    """Findings about the GPU of one pool and the jobs that go there."""
    return [
        *_check_count(name, jobs, locate),
        *_check_memory(name, jobs, locate),
        *_check_variables(name, jobs),
    ]


def _check_count(name: str, jobs: Sequence[Job], locate: Locate) -> Iterator[Finding]:
    pool = jobs[0].pool_settings
    sharing, gpus = jobs_per_gpu(pool), pool.gpus or 1
    place = Place.at(locate(("pools", name, "concurrency")))
    if sharing > 1 and pool.sharing is None:
        yield finding(
            "FIT107", place,
            f"{sharing} jobs at once on a GPU of {with_gpu(name, pool)}, and sharing is not said",
            fix='set sharing = "time-slicing" or "mps", and roll out what `cluster sharing` prints',
        )  # fmt: skip
    if sharing > 1 and pool.sharing == "none":
        yield finding(
            "FIT106", place,
            f'{pool.concurrency} jobs at once, and sharing = "none" gives a GPU of '
            f"{with_gpu(name, pool)} to one job: {count(gpus, 'job')} can run, the others stay "
            "Pending until the runner gives up",
            fix=f'set concurrency = {gpus}, or sharing = "time-slicing" or "mps"',
        )  # fmt: skip
    if pool.sharing == "mps" and sharing > MAX_MPS_CLIENTS:
        yield finding(
            "FIT106", place,
            f"{sharing} jobs at once, and MPS serves {MAX_MPS_CLIENTS} at most on one GPU",
            fix=f"set concurrency = {MAX_MPS_CLIENTS * gpus} or less",
        )  # fmt: skip


def _check_memory(name: str, jobs: Sequence[Job], locate: Locate) -> Iterator[Finding]:
    pool = jobs[0].pool_settings
    needs = {job.name: parse_quantity(job.gpu_memory.value) for job in jobs if job.gpu_memory}
    if not pool.gpu_memory or not needs:
        return
    card, sharing = parse_quantity(pool.gpu_memory), jobs_per_gpu(pool)
    share = card / sharing if pool.sharing == "mps" else card
    alone = [job for job in jobs if job.gpu_memory and needs[job.name] > share]
    together = heaviest(list(needs.values()), sharing)
    if alone:
        yield _too_large(name, alone, share, sharing)
    elif together > card:
        fitting = next(n for n in range(sharing, -1, -1) if heaviest([*needs.values()], n) <= card)
        yield finding(
            "FIT105", Place.at(locate(("pools", name, "concurrency"))),
            f"{sharing} jobs at once may need {shown('memory', together)} of GPU memory, and "
            f"{with_gpu(name, pool)} has {shown('memory', card)}: {fitting} fit. Time-slicing "
            "shares time, not memory: whoever asks last runs out of memory",
            fix=f"set concurrency = {fitting * (pool.gpus or 1)}, or route some models elsewhere",
        )  # fmt: skip


def _too_large(name: str, jobs: Sequence[Job], share: Decimal, planned: int) -> Finding:
    largest = max(
        (job.gpu_memory for job in jobs if job.gpu_memory),
        key=lambda declared: parse_quantity(declared.value),
    )
    origin, pool = largest.origin, jobs[0].pool_settings
    of_card = f", the share of one of {planned} under MPS" if pool.sharing == "mps" else ""
    return finding(
        "FIT105", Place.at(origin),
        f"{largest.value} of GPU memory are needed, and {with_gpu(name, pool)} gives a job "
        f"{shown('memory', share)}{of_card}: {named(jobs)}",
        fix="route them to a pool with a larger GPU, or let fewer share it",
    )  # fmt: skip


def _check_variables(name: str, jobs: Sequence[Job]) -> Iterator[Finding]:
    """CUDA_MPS_… variables that a job sets; the device plugin sets what is needed by itself."""
    pool = jobs[0].pool_settings
    blamed: dict[tuple[str, Place], list[Job]] = {}
    for job in jobs:
        for variable, value in job.values.variables.items():
            ours = variable in _UNDER_MPS or pool.sharing != "mps"
            if variable.startswith("CUDA_MPS_") and ours:
                origin = value.origin
                place = Place.at(origin)
                blamed.setdefault((variable, place), []).append(job)
    for (variable, place), members in blamed.items():
        why = (
            _UNDER_MPS[variable]
            if pool.sharing == "mps"
            else f"means nothing on {name}, whose GPU is not shared by MPS"
        )
        yield finding(
            "FIT109", place, f"{variable} {why}: {named(members)}",
            fix="remove it; jobs need no CUDA_MPS variable",
        )  # fmt: skip
