"""The JSON Schema of a type."""

from typing import Any

import msgspec

from makegood.payload import foreign


def names_in_json(hint: Any) -> list[str]:
    """The names of the fields that JSON of this type has, where it is an object with fields of its own."""
    schema = schema_of(hint)
    own = schema.get("$ref", "").removeprefix("#/$defs/")
    return list(schema.get("$defs", {}).get(own, schema).get("properties", ()))


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema of a type; empty for one that has a schema only in Python."""
    shared: dict[str, Any] = {}

    def of_model(cls: Any) -> dict[str, Any]:
        made = foreign.schema(cls)
        shared.update(made.pop("$defs", {}))
        return made

    try:
        made: dict[str, Any] = msgspec.json.schema(hint, schema_hook=of_model)
    except Exception:  # types of other libraries, and whatever their hooks raise
        return {}
    if shared:
        made["$defs"] = shared | made.get("$defs", {})
    return made
