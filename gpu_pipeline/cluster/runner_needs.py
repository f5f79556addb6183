"""What a runner must permit, and not more, for given variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from gpu_pipeline.cluster.emitted import Emission
from gpu_pipeline.cluster.runner_keys import Kind, permission_for
from gpu_pipeline.jobs import Job
from gpu_pipeline.quantity import QuantityError, parse_quantity
from gpu_pipeline.routing_model import Pool

_VARIABLE = re.compile(r"\$\{\w+\}|\$\w+")


def by_permission(emitted: Iterable[Emission]) -> dict[tuple[str, Kind], list[Emission]]:
    """The variables that each key of the runner permits; those that no runner reads are left out.

    An empty quantity is left out too: the runner takes it for none.
    """
    groups: dict[tuple[str, Kind], list[Emission]] = {}
    for each in emitted:
        permission = permission_for(each.name)
        if permission and (each.value or permission.kind is not Kind.MAXIMUM):
            groups.setdefault((permission.key, permission.kind), []).append(each)
    return groups


def smallest_line(key: str, kind: Kind, values: Sequence[str]) -> str:
    """The line of config.toml that permits exactly `values`.

    Of a value with a variable in it only the rest is fixed.
    """
    if kind is Kind.SWITCH:
        return f"{key} = true"
    if kind is Kind.MAXIMUM:
        return f'{key} = "{max(values, key=_amount)}"'
    patterns = list(dict.fromkeys(_pattern(value) for value in values))
    one = patterns[0] if len(patterns) == 1 else f"(?:{'|'.join(patterns)})"
    return f"{key} = {toml_text(f'^{one}$')}"


def toml_text(text: str) -> str:
    """A TOML string, literal where it can be, so that a regex reads as it is."""
    return json.dumps(text, ensure_ascii=False) if "'" in text else f"'{text}'"


def slots(jobs: Iterable[Job]) -> int:
    """How many jobs the pools of `jobs` run at once, at most."""
    pools: dict[str, Pool] = {job.pool.value: job.pool_settings for job in jobs}
    return sum((pool.concurrency or 1) * (pool.max_nodes or 1) for pool in pools.values())


def _pattern(value: str) -> str:
    fixed = _VARIABLE.split(value)
    return ".*".join(re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", part) for part in fixed)


def _amount(text: str) -> Decimal:
    try:
        return parse_quantity(text)
    except QuantityError:
        return Decimal(0)
