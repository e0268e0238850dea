"""Values that nobody shall see: how a type marks them."""

import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec

from makegood.errors import PlanError
from makegood.payload.fields import Part, fields_of, further_fields
from makegood.payload.foreign import is_model
from makegood.payload.hints import alternatives, field_hints
from makegood.payload.rewriting import is_rewritten

Found = TypeVar("Found")

FIELD = re.compile(r"\.([^.\[]+)")
"""A field in a path of JSON: `.legs[3].price` has two."""


class Secret:
    """Marks a value as secret: `Annotated[str, Secret]`. Views, errors and logs show it as "***".

    It is stored as it is, or as the codec makes it, and handed to actions in clear.
    """

    def __repr__(self) -> str:
        """As a type shows it, the same in every process: an action's signature is made of it."""
        return type(self).__name__


def is_marked(hint: Any) -> bool:
    """Whether a hint marks all of a value as secret: by a mark, or where it holds one that its JSON, which is
    written in another form, has nobody knows where."""
    return _has_mark(hint) or (is_rewritten(hint) and mentions_mark(hint))


def marks_any(hint: Any) -> bool:
    """Whether a hint marks a secret, the fields of its classes not looked into."""
    return any(map(is_marked, _inside(hint)))


def mentions_mark(hint: Any) -> bool:
    """Whether a mark stands anywhere in what a type is made of: a crude look, which asks for no meaning."""
    seen, rest = [], [hint]
    while rest:
        one = rest.pop()
        if _has_mark(one):
            return True
        if one not in seen:
            seen.append(one)
            rest += _made_of(one)
    return False


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


def _has_mark(hint: Any) -> bool:
    return any(map(_is_mark, getattr(hint, "__metadata__", ())))


def _is_mark(metadata: Any) -> bool:
    """Whether this is Secret, a class derived from it, or an object of one."""
    return isinstance(metadata, Secret) or (isinstance(metadata, type) and issubclass(metadata, Secret))


def _fields_in(hint: Any) -> Iterator[tuple[str, Any]]:
    """The fields of every class in a hint, by each of their names, with their own hints."""
    seen, rest = [], [hint]
    while rest:
        for part in _inside(rest.pop()):
            if part in seen:
                continue
            seen.append(part)
            fields = _told(fields_of, part) or {}
            rest += (field.hint for field in fields.values())
            yield from (
                (known, field.hint) for name, field in fields.items() for known in _names(part, name, field)
            )


def _told(look: Callable[[Any], Found], hint: Any) -> Found | None:
    try:
        return look(hint)
    except PlanError:  # who makes a plan of this type is told
        return None


def _names(hint: Any, name: str, field: Part) -> Iterator[str]:
    """The names that a field has in Python and in JSON."""
    info = getattr(hint, "__pydantic_fields__", {}).get(name)
    names = [name, field.key, getattr(info, "alias", None), getattr(info, "validation_alias", None)]
    yield from {one for one in names if isinstance(one, str)}


def _inside(hint: Any) -> Iterator[Any]:
    """All that a hint is written with, and itself."""
    found, rest = [], [hint]
    while rest:
        one = rest.pop()
        if one not in found:
            found.append(one)
            rest += alternatives(one) or (*get_args(one), _told(further_fields, one))
    yield from found


_MADE_OF = (
    *("__args__", "__value__", "__supertype__", "__bound__", "__constraints__", "__default__"),
    *("__orig_bases__", "__extra_items__"),
)


def _made_of(hint: Any) -> Iterator[Any]:
    for name in _MADE_OF:
        held = getattr(hint, name, ())
        yield from held if isinstance(held, tuple) else (held,)
    cls = get_origin(hint) or hint
    if is_model(cls):
        given = getattr(cls, "__pydantic_generic_metadata__", {}).get("args", ())  # BaseModel has none
        yield from (_told(further_fields, cls), *given)
        yield from (Annotated[info.annotation, None, *info.metadata] for info in cls.model_fields.values())
    elif isinstance(cls, type):
        yield from (_told(field_hints, hint) or {}).values()
    else:
        yield cls
