"""Keys that the runner does not read where they stand, and says nothing about.

A misspelt key is ignored. A key behind the header of a table such as
[runners.kubernetes.node_selector] belongs to that table: it becomes a label that no node has.
"""

from __future__ import annotations

import difflib

from gpu_pipeline.cluster.runner_config import StrayKey
from gpu_pipeline.cluster.runner_keys import GLOBAL_KEYS, KUBERNETES_KEYS, RUNNER_KEYS

TEXT_TABLES = ("node_selector", "node_tolerations", "pod_labels", "pod_annotations")
_TABLES = {
    "the top of the file": GLOBAL_KEYS,
    "[[runners]]": RUNNER_KEYS,
    "[runners.kubernetes]": KUBERNETES_KEYS,
}
# Keys that the runner has and that resemble others, or that mean something in several tables.
_ELSEWHERE = ("poll_interval", "service_account", "pod_labels", "pod_annotations")
_AMBIGUOUS = ("name", "limit", "environment", "services", "executor")
# Only the server keeps it; of a chart's values, registration sends it there.
_ON_THE_SERVER = ("maximum_timeout", "maximumtimeout")
_SET_THERE = (
    "remove it, and set the runner's maximum job timeout on the server (Admin or Settings > "
    "CI/CD > Runners); --runner-max-timeout says here what it is"
)
_SIMILAR = 0.84  # enough for one or two wrong letters in the runner's long names


def stray_key(table: str, name: str, line: int) -> StrayKey | None:
    """What a key of `table` was meant to be, or None if it is in its place or no key we know."""
    here, key = _TABLES.get(table, ()), name.lower()
    if key in here or key in _ELSEWHERE or key in _AMBIGUOUS:
        return None
    if key in _ON_THE_SERVER:
        return StrayKey(
            table=table,
            name=name,
            line=line,
            meant="the maximum job timeout",
            belongs_to="the server",
            fix=_SET_THERE,
        )
    for home, keys in _TABLES.items():
        if key in keys:
            return StrayKey(table=table, name=name, line=line, meant=key, belongs_to=home)
    close = difflib.get_close_matches(key, here, n=1, cutoff=_SIMILAR)
    if not close:
        return None
    return StrayKey(table=table, name=name, line=line, meant=close[0], belongs_to=table)
