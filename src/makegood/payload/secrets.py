"""Values that nobody shall see: how a type marks them."""

from collections.abc import Iterator
from typing import Any, NewType, get_args, get_type_hints


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


def fields_mark_any(cls: Any) -> bool:
    """Whether the hint of a field of this class marks a secret."""
    try:
        return any(map(marks_any, get_type_hints(cls, include_extras=True).values()))
    except Exception:  # a hint is an expression of the user's and may raise anything
        return False


def _inside(hint: Any) -> Iterator[Any]:
    """All that a hint is written with."""
    if isinstance(hint, NewType):
        hint = hint.__supertype__
    yield hint
    for part in (*get_args(hint), *getattr(hint, "__metadata__", ())):
        yield from _inside(part)
