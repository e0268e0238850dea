"""The page on the Python interface: every public name, its signature as written, what it promises."""

import enum
import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import msgspec

from tools.reference.source import answer, attributes, fields, laid_out, options, signatures
from tools.reference.text import indented

MODULES = (
    "makegood",
    "makegood.agents.call",
    "makegood.errors",
    "makegood.sync",
    "makegood.http",
    "makegood.client",
    "makegood.authoring",
    "makegood.alerts",
    "makegood.auditing",
    "makegood.testing",
    "makegood_pytest",
)
"""What users import from, in the order of the page; one that is not there is left out."""

BETWEEN_PARTS = frozenset(
    {
        "makegood.agents.call.enter",
        "makegood.alerts.name_of",
        *(f"Action.{name}" for name in ("agent", "do", "undo", "probe", "lists", "node", "fn", "defaults")),
        *(f"Action.{name}" for name in ("result_type", "parameter_types", "result_may_be_none")),
        *(f"Action.{name}" for name in ("result_codec", "signature_hash", "arguments", "check_types")),
        *(f"Booking.{name}" for name in ("live_at", "cancel", "end")),
        *(f"Ledger.{name}" for name in ("serve", "knows", "most_alike", "take_notes")),
        *(
            f"Rehearsal.{name}"
            for name in ("running", "expects_refusal", "own", "cast", "step", "slow", "answer")
        ),
        *(f"Rehearsal.{name}" for name in ("refused", "given")),
        *(f"Snapshot.{name}" for name in ("stored", "head", "plan", "rows", "closed", "envelope", "why")),
        "Snapshot.read_at",
        *(f"Where.{name}" for name in ("numbers", "by_store", "holds")),
    }
)
"""What the parts of makegood say to each other, and users need not know."""

GIVEN = frozenset(
    {
        *("Action", "Acted", "Alert", "Audit", "Booking", "Call", "CallLogger", "Ledger", "Performance"),
        *("Snapshot", "Task", "TaskPage"),
    }
)
"""Classes whose objects makegood gives: how they are made is not told."""

STATES = frozenset({"Compensated", "Failed"})
"""Errors whose names more often stand for a state of a task: in running text they lead nowhere."""

HEAD = """
# Python interface

<!-- Written by `python -m tools.reference`; change the code, then run it again. -->

Every public name, as the code has it. What is not here, and every name that begins with `_`, may change at
any time. Times are seconds where nothing else is said; a `timedelta` will do where the signature allows one.
"""


def page() -> str:
    """The page as Markdown."""
    modules = [import_module(name) for name in MODULES if find_spec(name) is not None]
    parts, seen, errors = [HEAD.strip()], set[int](), set[str]()
    for module in modules:
        fresh = [(name, thing) for name, thing in public(module) if id(thing) not in seen]
        seen |= {id(thing) for _, thing in fresh}
        errors |= {name for name, thing in fresh if inspect.isclass(thing) and issubclass(thing, Exception)}
        parts += _module(module, fresh)
    return _linked("\n\n".join(part for part in parts if part), errors - STATES) + "\n"


def public(module: ModuleType) -> list[tuple[str, Any]]:
    """The public names of a module: its __all__, or else what it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return [(name, getattr(module, name)) for name in listed]
    return [
        (name, thing)
        for name, thing in vars(module).items()
        if getattr(thing, "__module__", "") == module.__name__ and hasattr(thing, "__name__")
        if not name.startswith("_") and f"{module.__name__}.{name}" not in BETWEEN_PARTS
    ]


def _module(module: ModuleType, names: list[tuple[str, Any]]) -> Iterator[str]:
    yield f"## {module.__name__}"
    yield _told(module.__doc__)
    for name, thing in names:
        yield f"### {name}"
        if inspect.isclass(thing):
            yield from _class(name, thing)
        elif inspect.isroutine(thing) or hasattr(thing, "__wrapped__"):
            yield from _function(name, inspect.unwrap(thing) if not inspect.isroutine(thing) else thing)
        elif isinstance(thing, enum.Enum):
            yield f"The one value of {type(thing).__name__}."
        elif callable(thing):
            yield from _function(name, type(thing).__call__)
            yield from _members(name, type(thing))
        else:
            yield indented(repr(thing))


def _function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    yield _code(*signatures(name, function))
    yield _told(function.__doc__)
    if more := options(function):
        yield "Further options:"
        yield _code(*more)


def _class(name: str, cls: type) -> Iterator[str]:
    data = list(_fields(name, cls))
    if data and name not in GIVEN:
        yield _code(laid_out(f"{name}(", [field for field, _ in data], ")"))
    elif _is_made_by_users(name, cls):
        yield _code(*signatures(name, vars(cls)["__init__"]))
    yield _told(cls.__doc__)
    yield from (
        f"Is a {base.__name__}." for base in cls.__bases__ if _is_ours(base) and issubclass(cls, Exception)
    )
    if issubclass(cls, enum.Enum):
        yield "\n".join(f"- `{member.value}`" for member in cls)
    told = [(field, text) for field, text in data if text or name in GIVEN] or list(attributes(cls))
    yield "\n".join(f"- `{one}`{': ' * bool(text)}{' '.join(text.split())}" for one, text in told)
    yield from _members(name, cls)


def _fields(owner: str, cls: type) -> Iterator[tuple[str, str]]:
    """What a dataclass or the like is made of, as written, each with the text below it."""
    if is_dataclass(cls) or issubclass(cls, msgspec.Struct | tuple):
        told = ((f"{owner}.{field.partition(':')[0]}", field, text) for field, text in fields(cls))
        yield from ((field, text) for name, field, text in told if name not in BETWEEN_PARTS)


def _is_made_by_users(name: str, cls: type) -> bool:
    written = inspect.isfunction(vars(cls).get("__init__")) and not is_dataclass(cls)
    return written and name not in GIVEN and not issubclass(cls, enum.Enum)


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("makegood")


def _members(owner: str, cls: type) -> Iterator[str]:
    """The public methods and properties that makegood gives a class, in the order written."""
    for name, member in _inherited(cls).items():
        bare = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if f"{owner}.{name}" in BETWEEN_PARTS:
            continue
        if isinstance(bare, property | cached_property):
            yield f"#### {owner}.{name}"
            yield _code(f"{name}: {answer(bare)}")
            yield _told(bare.__doc__)
        elif inspect.isfunction(bare):
            yield f"#### {owner}.{name}"
            yield from _function(name, bare)


def _inherited(cls: type) -> dict[str, Any]:
    classes = [base for base in reversed(cls.__mro__) if _is_ours(base)]
    members = {name: member for base in classes for name, member in vars(base).items()}
    return {name: member for name, member in members.items() if not name.startswith("_")}


def _code(*lines: str) -> str:
    return "\n".join(("```text", *lines, "```"))


def _told(text: str | None) -> str:
    """A docstring as Markdown: what is drawn or code stays as it stands."""
    return "\n\n".join(_paragraph(part) for part in inspect.cleandoc(text or "").split("\n\n"))


def _paragraph(part: str) -> str:
    return indented(part) if re.search(r"^(def|async def|with|@)\b|[├└]", part) else part


def _linked(text: str, errors: set[str]) -> str:
    """In running text, an error that is named leads to where it is told."""
    named = rf"(?<![`\w.\[])({'|'.join(sorted(errors))})(?![\w`(\]=]|\.\w)"
    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        running = not code and not line.startswith(("#", "    ", "```", "<!--"))
        lines.append(re.sub(named, _link, line) if running else line)
    return "\n".join(lines)


def _link(found: re.Match[str]) -> str:
    return f"[{found[1]}](#{found[1].lower()})"
