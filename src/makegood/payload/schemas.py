"""The JSON Schema of a type."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from makegood.payload import foreign

PARTS = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")
"""The parts of a path in JSON; those of a dict are told as `[...]`."""


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


def choices_at(hint: Any, path: str, *, keys: bool = False) -> list[Any]:
    """The values of the enums and Literals that JSON of this type has at a path (`.legs[3].seat`), or has as
    `keys` there."""
    schema = schema_of(hint)
    defs = schema.get("$defs", {})
    found = list(_options(schema, defs))
    for name, item in PARTS.findall(path):
        inner = (part for one in found for part in _parts(one, name, item))
        found = [option for part in inner for option in _options(part, defs)]
    if keys:
        found = [option for one in found for option in _options(one.get("propertyNames", {}), defs)]
    return [value for option in found for value in option.get("enum", ())]


def _parts(schema: Mapping[str, Any], name: str, item: str) -> Iterator[Mapping[str, Any]]:
    """The schemas of the field of this name, or of this item of a list or a dict."""
    fixed = schema.get("prefixItems", ())
    if name:
        yield schema.get("properties", {}).get(name, {})
    elif item.isdecimal() and int(item) < len(fixed):
        yield fixed[int(item)]
    else:
        yield from (
            part for key in ("items", "additionalProperties") if isinstance(part := schema.get(key), dict)
        )


def _options(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema, or those that it is a union of, looked up where it only refers to them."""
    if "$ref" in schema:
        schema = defs.get(str(schema["$ref"]).rpartition("/")[2], {})
    options = schema.get("anyOf", ())
    yield from (found for option in options for found in _options(option, defs))
    yield schema
