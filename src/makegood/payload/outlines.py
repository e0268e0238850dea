"""A type in words, the same in every process: with the fields of the classes in it, and their types."""

from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

from makegood.payload.fields import Part, fields_of, further_fields
from makegood.payload.foreign import is_root_model
from makegood.payload.hints import alternatives, is_alias, unwrapped


def outline_of(hint: Any) -> str:
    """A type, and once each all classes in it: their fields as JSON has them (`name?` need not be given).

    Where a class stands, its methods and what its defaults are make no difference. Raises PlanError where a
    hint cannot be resolved.
    """
    return _Outlines().of(hint)


class _Outlines:
    """Tells each class once, so that a type may hold itself."""

    def __init__(self) -> None:
        self._told: list[Any] = []

    def of(self, hint: Any) -> str:
        fields = fields_of(hint)
        if fields is None and not is_alias(hint) and not is_root_model(hint):
            return self._plain(hint)
        name = _name(hint)
        if hint in self._told:
            return name
        self._told.append(hint)
        return f"{name}({self._options(hint) if fields is None else self._fields(hint, fields)})"

    def _options(self, hint: Any) -> str:
        return " | ".join(map(self.of, alternatives(hint)))

    def _fields(self, hint: Any, fields: dict[str, Part]) -> str:
        tag = getattr(getattr(get_origin(hint) or hint, "__struct_config__", None), "tag", None)
        further = further_fields(hint)
        told = [f"{part.key}{'' if part.required else '?'}: {self.of(part.hint)}" for part in fields.values()]
        told += [] if tag is None else [f"tag {tag!r}"]
        return ", ".join([*told, *([] if further is None else [f"**{self.of(further)}"])])

    def _plain(self, hint: Any) -> str:
        if isinstance(hint, TypeVar) and unwrapped(hint) is hint:
            return _name(hint)
        if alternatives(hint):
            return self._options(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return f"{_name(hint)}({', '.join(repr(one.value) for one in hint)})"
        inner = get_args(hint)
        return f"{_name(hint)}[{', '.join(map(self.of, inner))}]" if inner else _name(hint)


def _name(hint: Any) -> str:
    """Of a type without what is in its brackets; a value in a Literal is itself."""
    cls = get_origin(hint) or hint
    return cls.__qualname__ if isinstance(cls, type) else getattr(cls, "__name__", None) or repr(cls)
