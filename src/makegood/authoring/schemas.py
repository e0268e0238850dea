"""JSON Schemas as they may stand in a plan's document, which everybody can read."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec

from makegood.core.secrets import EVERY, HIDDEN, Path, below, hide

Schema = dict[str, Any]
Secrets = frozenset[Path]


def untold(schema: Schema, secrets: Collection[Path]) -> Schema:
    """The schema without the defaults and examples that would tell one of these secrets of its values."""
    if not secrets:
        return schema
    kept: Schema = msgspec.json.decode(msgspec.json.encode(schema))
    seen = set()
    rest = [(kept, frozenset(secrets))]
    while rest:
        part, hidden = rest.pop()
        if hidden and (id(part), hidden) not in seen:
            seen.add((id(part), hidden))
            _leave_out(part, hidden)
            rest += _parts(part, hidden, kept.get("$defs", {}))
    return kept


def _leave_out(schema: Schema, secrets: Secrets) -> None:
    each = [(EVERY, *path) for path in secrets]
    for word, hidden in (("default", secrets), ("example", secrets), ("examples", each)):
        if schema.get(word) != hide(schema.get(word), hidden, _unless_null):
            del schema[word]


def _unless_null(secret: Any) -> Any:
    return None if secret is None else HIDDEN


def _parts(schema: Schema, secrets: Secrets, defs: Mapping[str, Schema]) -> Iterator[tuple[Schema, Secrets]]:
    """The schemas in a schema, each with what is secret of its values."""
    every = frozenset(path[1:] for path in secrets)  # an item may be the one
    if "$ref" in schema:
        yield defs.get(str(schema["$ref"]).rpartition("/")[2], {}), secrets
    for word in ("anyOf", "oneOf", "allOf"):
        yield from ((option, secrets) for option in schema.get(word, ()))
    if "contentSchema" in schema:  # of the JSON in a text
        yield schema["contentSchema"], secrets
    fields = schema.get("properties", {})
    # A model may be read by other names than those that it is written by: then any field may be the one.
    others = frozenset(path[1:] for path in secrets if path and path[0] not in fields)
    yield from ((part, _below(secrets, name) | others) for name, part in fields.items())
    for n, part in enumerate(schema.get("prefixItems", ())):
        yield part, _below(secrets, n)
    for part in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield part, every
    yield from ((part, every) for part in schema.get("patternProperties", {}).values())


def _below(secrets: Secrets, key: str | int) -> Secrets:
    return secrets if () in secrets else frozenset(below(secrets, key))
