"""Values made up for a rehearsal: of a JSON Schema, or just enough that references to them resolve."""

from collections.abc import Iterable, Mapping
from typing import Any

from makegood.core.document import Document, references, step_nodes

Path = tuple[str | int, ...]
Schema = Mapping[str, Any]

TEXTS = {
    "date-time": "2030-01-01T12:00:{:02}Z",
    "date": "2030-01-{:02}",
    "time": "12:00:{:02}",
    "duration": "PT{}S",
    "uuid": "00000000-0000-4000-8000-{:012}",
    "decimal": "{}",
    "email": "somebody-{}@example.org",
    "uri": "https://example.org/{}",
}
"""Texts by the format that a schema asks for."""
FORMATS_OF_FEW = {"date-time": 60, "date": 28, "time": 60}
"""How many different texts of a format are made before they repeat."""
NAMED = "{}-{}"
PLAIN = (NAMED, "2030-01-01T12:00:{1:02}Z", "12:00:{1:02}")
"""Texts, made of a field's name and a number, where a schema asks for no format: it may mean a time."""
DEPTH_MAX = 12


def sample(schema: Schema, number: int = 1, *, plain: str = NAMED) -> Any:
    """A value of a schema, as decoded JSON; those of different numbers differ where the schema lets them."""
    return _Sampler(schema, number, plain).make(schema, "", 0)


class _Sampler:
    def __init__(self, schema: Schema, number: int, plain: str) -> None:
        self._plain = plain
        self._defs: Mapping[str, Any] = schema.get("$defs", {})
        self._number = number

    def make(self, schema: Schema, name: str, depth: int) -> Any:
        if "$ref" in schema:
            schema = self._defs.get(str(schema["$ref"]).rpartition("/")[2], {})
        if depth > DEPTH_MAX:
            return None
        for fixed in ("const", "default"):
            if fixed in schema:
                return schema[fixed]
        if schema.get("enum"):
            return schema["enum"][0]
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return self.make(self._telling(options), name, depth + 1)
        return self._of_type(schema, name, depth)

    def _telling(self, options: list[Schema]) -> Schema:
        return next((option for option in options if option.get("type") != "null"), options[0])

    def _of_type(self, schema: Schema, name: str, depth: int) -> Any:
        match schema.get("type"):
            case "object":
                fields = schema.get("properties", {})
                return {field: self.make(part, field, depth + 1) for field, part in fields.items()}
            case "array":
                return self._array(schema, name, depth)
            case "string":
                return self._text(schema, name)
            case "integer" | "number":
                return self._bounded(schema)
            case "boolean":
                return True
            case _:
                return None

    def _array(self, schema: Schema, name: str, depth: int) -> list[Any]:
        parts: list[Schema] = list(schema.get("prefixItems", ()))
        items = schema.get("items")
        while isinstance(items, dict) and len(parts) < max(1, schema.get("minItems", 1)):
            parts.append(items)
        return [self.make(part, name, depth + 1) for part in parts]

    def _text(self, schema: Schema, name: str) -> str:
        if "contentEncoding" in schema:
            return "AAAA"
        form = schema.get("format", "")
        if form in TEXTS:
            number = 1 + self._number % (FORMATS_OF_FEW.get(form, 1_000_000) - 1)
            return TEXTS[form].format(number)
        text = self._plain.format(name or "text", self._number).ljust(schema.get("minLength", 0), "x")
        return text[: schema.get("maxLength", len(text))]

    def _bounded(self, schema: Schema) -> Any:
        number: Any = self._number
        number = max(number, schema.get("minimum", number), schema.get("exclusiveMinimum", number - 1) + 1)
        step = schema.get("multipleOf", 1)
        number = -(-number // step) * step
        return min(number, schema.get("maximum", number), schema.get("exclusiveMaximum", number + 1) - 1)


# --- what a plan refers to


def paths_into(document: Document) -> dict[str, list[Path]]:
    """Every path that the plan's steps and its output refer to, by the step's name or "input"."""
    templates = [*(node.args for node in step_nodes(document.body)), document.output]
    paths: dict[str, list[Path]] = {}
    for template in templates:
        for name, path in references(template):
            paths.setdefault(name, []).append(path)
    return paths


def with_paths(value: Any, paths: Iterable[Path], leaf: Any) -> Any:
    """The value, or one made of it, in which every path leads to something: to `leaf`, if to nothing yet."""
    for path in paths:
        value = _with_path(value, path, leaf)
    return value


def _with_path(value: Any, path: Path, leaf: Any) -> Any:
    if not path:
        return leaf if value is None else value
    head, rest = path[0], path[1:]
    if isinstance(head, int):
        made = list(value) if isinstance(value, list) else []
        made += [None] * (head + 1 - len(made) if head >= 0 else -head - len(made))
        made[head] = _with_path(made[head], rest, leaf)
        return made
    fields = value if isinstance(value, dict) else {}
    return {**fields, head: _with_path(fields.get(head), rest, leaf)}
