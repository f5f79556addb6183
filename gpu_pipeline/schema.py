"""The JSON schema of routing.toml, for editors and linters."""

from __future__ import annotations

from typing import Any

import msgspec

from gpu_pipeline.routing_model import Routing, Table
from gpu_pipeline.routing_values import Cpu, Memory

_DIALECT = "http://json-schema.org/draft-07/schema#"  # every editor's TOML plug-in understands it
_NULL = {"type": "null"}


def routing_schema() -> dict[str, Any]:
    """The schema as JSON data."""
    schema = msgspec.json.schema(Routing, schema_hook=_amount)
    tables = {table.__name__: table for table in _below(Table)}
    for name, described in schema["$defs"].items():
        _describe(described, tables[name])
    root = schema["$defs"].pop(Routing.__name__)
    whole = {**root, "$defs": schema["$defs"], "title": "routing.toml"}
    return {"$schema": _DIALECT, **_in_ecma(whole)}


def _amount(kind: type) -> dict[str, Any]:
    as_number = [{"type": "integer"}] if issubclass(kind, Cpu | Memory) else []
    return {"anyOf": [{"type": "string"}, *as_number]}


def _below(table: type[Table]) -> list[type[Table]]:
    """The tables that inherit from one, near and far."""
    return [each for near in table.__subclasses__() for each in (near, *_below(near))]


def _describe(schema: dict[str, Any], table: type[Table]) -> None:
    """Say which keys a table must have, and what each is about."""
    schema["required"] = list(table.required)
    for field in msgspec.structs.fields(table):
        value = schema["properties"][field.encode_name]
        del value["default"]
        value["description"] = table.descriptions[field.name]


def _in_ecma(node: Any) -> Any:
    """The same without Python's way of writing the end of a text, and without null.

    TOML has no null: an optional key is left out, so the schema of its value is enough.
    """
    if isinstance(node, list):
        return [_in_ecma(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {key: _in_ecma(value) for key, value in node.items() if value != []}
    if "pattern" in node:
        node["pattern"] = node["pattern"].replace(r"\Z", "$")
    if "anyOf" in node:
        choices = [each for each in node.pop("anyOf") if each != _NULL]
        node |= choices[0] if len(choices) == 1 else {"anyOf": choices}
    return node
