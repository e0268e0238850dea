"""Templates: JSON in which {"$ref": name, "path": [...]} stands for a part of a recorded value.

`$ref` names a step (its result) or "input"; {"$lit": x} stands for x where x itself has keys with a `$`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from makegood.errors import PayloadError
from makegood.payload.parts import at

Template = Any
Resolve = Callable[[Mapping[str, Any]], Any]
"""Fills a template in from decoded JSON by name of step or "input"; raises MissingPath."""


class MissingPath(PayloadError):
    """A template refers to a path that the recorded value does not have."""

    def __init__(self, name: str, path: tuple[str | int, ...]) -> None:
        super().__init__(f"{at(name, path)} is not there: the recorded value has no such path")
        self.name = name
        self.path = path


_compiled: dict[int, tuple[Template, Resolve]] = {}
_COMPILED_MAX = 10_000


def resolve(template: Template, values: Mapping[str, Any]) -> Any:
    """The template with its references filled in, not copied; raises MissingPath.

    A template is compiled once per object, and must not be changed afterwards.
    """
    known = _compiled.get(id(template))
    if known is None:
        if len(_compiled) >= _COMPILED_MAX:
            _compiled.clear()
        # The template is kept beside its function: as long as it lives, nothing else has its id.
        known = _compiled[id(template)] = (template, compile_template(template))
    return known[1](values)


def compile_template(template: Template) -> Resolve:
    """Turn a template into one function from recorded values to the finished JSON."""
    match template:
        case {"$ref": name}:
            return _reference(name, tuple(template.get("path", ())))
        case {"$lit": literal}:
            return lambda _: literal
        case dict():
            fields = [(key, compile_template(part)) for key, part in template.items()]
            return lambda values: {key: part(values) for key, part in fields}
        case list() | tuple():
            parts = [compile_template(part) for part in template]
            return lambda values: [part(values) for part in parts]
    return lambda _: template


def _reference(name: str, path: tuple[str | int, ...]) -> Resolve:
    def look_up(values: Mapping[str, Any]) -> Any:
        try:
            found = values[name]
            for part in path:
                if isinstance(found, str):  # Python would give its n-th character
                    raise TypeError
                found = found[part]
            return found
        except (KeyError, IndexError, TypeError):
            raise MissingPath(name, path) from None

    return look_up
