"""The page on a task's history: every kind of fact, and the fields that it has as JSON."""

import inspect
import re
from collections.abc import Iterator

import msgspec

from makegood.core import events
from makegood.reading import facts
from tools.reference.text import table

HEAD = """
# Facts of a history

<!-- Written by `python -m tools.reference`; change the code, then run it again. -->

`makegood history ID --json` is a list of facts, the oldest first. Every fact has

| field | holds |
| --- | --- |
| `version` | the number of the commit that recorded it; facts of one commit share it |
| `at` | when, in store time |
| `who` | `client`, `scheduler`, `supervisor`, the name of the agent, or of the person who acted |
| `process` | the process that wrote it, as in `makegood agents` |
| `fact` | its kind, a name of the list below |

and the fields of its kind. What says nothing (an empty text, no value, a step of -1) is absent. Moments are
RFC 3339 in UTC, lengths of time milliseconds. More kinds and fields may come; those that are here stay.
"""


def page() -> str:
    """The page as Markdown."""
    rows = [(f"`{kind.__name__}`", _fields(kind), _told(kind)) for kind in kinds()]
    return f"{HEAD.strip()}\n\n{table(('kind', 'fields', 'says'), rows)}\n"


def kinds() -> Iterator[type[events.Fact]]:
    """The kinds of facts, as they stand in the code."""
    for thing in vars(events).values():
        if inspect.isclass(thing) and issubclass(thing, events.Fact) and thing is not events.Fact:
            yield thing


def _fields(kind: type[events.Fact]) -> str:
    return ", ".join(f"`{_exported(field.name)}`" for field in msgspec.structs.fields(kind))


def _exported(name: str) -> str:
    return facts.NAMES.get(name, name)


def _told(kind: type[events.Fact]) -> str:
    own = vars(kind).get("__doc__") or "A person."
    return re.sub(r"`(\w+)`", lambda name: f"`{_exported(name[1])}`", " ".join(inspect.cleandoc(own).split()))
