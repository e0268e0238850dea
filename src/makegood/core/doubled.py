"""Keys that stand twice in one object of JSON: decoders keep the last, and say nothing of the first."""

import json
from typing import Any

NAME_SHOWN = 60
"""Characters of a key that a message shows."""


class _Object(list[tuple[str, Any]]):
    """An object's keys and values as they stand in the text."""


def doubled_key(text: bytes | str) -> str | None:
    """What is wrong where a key stands twice in its object, with its path; None if none does.

    The text must be JSON. Raises RecursionError where it is nested too deep to be read.
    """
    left = [("", json.loads(text, object_pairs_hook=_Object, parse_int=str, parse_float=str))]
    while left:
        where, value = left.pop()
        if isinstance(value, _Object):
            names = [name for name, _ in value]
            if len(set(names)) < len(names):
                twice = next(name for n, name in enumerate(names) if name in names[:n])
                place = f" in {where[1:]}" if where else ""
                return f"the key {twice[:NAME_SHOWN]!r} stands twice{place}; keep one of them"
            left += [(f"{where}.{name[:NAME_SHOWN]}", part) for name, part in value]
        elif isinstance(value, list):
            left += [(f"{where}[{n}]", part) for n, part in enumerate(value)]
    return None
