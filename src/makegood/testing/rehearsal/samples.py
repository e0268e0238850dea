"""Values made up for a rehearsal: of a JSON Schema, or just enough that references to them resolve."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from makegood.core.document import Document, references, step_nodes
from makegood.payload import at

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
PLAIN = ("{}-{}", "2030-01-01T12:00:{1:02}Z", "12:00:{1:02}")
"""Texts, made of a field's name and a number, where a schema asks for no format: it may mean a time."""
FRUGAL = 6
"""How deep the parts of a value are that are left out where they may be."""
DEPTH_MAX = 12


def sample(
    schema: Schema, number: int = 1, *, paths: Iterable[Path] = (), plain: Mapping[str, int] | None = None
) -> Any:
    """A value of a schema, as decoded JSON, in which every path leads to something, where the schema lets it.

    Values of different numbers differ where the schema lets them. `plain` says by its path (`value.at`) of a
    text without a format which of PLAIN it is, if not the first; `value.x[...]` are all that is in `value.x`.
    """
    return _Sampler(schema, number, plain or {}).make(schema, _Spot(paths=tuple(paths)))


class _Spot(NamedTuple):
    """A part of a value: its path in words, its field's name, how deep it is, and the paths that go on."""

    where: str = "value"
    name: str = ""
    depth: int = 0
    paths: tuple[Path, ...] = ()

    def field(self, name: str) -> "_Spot":
        return self._replace(
            where=at(self.where, (name,)), name=name, depth=self.depth + 1, paths=self._on(name)
        )

    def key(self, key: str) -> "_Spot":
        """The part of a dict, whose keys are not told."""
        return self._replace(where=f"{self.where}[...]", depth=self.depth + 1, paths=self._on(key))

    def item(self, n: int, length: int) -> "_Spot":
        return self._replace(
            where=at(self.where, (n,)), depth=self.depth + 1, paths=self._on(n) + self._on(n - length)
        )

    def option(self) -> "_Spot":
        return self._replace(depth=self.depth + 1)

    @property
    def heads(self) -> list[str | int]:
        """The parts that the paths lead into."""
        return [path[0] for path in self.paths if path]

    def reached(self, value: Any) -> bool:
        """Whether every path leads to something in this value."""
        return all(_leads(value, path) for path in self.paths)

    def _on(self, head: str | int) -> tuple[Path, ...]:
        return tuple(path[1:] for path in self.paths if path and path[0] == head)


class _Sampler:
    def __init__(self, schema: Schema, number: int, plain: Mapping[str, int]) -> None:
        self._plain = plain
        self._defs: Mapping[str, Any] = schema.get("$defs", {})
        self._number = number

    def make(self, schema: Schema, spot: _Spot) -> Any:
        if "$ref" in schema:
            schema = self._defs.get(str(schema["$ref"]).rpartition("/")[2], {})
        if spot.depth > DEPTH_MAX:
            return None
        if "const" in schema:
            return schema["const"]
        if "default" in schema and spot.reached(schema["default"]):
            return schema["default"]
        if schema.get("enum"):
            return next((value for value in schema["enum"] if value is not None), None)
        if options := schema.get("anyOf") or schema.get("oneOf"):
            return self._one_of(options, spot)
        return self._of_type(schema, spot)

    def _one_of(self, options: Sequence[Schema], spot: _Spot) -> Any:
        """The first that has all the paths; null is the last, if there is room for more."""
        frugal = spot.depth >= FRUGAL and not spot.paths
        ordered = sorted(options, key=lambda option: (option.get("type") == "null") is not frugal)
        made = (self.make(option, spot.option()) for option in ordered)
        first = next(made)
        return first if spot.reached(first) else next(filter(spot.reached, made), first)

    def _of_type(self, schema: Schema, spot: _Spot) -> Any:
        match schema.get("type"):
            case "object":
                return self._object(schema, spot)
            case "array":
                return self._array(schema, spot)
            case "string":
                return self._text(schema, spot)
            case "integer" | "number":
                return self._bounded(schema)
            case "boolean":
                return True
            case _:
                return None

    def _object(self, schema: Schema, spot: _Spot) -> dict[str, Any]:
        fields = schema.get("properties", {})
        made = {name: self.make(part, spot.field(name)) for name, part in fields.items()}
        every = schema.get("additionalProperties")
        if isinstance(every, dict):
            keys = (key for key in spot.heads if isinstance(key, str) and key not in made)
            made |= {key: self.make(every, spot.key(key)) for key in keys}
        return made

    def _array(self, schema: Schema, spot: _Spot) -> list[Any]:
        parts: list[Schema] = list(schema.get("prefixItems", ()))
        items = schema.get("items")
        reach = (head + 1 if head >= 0 else -head for head in spot.heads if isinstance(head, int))
        length = max(schema.get("minItems", 0), int(spot.depth < FRUGAL), *reach)
        if isinstance(items, dict):
            parts += [items] * (length - len(parts))
        return [self.make(part, spot.item(n, len(parts))) for n, part in enumerate(parts)]

    def _text(self, schema: Schema, spot: _Spot) -> str:
        if "contentEncoding" in schema:
            return "AAAA"
        form = schema.get("format", "")
        if form in TEXTS:
            number = 1 + self._number % (FORMATS_OF_FEW.get(form, 1_000_000) - 1)
            return TEXTS[form].format(number)
        plain = PLAIN[self._plain_at(spot.where)].format(spot.name or "text", self._number)
        text = plain.ljust(schema.get("minLength", 0), "x")
        return text[: schema.get("maxLength", len(text))]

    def _plain_at(self, where: str) -> int:
        """Which of PLAIN it is here: as this very path says, or one that stands for all in it."""
        around = (
            n for path, n in self._plain.items() if path.endswith("[...]") and where.startswith(path[:-5])
        )
        return self._plain.get(where, next(around, 0))

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


def _leads(value: Any, path: Path) -> bool:
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return False
    return value is not None
