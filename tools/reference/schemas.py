"""What commands print with --json, hooks are given, and plan documents hold, as JSON Schemas: a file each."""

from typing import Any, NamedTuple

import msgspec

from makegood.auditing import Report
from makegood.health.line import Line
from makegood.testing.rehearsal.report import Report as Rehearsal
from tools.reference import plan_document, printed

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Form(NamedTuple):
    """What a command prints: one of `types`, a list of them, or one a line."""

    types: tuple[Any, ...]
    in_list: bool = False
    by_line: bool = False
    title: str = ""
    """What it is, if no command prints it."""


def _rehearsed() -> type[msgspec.Struct]:
    """See Rehearsal.document."""
    own = [(field.name, field.type) for field in msgspec.structs.fields(Rehearsal)]
    tried = [("tried", int), ("ends", dict[str, int])]
    return msgspec.defstruct("Rehearsed", [*tried, *own], rename="camel")


FORMS = {
    "agents": Form((printed.Process,), in_list=True),
    "alert": Form((printed.Alert,), title="what makegood gives an alert hook"),
    "audit": Form((Report,)),
    "check": Form((printed.Checked,)),
    "doctor": Form((Line,), in_list=True),
    "history": Form(printed.FACTS, in_list=True),
    "list": Form((printed.Listed, printed.Unreadable), in_list=True),
    "rehearse": Form((_rehearsed(),)),
    "show": Form((printed.Record,)),
    "submit": Form((printed.Entered, printed.Submitted), by_line=True),
    "watch": Form((*printed.FACTS, printed.Record, printed.Listed, printed.Unreadable), by_line=True),
    "why": Form((printed.InShort,)),
}
"""By the name of the command, or of what it is."""


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints, or of each line of it."""
    form = FORMS[name]
    found, defs = msgspec.json.schema_components(form.types, ref_template="#/$defs/{name}")
    one: dict[str, Any] = {"anyOf": list(found)} if len(found) > 1 else dict(found[0])
    what = {"type": "array", "items": one} if form.in_list else one
    command = f"a line of makegood {name} --json" if form.by_line else f"makegood {name} --json"
    return _head(name, form.title or command) | what | {"$defs": defs}


def schema_of_plans() -> dict[str, Any]:
    """The JSON Schema of a plan document."""
    return _head("plan", "a plan document of makegood, as PLAN.json holds it") | plan_document.schema()


def _head(name: str, title: str) -> dict[str, Any]:
    return {"$schema": DIALECT, "$id": f"urn:makegood:schema:{name}", "title": title}


def files() -> dict[str, str]:
    """The text of each file, by its name."""
    printed_forms = {name: schema_of(name) for name in FORMS}
    schemas = printed_forms | {"plan": schema_of_plans()}
    return {f"schemas/{name}.json": _text(schema) for name, schema in schemas.items()}


def _text(schema: dict[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
