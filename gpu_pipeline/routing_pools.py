"""What a pool of routing.toml may get wrong: how jobs reach it, and only it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpu_pipeline.problems import Problems
from gpu_pipeline.routing_model import Pool
from gpu_pipeline.toml_lines import Path

_LABEL_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = rf"(?:[a-z0-9](?:[a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_LABEL_NAME}"
_SELECTOR = re.compile(rf"{_LABEL_KEY}={_LABEL_NAME}")
_TAINT = re.compile(rf"{_LABEL_KEY}(?:={_LABEL_NAME})?:(?:NoSchedule|PreferNoSchedule|NoExecute)")


def is_selector(text: str) -> bool:
    """Whether a text is a node selector, label=value."""
    return _SELECTOR.fullmatch(text) is not None


def check_pools(pools: Mapping[str, Pool], problems: Problems) -> None:
    """Add every problem with a pool, and between pools, to `problems`."""
    for name, pool in pools.items():
        _check_pool(pool, ("pools", name), problems)
        _check_label_and_nodes(pool, ("pools", name), problems)
    _check_runner_defaults(pools, problems)
    _check_selectors(pools, problems)


def _check_pool(pool: Pool, path: Path, problems: Problems) -> None:
    if pool.node_selector is not None and not _SELECTOR.fullmatch(pool.node_selector):
        problems.add(
            (*path, "node_selector"),
            f'"{pool.node_selector}" is not label=value, '
            'for example "k8s.scaleway.com/pool-name=ci-training"',
        )
    for i, taint in enumerate(pool.taints or ()):
        if not _TAINT.fullmatch(taint):
            problems.add(
                (*path, "taints", i),
                f'"{taint}" is not key[=value]:effect, for example "nvidia.com/gpu:NoSchedule"',
            )
    if pool.runner_default and pool.node_selector is not None:
        problems.add(
            (*path, "node_selector"),
            "contradicts runner_default = true: the runner's own selector leads here; keep one",
        )
    unsure = any(problems.has_cut((*path, key)) for key in ("node_selector", "runner_default"))
    if not pool.runner_default and pool.node_selector is None and not unsure:
        problems.add(path, "how do jobs get here? Give node_selector, or runner_default = true")


def _check_selectors(pools: Mapping[str, Pool], problems: Problems) -> None:
    """Two pools behind one label are one pool to Kubernetes: a job may land on either."""
    owners: dict[str, str] = {}
    for name, pool in pools.items():
        if pool.node_selector is None:
            continue
        if pool.node_selector in owners:
            problems.add(
                ("pools", name, "node_selector"),
                f'selects the nodes of pool "{owners[pool.node_selector]}" too',
            )
        owners.setdefault(pool.node_selector, name)


def _check_label_and_nodes(pool: Pool, path: Path, problems: Problems) -> None:
    if pool.label is not None and not _SELECTOR.fullmatch(pool.label):
        problems.add((*path, "label"), f'"{pool.label}" is not label=value')
    if pool.label is not None and pool.node_selector is not None:
        problems.add((*path, "label"), "is for the runner's default pool; node_selector says it")
    if (pool.min_nodes or 0) > (pool.max_nodes or 1):
        problems.add((*path, "min_nodes"), f"is above max_nodes, which is {pool.max_nodes or 1}")


def _check_runner_defaults(pools: Mapping[str, Pool], problems: Problems) -> None:
    """Two pools can only both be where a runner leads by itself when their tags differ."""
    owners: dict[tuple[str, ...] | None, str] = {}
    for name, pool in pools.items():
        if not pool.runner_default:
            continue
        if pool.tags in owners:
            problems.add(
                ("pools", name, "runner_default"),
                f'pool "{owners[pool.tags]}" is the runner\'s default already; '
                "one runner has one default pool (another runner needs other tags)",
            )
        owners.setdefault(pool.tags, name)
