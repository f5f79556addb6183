"""`plan --sweep KEY=VALUES`: the same routing with one key at a time set to each of some values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal

from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.problems import dotted
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Family, Model, Pool, Resources, Routing, Table, Task
from gpu_pipeline.toml_lines import Path
from gpu_pipeline.validation import keys_of

_MAX_VALUES = 100
_RANGE = re.compile(
    r"(?P<first>[^.]+(?:\.\d[^.]*)?)\.\.(?P<last>[^.]+(?:\.\d[^.]*)?)(?:\.\.(?P<step>.+))?"
)
_NUMBER = re.compile(r"(?P<number>[0-9]{1,18}(?:\.[0-9]{1,18})?)(?P<unit>[A-Za-z]*)")
_TABLES: dict[str, type[Table]] = {
    "pools": Pool,
    "families": Family,
    "models": Model,
    "tasks": Task,
}
_NUMERIC = {
    "pools": """concurrency gpus gpu_speed max_nodes min_nodes price_per_hour boot_time idle_time
        image_pull_time""".split(),
    "families": """epochs trials seconds_per_epoch expected gpu_utilization cpu_usage gpu_memory
        timeout requests.cpu requests.memory limits.cpu limits.memory""".split(),
}


class Sweep(Record):
    """The paths that are swept, one after the other, and the values that each takes."""

    paths: tuple[Path, ...]
    values: tuple[int | float | str, ...]


def read_sweep(text: str, routing: Routing) -> Sweep:
    """`[TABLE.]KEY=A..B[..STEP]` or `KEY=A,B,C`. Raises UsageError.

    A bare key of a pool is swept in each pool by itself, one of a job in each family.
    """
    key, equals, given = text.partition("=")
    if not equals or not key or not given:
        raise UsageError(
            f'--sweep {text}: write KEY=VALUES, for example "concurrency=1..6", '
            '"ci-training.max_nodes=1,2,4" or "rl.requests.cpu=1000m..4000m..500m"'
        )
    return Sweep(paths=tuple(_paths(key, routing)), values=tuple(_values(text, given)))


def _paths(key: str, routing: Routing) -> Iterator[Path]:
    tables: dict[str, Collection[str]] = {
        kind: getattr(routing, kind) or {} for kind in ("pools", "families", "models", "tasks")
    }
    families = (routing.families or {}).values()  # any model may get a table of its own
    tables["models"] = [name for family in families for name in family.models or ()]
    for kind, known in _NUMERIC.items():
        if key in known:
            yield from ((kind, name, *key.split(".")) for name in tables[kind])
            return
    for kind, named in tables.items():
        for name in named:
            for prefix in (f"{name}.", f"{kind}.{name}."):
                rest = key.removeprefix(prefix)
                if rest != key:
                    yield _checked(kind, name, rest, key)
                    return
    keys = [*_NUMERIC["pools"], *_NUMERIC["families"]]
    names = [name for table in tables.values() for name in table]
    if key in names:
        raise UsageError(f"--sweep {key}: is a table; name one of its numbers, {key}.KEY")
    raise UsageError(
        f"--sweep {key}: is neither a number of a pool or family nor one of their tables"
        f"{did_you_mean(key.partition('.')[0], [*keys, *names])}"
    )


def _checked(kind: str, name: str, rest: str, key: str) -> Path:
    first, *more = rest.split(".")
    fields = keys_of(_TABLES[kind])
    inner = keys_of(Resources) if first in ("requests", "limits", "allocatable", "capacity") else {}
    if first == "tasks" and len(more) == 2:
        return (kind, name, "tasks", *more)
    if first not in fields or (more and more[0] not in inner) or (inner and not more):
        known = [f"{first}.{each}" for each in inner] if inner else list(fields)
        raise UsageError(
            f'--sweep {key}: {dotted((kind, name))} has no key "{rest}"{did_you_mean(rest, known)}'
        )
    return (kind, name, first, *more)


def _values(text: str, given: str) -> Iterator[int | float | str]:
    match = _RANGE.fullmatch(given)
    if match is None:
        yield from (_value(text, each) for each in given.split(","))
        return
    first, last = _parts(text, match["first"]), _parts(text, match["last"])
    step = _parts(text, match["step"] or ("1" + first[1]))
    if len({first[1], last[1], step[1]}) > 1:
        raise UsageError(f"--sweep {text}: both ends and the step need the same unit")
    if step[0] <= 0 or last[0] < first[0]:
        raise UsageError(f"--sweep {text}: the range is empty")
    count = int((last[0] - first[0]) / step[0]) + 1
    if count > _MAX_VALUES:
        raise UsageError(f"--sweep {text}: {count} values; at most {_MAX_VALUES}")
    for n in range(count):
        yield _value(text, f"{first[0] + n * step[0]:f}{first[1]}")


def _parts(text: str, given: str) -> tuple[Decimal, str]:
    match = _NUMBER.fullmatch(given.strip())
    if match is None:
        raise UsageError(f'--sweep {text}: "{given}" is not a number, with or without a unit')
    return Decimal(match["number"]), match["unit"]


def _value(text: str, given: str) -> int | float | str:
    """As routing.toml has it: text if there is a unit, else a number."""
    number, unit = _parts(text, given)
    if unit:
        return f"{number.normalize():f}{unit}"
    return int(number) if number == number.to_integral_value() else float(number)
