"""How many jobs fit on a node, as text, JSON or Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from gpu_pipeline.cluster.fit import Fit, shown
from gpu_pipeline.reports.layout import as_json, table


def fit_table(fits: Sequence[Fit], output_format: str) -> str:
    """A row for each pool and size of pod."""
    if output_format == "json":
        return as_json([_facts(fit) for fit in fits])
    return table([_row(fit) for fit in fits], output_format)


def _row(fit: Fit) -> dict[str, object]:
    fitting = "unknown" if fit.per_node is None else str(fit.per_node)
    return {
        "pool": fit.pool,
        "jobs": len(fit.jobs),
        "such as": fit.jobs[0].name,
        "requests of a pod": ", ".join(
            f"{shown(resource, amount)} {resource}"
            for resource, amount in fit.request.items()
            if amount
        ),
        "fit": fitting,
        "bound by": fit.binding or "-",
        "planned": _planned(fit),
    }


def _planned(fit: Fit) -> str:
    """How many jobs of a pool are planned at once, marked where not as many fit."""
    planned = fit.jobs[0].pool_settings.concurrency or 1
    short = fit.per_node is not None and fit.per_node < planned
    return f"{planned} (too many)" if short else str(planned)


def _facts(fit: Fit) -> dict[str, object]:
    """Cores and bytes as texts, since they are exact."""
    return {
        "pool": fit.pool,
        "jobs": [job.name for job in fit.jobs],
        "request": {name: format(amount, "f") for name, amount in fit.request.items() if amount},
        "per_node": fit.per_node,
        "binding": fit.binding,
        "planned": fit.jobs[0].pool_settings.concurrency or 1,
    }
