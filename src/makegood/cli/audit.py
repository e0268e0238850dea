"""`makegood audit`: what tasks have done outside, proved, and held against what services hold."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from makegood.auditing import Effect, End, Report, Statement
from makegood.auditing.listing import LISTING_TIMEOUT
from makegood.cli import output
from makegood.cli.app import agents_of
from makegood.cli.connect import connected, store_option
from makegood.cli.given import LENGTHS, Length
from makegood.cli.look import json_option
from makegood.errors import PlanError
from makegood.reading.audit import Kind
from makegood.reading.past import Word
from makegood.reading.words import VERDICTS, counted

ENDS = {
    End.COMPLETED: ("completed", ""),
    End.UNDONE: ("undone", ""),
    End.ACCEPTED: ("accepted", "undone, save what a named person accepted as standing"),
    End.UNDER_WAY: ("under way", ""),
    End.PARKED: ("parked", "waiting for a person"),
    End.UNREADABLE: ("unreadable", "nothing can be said of their effects"),
}
STANDS = {"neverHappened": "never happened", "inDoubt": "in doubt", "underWay": "under way"}
EFFECTS = ("STEP", "STANDS", "SINCE", "KEY", "WHAT")
FINDINGS = ("KIND", "ID", "STEP", "WHAT")
PARKED = ("PARKED", "WAITS FOR OR BECAUSE")

file = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("task_ids", metavar="[ID]...", nargs=-1)
@click.option("--with", "apps", metavar="APP", multiple=True, help="Compare with what its agents can list.")
@click.option(
    "--listing-timeout",
    type=Length(min=0, min_open=True),
    default=LISTING_TIMEOUT,
    metavar="TIME",
    show_default=True,
    help=f"Give each listing at most so long. {LENGTHS}.",
)
@click.option("--seal", type=file, metavar="FILE", help="Write down every history's digest in a new FILE.")
@click.option("--against", type=file, metavar="FILE", help="Check that what FILE sealed is still there.")
@json_option
@store_option
def audit(
    task_ids: Sequence[str],
    apps: Sequence[str],
    listing_timeout: float,
    seal: Path | None,
    against: Path | None,
    as_json: bool,
) -> int:
    """What is in effect outside, from the record.

    Of each task named: every effect, whether it is kept, undone, never happened, is in doubt, was accepted by
    a named person. Without ID: how many tasks ended how, and whether anything is half done. Each record is
    proved from its history; exits 1 when anything is not as it should be.
    """
    agents = agents_of(apps) if apps else []
    if apps and not any(action.lists for agent in agents for action in agent.actions.values()):
        raise PlanError(
            f"{', '.join(apps)}: no action there has lists=..., so there is nothing to compare with; "
            "say it of an action, or leave out --with"
        )
    report = connected(
        lambda makegood: makegood.audit(
            *task_ids, agents=agents, listing_timeout=listing_timeout, seal=seal, against=against
        )
    )
    if as_json:
        output.document(report)
    else:
        _show(report, one_by_one=bool(task_ids))
    _say_of_seals(report, seal, against)
    return output.OK if report.clean else output.COULD_NOT


def _say_of_seals(report: Report, seal: Path | None, against: Path | None) -> None:
    unsound = {found.task_id for found in report.findings if found.kind is Kind.RECORD}
    if seal is not None:
        left_out = f", not of {len(unsound)} that do not hold" if unsound else ""
        output.say(
            f"sealed in {seal}: the histories of {counted(report.audited - len(unsound), 'task')}{left_out}; "
            "keep it where nobody who writes to the store can reach it, and check later: "
            + shlex.join(["makegood", "audit", "--against", f"{seal}"])
        )
    if against is not None and not any(found.kind is Kind.SEAL for found in report.findings):
        output.say(f"all that {against} sealed is still there")


def _show(report: Report, *, one_by_one: bool) -> None:
    if one_by_one:
        for statement in report.tasks:
            _show_statement(statement)
    else:
        _show_counts(report)
    _show_comparison(report)
    if report.findings:
        rows = [[finding.kind, finding.task_id, finding.step, finding.what] for finding in report.findings]
        output.table(FINDINGS, rows)
    output.data(f"half done: {report.half_done}")
    if len(report.findings) > report.half_done:
        output.data(f"other findings: {len(report.findings) - report.half_done}")


def _show_counts(report: Report) -> None:
    counts = [("audited", counted(report.audited, "task"))]
    counts += [
        (name, f"{report.ends[end]:<6} {meaning}")
        for end, (name, meaning) in ENDS.items()
        if report.ends[end] or end in (End.COMPLETED, End.UNDONE)
    ]
    output.fields(counts)
    if report.parked:
        output.data("")
        output.table(PARKED, [[parked.task_id, parked.reason] for parked in report.parked])
    output.data("")


def _show_comparison(report: Report) -> None:
    compared = report.compared
    if compared is None:
        return
    effects = f"{counted(compared.compared, 'effect')}, done or not"
    output.data(f"compared with services: {effects}; {compared.held} of them held there")
    if compared.unlisted:
        output.data(f"not compared, as nothing lists them: {', '.join(compared.unlisted)}")
    if compared.under_way:
        output.data(f"not compared, being under way: {', '.join(compared.under_way)}")
    if compared.foreign:
        output.data(f"held there, but none of ours: {compared.foreign}")
    for told in compared.doubts:
        output.data(f"{told.task_id} {told.step} is {STANDS.get(told.stands, told.stands)}; {told.what}")
    output.data("")


def _show_statement(statement: Statement) -> None:
    fields = [
        ("task", statement.task_id),
        ("state", statement.state),
        ("reason", statement.reason),
        ("version", f"{statement.version}"),
        ("digest", statement.digest),
    ]
    output.fields([(name, value) for name, value in fields if value])
    output.data("")
    if statement.effects:
        output.table(EFFECTS, [effect_row(effect) for effect in statement.effects])
        output.data("")


def effect_row(effect: Effect) -> list[str]:
    """An effect in a table of EFFECTS."""
    return [
        effect.step,
        STANDS.get(effect.stands, effect.stands),
        f"{effect.since[:19]}Z" if effect.since else "",
        effect.idempotency_key,
        _what(effect),
    ]


def _what(effect: Effect) -> str:
    """Who settled it, and why; or what its last call said; and the words of persons before."""
    word = Word(effect.settled_by, effect.settled_as, effect.settled_why)
    now = _said(word) if effect.settled_by else effect.error
    return "; ".join(filter(None, (now, *[f"before, {_said(word)}" for word in effect.earlier_words])))


def _said(word: Word) -> str:
    verdict = VERDICTS[word.settled_as] if word.settled_as else "skip it"
    said = f"{word.settled_by} says: {verdict}"
    return f"{said} ({word.settled_why})" if word.settled_why else said


COMMANDS = (audit,)
