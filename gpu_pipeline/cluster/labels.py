"""The node labels by which pools are told apart."""

from __future__ import annotations

from gpu_pipeline.routing_model import Pool


def pair(text: str) -> tuple[str, str]:
    """The two sides of `label=value`."""
    label, _, value = text.partition("=")
    return label, value


def own_label(pool: Pool) -> str | None:
    """The node label of a pool, `label=value`, as far as the routing says it."""
    return pool.node_selector or pool.label
