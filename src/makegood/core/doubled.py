"""Keys that stand twice in one object of JSON: decoders keep the last, and say nothing of the first."""

from collections import Counter
from typing import Any

NAME_SHOWN, PATH_SHOWN = 60, 300
"""Characters of a key, and of a whole path, that a message shows."""

_Place = tuple[Any, str | int] | None
"""Where a value stands: the place of what holds it, and its key or number there; None for the outermost."""


class _Object(list[tuple[str, Any]]):
    """An object's keys and values as they stand in the text."""


def doubled_key(text: bytes | str) -> str | None:
    """What is wrong where a key stands twice in its object, with its path; None if none does.

    The text must be JSON. Raises RecursionError where it is nested too deep to be read.
    """
    import json  # only for documents that come as text

    whole = json.loads(text, object_pairs_hook=_Object, parse_int=str, parse_float=str)
    left: list[tuple[_Place, Any]] = [(None, whole)]
    while left:
        place, value = left.pop()
        if isinstance(value, _Object) and (name := _twice_in(value)) is not None:
            where = f" in {_path(place)}" if place else ""
            return f"the key {name[:NAME_SHOWN]!r} stands twice{where}; keep one of them"
        if isinstance(value, list):
            parts = value if isinstance(value, _Object) else enumerate(value)
            left += [((place, step), part) for step, part in parts if isinstance(part, list)]
    return None


def _twice_in(value: _Object) -> str | None:
    counted = Counter(name for name, _ in value)
    return next((name for name, times in counted.items() if times > 1), None)


def _path(place: _Place) -> str:
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step[:NAME_SHOWN]}")
    return "".join(reversed(steps)).removeprefix(".")[:PATH_SHOWN]
