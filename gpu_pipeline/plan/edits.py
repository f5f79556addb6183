"""Change keys of a routing.toml and leave the rest as it stands, comments and order included."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

import tomlkit
from tomlkit.items import InlineTable

from gpu_pipeline.errors import UsageError
from gpu_pipeline.problems import dotted
from gpu_pipeline.toml_lines import Path


def edited(data: bytes, values: Mapping[Path, object], name: str) -> bytes:
    """`data` with the keys at these paths set; None removes a key. Tables are made where absent.

    `data` is a routing that was read before, so it is TOML; `name` is shown. Raises UsageError for
    tables that are spelt in a way in which nothing can be set.
    """
    document = tomlkit.parse(data.decode("utf-8"))
    for path, value in values.items():
        *parents, last = [str(part) for part in path]
        table: MutableMapping[str, Any] = document
        for part in parents:
            if part not in table:
                table[part] = _new_table(table, only_tables=part != parents[-1])
            table = table[part]
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    text = tomlkit.dumps(document)
    _check(text, values, tomllib.loads(data.decode("utf-8")), name)
    return text.encode("utf-8")


def _new_table(around: object, *, only_tables: bool) -> object:
    """A table to put into another; one that only holds tables is not written itself."""
    if isinstance(around, InlineTable):
        return tomlkit.inline_table()
    return tomlkit.table(is_super_table=only_tables)


def _check(text: str, values: Mapping[Path, object], before: dict[str, Any], name: str) -> None:
    """Raise UsageError if a value is not where it should be: tomlkit misplaces some."""
    after = tomllib.loads(text)
    for path, value in values.items():
        *tables, last = path
        if _at(after, tables).get(last) != value:
            while tables and not _at(before, tables):
                tables.pop()
            spelt = dotted(tuple(tables))
            raise UsageError(f"{name} spells {spelt} with dotted keys; write [{spelt}]")


def _at(table: Any, path: Iterable[object]) -> dict[object, Any]:
    """The table at a path; an empty one if none is there."""
    for part in path:
        table = table.get(part) if isinstance(table, dict) else None
    return table if isinstance(table, dict) else {}
