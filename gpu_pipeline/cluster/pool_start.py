"""How long a pod may have to wait for its node and its image."""

from __future__ import annotations

from gpu_pipeline.durations import format_duration, parse_duration
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Pool

# Estimates, where routing.toml states none: a node with a GPU driver needs "several minutes", and a
# training image has several GB. Together 15 minutes, the poll_timeout that is commonly advised.
BOOT_ESTIMATE = "10m"
PULL_ESTIMATE = "5m"


class Start(Record):
    """Seconds until a pod runs on a new node, and how that was found."""

    seconds: int
    how: str


def scales(pool: Pool) -> bool:
    """Whether the autoscaler may have to make a node for a job of this pool."""
    return (pool.min_nodes or 0) < (pool.max_nodes or 1)


def start_of(pool: Pool) -> Start | None:
    """The longest start of a pod in `pool`; None if its nodes are there and no pull was stated."""
    parts = []
    if scales(pool):
        parts.append(("boot", pool.boot_time, BOOT_ESTIMATE))
    if scales(pool) or pool.image_pull_time:
        parts.append(("image pull", pool.image_pull_time, PULL_ESTIMATE))
    if not parts:
        return None
    seconds = [parse_duration(stated or estimate) for _, stated, estimate in parts]
    how = " + ".join(
        f"{what} {format_duration(each)}{'' if stated else ' (estimated)'}"
        for (what, stated, _), each in zip(parts, seconds, strict=True)
    )
    return Start(seconds=sum(seconds), how=how)
