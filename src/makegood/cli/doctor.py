"""`doctor` and `agents`: how the store is, and who works on it."""

import asyncio
from collections.abc import Sequence

import click

from makegood.cli import output
from makegood.cli.act import act_options
from makegood.cli.connect import connected, must_be_there, store_option, store_url
from makegood.cli.look import json_option
from makegood.cli.times import in_short
from makegood.clock import SystemClock
from makegood.core.words import moment
from makegood.health import Level, Line, examine
from makegood.store.protocol import Member
from makegood.store.url import open_store

MEMBERS = ("ID", "HOST", "PID", "SINCE", "LEASE UNTIL", "WHAT")
WIDTHS = (6, 11, 0)
"""Of a line's level, what it is about, and the rest."""


@click.command()
@click.option(
    "--restored", is_flag=True, help="The store was put back from a backup: cast doubt on what is open in it."
)
@json_option
@act_options
def doctor(as_json: bool, restored: bool, by: str, why: str) -> int:
    """Whether the store and those on it are well.

    The SQLite library, the file, its disk and permissions; schema and clock; who is alive and in which
    versions; tasks that are due and that nobody sees to, that are stuck, or cannot be read.

    A line each: ok, warn, or broken; exits 1 if anything is broken. It changes no task.

    With --restored, given once before any process is started on a backup that was put back: what is open, and
    what comes next, may have been called since; so it is called again by its key, asked for by its probe, or
    a person is asked. --by and --why are for that.
    """
    if restored:
        told = connected(lambda makegood: makegood.restored(by=by, why=why))
        output.say(f"{told} tasks know now that a backup was put back")
    url = store_url()
    must_be_there(url)
    output.brief_warnings()
    lines = asyncio.run(examine(open_store(url), SystemClock()))
    if as_json:
        output.document(lines)
    else:
        for line in lines:
            _show(line)
    return output.COULD_NOT if any(line.level is Level.BROKEN for line in lines) else output.OK


def _show(line: Line) -> None:
    output.row((line.level.value, line.about, line.what), WIDTHS)
    if line.way_out:
        output.row(("", "", f"way out: {line.way_out}"), WIDTHS)


@click.command()
@json_option
@store_option
def agents(as_json: bool) -> int:
    """Who is alive: roles, actions, host.

    Every process that works on the store renews its lease while it lives; one whose lease has ended is not
    shown any more. --json has each action's signature as well.
    """
    members = connected(lambda makegood: makegood.members())
    if as_json:
        output.document([_document(member) for member in members])
    elif members:
        output.table(MEMBERS, [_row(member) for member in members])
    else:
        output.say("no process is alive on this store; `makegood up APP` starts one")
    return output.OK


def _row(member: Member) -> Sequence[str]:
    return (
        member.member_id,
        member.host,
        str(member.pid),
        in_short(member.started_at),
        in_short(member.lease_until),
        f"{', '.join(member.roles)}: {', '.join(sorted(member.actions))}",
    )


def _document(member: Member) -> dict[str, object]:
    return {
        "memberId": member.member_id,
        "roles": member.roles,
        "host": member.host,
        "pid": member.pid,
        "startedAt": moment(member.started_at),
        "leaseUntil": moment(member.lease_until),
        "actions": member.actions,
    }


COMMANDS = (agents, doctor)
