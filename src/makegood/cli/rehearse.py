"""`rehearse`: a plan through every failure and crash at every call, before it runs."""

from collections import Counter
from typing import TYPE_CHECKING

import click

from makegood.authoring.loading import load_module
from makegood.cli import output
from makegood.cli.given import read_json
from makegood.cli.look import json_option
from makegood.cli.planned import example_of, plan_of_app
from makegood.clock import SystemClock
from makegood.reading.words import counted, span

if TYPE_CHECKING:
    from makegood.testing.rehearsal.report import Report, Row

ROWS = ("CALL", "WHAT STRIKES IT", "ENDS", "WHAT")
ENDS = {"Failed": "waits for a person"}


@click.command()
@click.argument("plan", metavar="APP:PLAN")
@click.option("--input", "given", metavar="INPUT", help="JSON, @file or -; without it an input is made up.")
@click.option("--stage", metavar="MODULE", help="A module or path.py that says how services really are.")
@click.option("--pairs", is_flag=True, help="Also every two faults; takes minutes.")
@json_option
def rehearse(plan: str, given: str | None, stage: str | None, pairs: bool, as_json: bool) -> int:
    """Try a plan against every failure.

    Every call is refused, is told to come back, times out (having happened, or not, or happening late),
    crashes before and after; and so is every undo, in a run that is cancelled at the end. Your functions are
    not called, unless a Rehearsal in the app or in MODULE says so: services are simulated as your agents
    declare them, in virtual time.

    Exits 1 where a promise is broken, and tells the shortest story that leads there; 2 where a function of
    yours reached for a live service, which is refused, or returned without asking a fake one, and where a
    mistake in your code came to light, such as a KeyError.
    """
    from makegood.testing.rehearsal import stage as staging
    from makegood.testing.rehearsal.rehearse import rehearse as rehearsed

    if stage == "":
        raise click.UsageError("--stage is empty; name a module, or a path that ends in .py")
    clock = SystemClock()
    began = clock.monotonic()
    definition = plan_of_app(plan)
    raw = None if given is None else read_json(given, "--input", example_of(definition))
    module = plan.rpartition(":")[0].partition(":")[0] if stage is None else stage
    said = staging.stage_of(load_module(module), must=stage is not None)
    report = rehearsed(definition, stage=said, input_json=raw, pairs=pairs)
    if as_json:
        output.document(report.document())
    else:
        _show(report)
        took = clock.monotonic() - began
        lived = span(int(report.virtual_seconds * 1000))
        output.say(f"{len(report.rows)} runs, {lived} of virtual time, in {took:.1f} s")
    return output.OK if report.kept else output.COULD_NOT


def _show(report: "Report") -> None:
    shown = [row for row in report.rows if len(row.faults) < 2]
    output.table(ROWS, [_row(row) for row in shown])
    output.data("")
    more = [row for row in report.rows if len(row.faults) > 1]
    _show_counts("a call in doubt, and its probe learns nothing", [row for row in more if _asks(row)])
    _show_counts("two faults", [row for row in more if not _asks(row)])
    for told in report.told():
        output.prose(f"{told}\n")
    output.prose(report.cast)
    output.data(f"broken promises: {len(report.broken)}")


def _asks(row: "Row") -> bool:
    return any(fault.call == "probe" for fault in row.faults)


def _show_counts(struck: str, rows: "list[Row]") -> None:
    if rows:
        ends = Counter(ENDS.get(row.ends, row.ends) for row in rows)
        told = ", ".join(f"{times} {end}" for end, times in ends.most_common())
        output.data(f"{struck}: {counted(len(rows), 'run')}: {told}")
        output.data("")


def _row(row: "Row") -> list[str]:
    if row.faults:
        [fault] = row.faults
        meanwhile = "cancelled, and " if row.cancelled and fault.call == "do" else ""
        return [fault.where, f"{meanwhile}{fault.fault}", _ends(row), _what(row)]
    return ["-", f"cancelled during {row.cancelled}" if row.cancelled else "nothing", _ends(row), _what(row)]


def _ends(row: "Row") -> str:
    return f"BROKEN ({row.ends})" if row.broken else ENDS.get(row.ends, row.ends)


def _what(row: "Row") -> str:
    """How its steps stand, as far as its end does not say so."""
    parts = {
        "in effect": () if row.ends == "Completed" else row.in_effect,
        "undo called": row.undone,
        "never happened": row.never_happened,
        "in doubt": row.in_doubt,
    }
    told = [f"{name}: {', '.join(steps)}" for name, steps in parts.items() if steps]
    told += [f"{step} waits: {why}" for step, why in row.waits_for.items()]
    return "; ".join(told)


COMMANDS = (rehearse,)
