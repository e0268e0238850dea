"""The page on the command line: every command as click knows it, with its options and examples."""

from collections.abc import Iterator
from inspect import cleandoc

import click

from makegood.cli.main import makegood
from tools.reference.schemas import FORMS
from tools.reference.text import indented, table

HEAD = """
# Command line

<!-- Written by `python -m tools.reference`; change the code, then run it again. -->

Data goes to standard output, talk to standard error. Ids are never cut, and `NO_COLOR` is heeded. Where a
command reads JSON (INPUT, `--result`), it is the JSON itself, `@file`, or `-` for standard input.

APP is a module or a `path.py`, with every Agent and plan at its top level, or `module:attr` for one of them
(or a list). APP:PLAN names a plan in it, by its own name or by that of its variable: `trip.py:book_trip`.

`makegood COMMAND --help` prints what stands here.
"""

CODES = [
    ("0", "done; where it waited for a task: `Completed`"),
    ("1", "well formed, but it could not be done; or a check found something broken"),
    ("2", "the command or its input is malformed"),
    ("10", "the task it waited for is `Compensated`"),
    ("20", "the task it waited for is `Failed`: parked"),
    ("30", "the task it waited for has not ended within `--timeout`"),
    ("75", "`up` only: a thread could not be stopped; start it again"),
]
"""Exit codes that hold for every command."""

FIELDS_TOLD = {
    "agents": "check.md#agents",
    "audit": "audit.md#for-programs",
    "check": "check.md#check",
    "doctor": "check.md#doctor",
    "history": "reference/facts.md",
    "list": "record.md#in-lists",
    "rehearse": "rehearse.md#how-to-read-the-table",
    "show": "record.md",
    "submit": "record.md#where-it-was-submitted",
    "why": "record.md#in-short",
}
"""Where the fields of a command's --json are told, in docs/."""


def page() -> str:
    """The page as Markdown."""
    with click.Context(makegood, info_name="makegood") as root:
        parts = [
            HEAD.strip(),
            "## Exit codes",
            table(("code", "means"), CODES),
            "## Options of every command",
        ]
        parts += _options(makegood, root)
        for name in makegood.list_commands(root):
            command = makegood.commands[name]
            parts += _command(name, command, click.Context(command, root, info_name=name))
    return "\n\n".join(parts) + "\n"


def _command(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"## {name}"
    yield indented(f"makegood {name} {usage}")
    yield _told(command.help or "")
    yield from _options(command, context)
    if name in FIELDS_TOLD:
        yield f"[What `--json` holds](../{FIELDS_TOLD[name]})."
    if name in FORMS:
        yield f"[Its JSON Schema](schemas/{name}.json)."
    if command.epilog:
        yield indented("\n".join(line.strip() for line in command.epilog.splitlines()[2:]))


def _told(text: str) -> str:
    """A help text as Markdown; what must not be folded stays as it is."""
    return "\n\n".join(
        indented(part.removeprefix("\b\n")) if part.startswith("\b") else part
        for part in cleandoc(text).split("\n\n")
    )


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [
        record
        for param in command.get_params(context)
        if isinstance(param, click.Option) and "--help" not in param.opts
        for record in [param.get_help_record(context)]
        if record is not None
    ]
    if records:
        yield table(("option", ""), [(f"`{option}`", told) for option, told in records])
