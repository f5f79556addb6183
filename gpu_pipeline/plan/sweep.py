"""`plan --sweep KEY=VALUES`: the same routing with one key at a time set to each of some values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

from gpu_pipeline.errors import UsageError
from gpu_pipeline.names import did_you_mean
from gpu_pipeline.problems import dotted
from gpu_pipeline.record import Record
from gpu_pipeline.routing_model import Family, Model, Pool, Routing, Table, Task
from gpu_pipeline.routing_values import Amount
from gpu_pipeline.toml_lines import Path
from gpu_pipeline.validation import bare, keys_of, kind_below

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
    found, refused = _below_tables(key, tables, tuple(routing.tasks or ()))
    if found:
        yield found
        return
    if refused:
        raise refused
    keys = [*_NUMERIC["pools"], *_NUMERIC["families"]]
    names = [name for table in tables.values() for name in table]
    if key in names:
        raise UsageError(f"--sweep {key}: is a table; name one of its numbers, {key}.KEY")
    raise UsageError(
        f"--sweep {key}: is neither a number of a pool or family nor one of their tables"
        f"{did_you_mean(key.partition('.')[0], [*keys, *names])}"
    )


def _below_tables(
    key: str, tables: Mapping[str, Collection[str]], tasks: Collection[str]
) -> tuple[Path | None, UsageError | None]:
    """The path that `key` names in one of the tables, or why the likeliest of them has none.

    Names may hold dots, and a pool may be called like a family: the longest name counts most.
    """
    refused = None
    named = [(kind, name) for kind, names in tables.items() for name in names]
    for kind, name in sorted(named, key=lambda each: -len(each[1])):
        for prefix in (f"{name}.", f"{kind}.{name}."):
            if key.startswith(prefix):
                try:
                    return _number_at((kind, name), key.removeprefix(prefix), key, tasks), None
                except UsageError as error:
                    refused = refused or error
    return None, refused


def _number_at(table: Path, rest: str, key: str, tasks: Collection[str]) -> Path:
    """The path of a number `rest` below a table. Raises UsageError."""
    path, below, kind = table, rest, _TABLES[str(table[0])]
    while below:
        known = keys_of(kind) or (tasks if keys_of(kind_below(kind, "")) else ())
        parts = [each for each in known if f"{below}.".startswith(f"{each}.")]
        if not parts and (known or _is_number(kind)):
            raise UsageError(
                f'--sweep {key}: {dotted(path)} has no key "{below}"'
                f"{did_you_mean(below.partition('.')[0], known)}"
            )
        if not parts:
            break
        part = max(parts, key=len)
        path, below, kind = (*path, part), below[len(part) + 1 :], kind_below(kind, part)
    if keys_of(kind) or keys_of(kind_below(kind, "")):
        raise UsageError(f"--sweep {key}: is a table; name one of its numbers, {key}.KEY")
    if not _is_number(kind):
        raise UsageError(f"--sweep {key}: is no number, so that there is no curve over it")
    return path


def _is_number(kind: Any) -> bool:
    plain = bare(kind)
    return plain in (int, float) or (isinstance(plain, type) and issubclass(plain, Amount))


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
