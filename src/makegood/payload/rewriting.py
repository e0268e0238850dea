"""Where a pydantic model writes other JSON than its types say: by a serializer, an alias, as JSON in a text.

It is read from the schema by which pydantic itself writes: there a serializer stands, however it is declared.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from makegood.payload.foreign import is_model

_NO_SCHEMAS = frozenset({"metadata", "config", "default", "computed_fields"})
"""What a schema holds that is not one itself; a computed field is not written."""
_KEEPS_FORM = ("pydantic._internal.", "pydantic.functional_validators")
"""Where pydantic has serializers of its own, which write a type as it is: a Sequence, a defaultdict."""


class Rewritten:
    """Said of a field, in its hint: its JSON is not, or not certainly, what its type says."""


class Rewriting(NamedTuple):
    """What a model rewrites: the whole of it, or these fields."""

    whole: bool
    fields: frozenset[str] = frozenset()


def is_rewritten(hint: Any) -> bool:
    """Whether the JSON of this type, if the type is right, may have any other form."""
    said = any(one is Rewritten for one in getattr(hint, "__metadata__", ()))
    return said or (is_model(hint) and rewriting(hint).whole)


@lru_cache(maxsize=4096)
def rewriting(model: Any) -> Rewriting:
    """What a pydantic model rewrites. A model in it, which is asked itself, is not looked into."""
    if getattr(model.model_dump, "__module__", "") != "pydantic.main":  # by this it is written
        return Rewriting(whole=True)
    try:
        schema = dict(model.__pydantic_core_schema__)
    except Exception:  # not complete: nothing is known of it
        return Rewriting(whole=True)
    definitions: dict[str, Any] = {}
    while schema["type"] != "model-fields":
        definitions |= {one["ref"]: one for one in schema.get("definitions", ())}
        inner = schema.get("schema", definitions.get(schema.get("schema_ref", "")))
        if _rewrites(schema) or inner is None:
            return Rewriting(whole=True)
        if schema.get("root_model"):
            return Rewriting(whole=_any_rewrites(inner, definitions))
        schema = inner
    rewritten = (name for name, one in schema["fields"].items() if _any_rewrites(one["schema"], definitions))
    extras = schema.get("extras_schema"), schema.get("extras_keys_schema")
    return Rewriting(_rewrites(schema) or _any_rewrites(extras, definitions), frozenset(rewritten))


def _any_rewrites(schema: Any, definitions: Mapping[str, Any]) -> bool:
    return any(map(_rewrites, _inside(schema, definitions)))


def _inside(schema: Any, definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A schema and all schemas in it, none of those in a model."""
    seen: set[int] = set()
    rest = [schema]
    while rest:
        one = rest.pop()
        if isinstance(one, list | tuple):
            rest += one
        elif isinstance(one, dict) and id(one) not in seen:
            seen.add(id(one))
            if isinstance(kind := one.get("type"), str):
                yield one
                rest.append(definitions.get(one.get("schema_ref", "")))
                if kind != "model":
                    rest += [part for key, part in one.items() if key not in _NO_SCHEMAS]
            else:  # schemas by name
                rest += one.values()


def _rewrites(schema: Mapping[str, Any]) -> bool:
    """Whether what a schema writes is not what it reads, of whichever kind it is."""
    writes = schema.get("serialization")
    other = writes is not None and writes["type"] != "any" and not _keeps_form(writes.get("function"))
    # The name of a model's own field is known: nobody asks this of the field itself.
    return other or schema["type"] == "json" or "serialization_alias" in schema


def _keeps_form(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).startswith(_KEEPS_FORM)
