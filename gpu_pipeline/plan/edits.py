"""Change keys of a routing.toml and leave the rest as it stands, comments and order included."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import tomlkit

from gpu_pipeline.toml_lines import Path


def edited(data: bytes, values: Mapping[Path, object]) -> bytes:
    """`data` with the keys at these paths set; None removes a key. Tables are made where absent.

    `data` is a routing that was read before, so it is TOML.
    """
    document = tomlkit.parse(data.decode("utf-8"))
    for path, value in values.items():
        *parents, last = [str(part) for part in path]
        table: MutableMapping[str, Any] = document
        for part in parents:
            if part not in table:
                # A table that only holds tables is not written itself.
                table[part] = tomlkit.table(is_super_table=part != parents[-1])
            table = table[part]
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    return tomlkit.dumps(document).encode("utf-8")
