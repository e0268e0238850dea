"""Values that nobody shall see: how a type marks them."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NewType, get_args, get_origin, get_type_hints

import msgspec

FIELD = re.compile(r"\.([^.\[]+)")
"""A field in a path of JSON: `.legs[3].price` has two."""


class Secret:
    """Marks a value as secret: `Annotated[str, Secret]`. Views, errors and logs show it as "***".

    It is stored as it is, or as the codec makes it, and handed to actions in clear.
    """

    def __repr__(self) -> str:
        """As a type shows it, the same in every process: an action's signature is made of it."""
        return type(self).__name__


def is_mark(metadata: Any) -> bool:
    """Whether this is what marks a secret in an Annotated."""
    return metadata is Secret or isinstance(metadata, Secret)


def marks_any(hint: Any) -> bool:
    """Whether a hint marks a secret, the fields of its classes not looked into."""
    return any(map(is_mark, _inside(hint)))


class Marks(msgspec.Struct, frozen=True):
    """What a type marks as secret: all of it, or fields of its classes, by their names in JSON.

    `holding` are the fields that hold a secret further in, `known` all fields.
    """

    whole: bool = False
    marked: frozenset[str] = frozenset()
    holding: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        return self.whole or bool(self.marked)

    def hides(self, path: str) -> bool:
        """Whether what is said of the part at a path could tell a secret."""
        names = FIELD.findall(path)
        told = bool(names) and names[-1] in self.known - self.marked - self.holding
        return self.any and (self.whole or not told or not self.marked.isdisjoint(names))

    def shown(self, path: str, where: str) -> str:
        """A path that begins with `where`, up to a secret: what is in one may be named by a key of it."""
        fields = FIELD.finditer(path, len(where))
        ends = (field.end() for field in fields if field[1] in self.marked)
        end = len(where) if self.whole else next(ends, len(path))
        return path if end == len(path) else f"{path[:end]}[...]"


NO_MARKS = Marks()


def marks_of(hint: Any) -> Marks:
    """Look through a type and the fields of all classes in it."""
    fields = [(name, inner, marks_any(inner)) for name, inner in _fields_in(hint)]
    return Marks(
        whole=marks_any(hint),
        marked=frozenset(name for name, _, marked in fields if marked),
        holding=frozenset(
            name for name, inner, _ in fields if any(marks_any(part) for _, part in _fields_in(inner))
        ),
        known=frozenset(name for name, _, _ in fields),
    )


def names_in(*hints: Any) -> frozenset[str]:
    """The names that the fields of all classes in these types have."""
    return frozenset(name for hint in hints for name, _ in _fields_in(hint))


def _fields_in(hint: Any) -> Iterator[tuple[str, Any]]:
    """The fields of every class in a hint, by each of their names, with their own hints."""
    seen, rest = set(), [hint]
    while rest:
        for part in _inside(rest.pop()):
            cls = get_origin(part) or part
            if isinstance(cls, type) and cls not in seen:
                seen.add(cls)
                fields = _fields_of(cls)
                rest += fields.values()
                yield from ((known, inner) for name, inner in fields.items() for known in _names(cls, name))


def _fields_of(cls: Any) -> dict[str, Any]:
    try:
        hints = get_type_hints(cls, include_extras=True)
    except Exception:  # a hint is an expression of the user's and may raise anything
        return {}
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _names(cls: Any, name: str) -> Iterator[str]:
    """The names that a field has in Python and in JSON."""
    info = getattr(cls, "__pydantic_fields__", {}).get(name)
    aliases = [getattr(info, "alias", None), getattr(info, "validation_alias", None)]
    if issubclass(cls, msgspec.Struct):
        aliases += [field.encode_name for field in msgspec.structs.fields(cls) if field.name == name]
    yield from {name, *(alias for alias in aliases if isinstance(alias, str))}


def _inside(hint: Any) -> Iterator[Any]:
    """All that a hint is written with."""
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    yield hint
    for part in (*get_args(hint), *getattr(hint, "__metadata__", ())):
        yield from _inside(part)
