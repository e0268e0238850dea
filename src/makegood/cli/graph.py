"""`graph`: a plan drawn with its undo lane, or as its document."""

from pathlib import Path

import click
import msgspec

from makegood import drawing
from makegood.authoring.loading import AnyPlan
from makegood.cli import output
from makegood.cli.planned import named_plan
from makegood.errors import MakegoodError

DRAWN = {"text": drawing.text, "mermaid": drawing.mermaid, "svg": drawing.svg}
FORMATS = (*DRAWN, "json")
SUFFIXES = {
    ".svg": "svg",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".txt": "text",
    ".json": "json",
    "": "text",
}
"""Formats by how a file's name ends."""


@click.command()
@click.argument("plan", metavar="APP:PLAN")
@click.option("--format", "form", type=click.Choice(FORMATS), help="[default: by FILE's name, or text]")
@click.option(
    "--output",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write it there; .svg, .mmd, .txt and .json say the format.",
)
def graph(plan: str, form: str | None, file: Path | None) -> int:
    """Draw a plan with its undo lane.

    Forward is read downward on the left; beside each step stands its undo, numbered in the order in which
    compensation calls them: undos of one number may run at the same time. What has no undo says why.

    The format json is the plan's document, all defaults filled in. In place of APP:PLAN a file PLAN.json may
    hold one.
    """
    drawn = _drawn(named_plan(plan), form or _form_of(file))
    if file is None:
        output.data(drawn)
    else:
        _write(file, drawn)
    return output.OK


def _drawn(plan: AnyPlan, form: str) -> str:
    if form == "json":
        return msgspec.json.format(plan.to_json()).decode()
    return DRAWN[form](plan.plan)


def _form_of(file: Path | None) -> str:
    """Raises UsageError for a name that promises what is not drawn here."""
    suffix = "" if file is None else file.suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(filter(None, SUFFIXES))
        raise click.UsageError(f"{file}: {suffix} says no format; end it in {known}, or give --format")
    return SUFFIXES[suffix]


def _write(file: Path, drawn: str) -> None:
    """Write all of it, or leave no new file. Raises MakegoodError."""
    try:
        known = file.exists()
        try:
            file.write_text(f"{drawn}\n", "utf-8")
        except OSError:
            if not known:
                file.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MakegoodError(f"{file}: {reason}; name a file that can be written") from None


COMMANDS = (graph,)
