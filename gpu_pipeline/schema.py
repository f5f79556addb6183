"""The JSON schema of routing.toml, for editors and linters."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from gpu_pipeline.routing_model import Routing, Table


class _TomlSchema(GenerateJsonSchema):
    """TOML has no null: an optional key is left out, so the schema of its value is enough."""

    schema_dialect = "http://json-schema.org/draft-07/schema#"

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, _schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        model = schema["cls"]
        if issubclass(model, Table) and model.required:
            found["required"] = list(model.required)
        return found


def routing_schema() -> dict[str, Any]:
    """The schema as JSON data, in draft 7, which every editor's TOML plug-in understands."""
    schema = Routing.model_json_schema(schema_generator=_TomlSchema)
    return {"$schema": _TomlSchema.schema_dialect, **schema, "title": "routing.toml"}
