"""Acts on many tasks at once: chosen by `--where`, counted first, done at a bounded rate."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from makegood.cli import output
from makegood.cli.connect import connected
from makegood.cli.given import Number, Whole, as_misuse
from makegood.cli.nobody import say_if_nobody_is_up
from makegood.client import Makegood, Task
from makegood.client.bulk import RATE
from makegood.reading.matching import WAYS, Where, parse
from makegood.reading.words import counted

F = TypeVar("F", bound=Callable[..., Any])
SHOWN = 10
"""Ids that are shown of the tasks that are meant."""

where_option = click.option(
    "--where",
    "terms",
    multiple=True,
    metavar="TERM",
    help=f"Only tasks for which this holds; may be repeated, and all must hold. TERM is {WAYS}.",
)


def bulk_options(command: F) -> F:
    """`--where`, `--dry-run`, `--count` and `--rate`."""
    dry_run = click.option("--dry-run", is_flag=True, help="With --where: only say the ids that are meant.")
    count = click.option(
        "--count",
        "wanted",
        type=Whole(min=0),
        metavar="N",
        help="With --where: act if exactly N tasks are meant.",
    )
    rate = click.option(
        "--rate",
        type=Number(min=0, min_open=True),
        default=RATE,
        show_default=True,
        metavar="N",
        help="With --where: act on at most N tasks a second.",
    )
    return where_option(dry_run(count(rate(command))))


class Bulk(NamedTuple):
    """What was said of the tasks to act on."""

    terms: Sequence[str]
    dry_run: bool
    wanted: int | None
    rate: float


def chosen(terms: Sequence[str]) -> Where:
    """Which tasks are meant. Raises UsageError for a term that is none."""
    with as_misuse("--where"):
        return parse(terms)


def one_or_many(task_id: str | None, bulk: Bulk) -> None:
    """Raise UsageError unless either an id or a filter was given."""
    if (task_id is None) == (not bulk.terms):
        raise click.UsageError("give either a task's ID or --where")
    if task_id is not None and (bulk.dry_run or bulk.wanted is not None):
        raise click.UsageError("--dry-run and --count are for --where")


def act_on_many(bulk: Bulk, verb: str, act: Callable[[Task[Any]], Awaitable[str]]) -> int:
    """Act on all tasks that are meant; exits 1 when one of them refused."""
    where = chosen(bulk.terms)
    ids = connected(lambda makegood: makegood.find(where))
    if bulk.dry_run:
        for task_id in ids:
            output.data(task_id)
        output.say(f"{_meant(ids)}; nothing was done")
        return output.OK
    if not _agreed(ids, bulk, verb):
        return output.COULD_NOT
    return connected(lambda makegood: _act(makegood, ids, bulk.rate, verb, act))


async def _act(
    makegood: Makegood, ids: Sequence[str], rate: float, verb: str, act: Callable[[Task[Any]], Awaitable[str]]
) -> int:
    came: Counter[str] = Counter()
    changed: list[str] = []
    try:
        async for acted in makegood.act_on(ids, act, rate=rate):
            came["refused" if acted.refused else "already" if acted.already else "done"] += 1
            changed += [acted.task_id] * (not acted.refused)
            output.progress("")
            output.done(f"{acted.task_id}: {acted.said}")
            output.progress(f"{verb}: {came.total()} of {len(ids)}")
    finally:  # what is done stays so, though nobody read stdout any more, or Ctrl-C end it under way
        output.progress("")
        output.say(f"{verb}: {_summed(came, len(ids))}")
    await say_if_nobody_is_up(makegood, changed)
    return output.COULD_NOT if came["refused"] else output.OK


def _summed(came: Counter[str], meant: int) -> str:
    """How many were done, were so already (where any was), and were refused; and left, where it stopped."""
    number = came["already"]
    already = f", {number} {'was' if number == 1 else 'were'} so already" if number else ""
    left = meant - came.total()
    stopped = f"; it stopped, and {left} {'is' if left == 1 else 'are'} left" if left else ""
    return f"{came['done']} of {counted(meant, 'task')}{already}, {came['refused']} refused{stopped}"


def _meant(ids: Sequence[str]) -> str:
    return f"{counted(len(ids), 'task')} {'is' if len(ids) == 1 else 'are'} meant"


def _agreed(ids: Sequence[str], bulk: Bulk, verb: str) -> bool:
    """Whether exactly these are meant: by --count, or by the count typed at a terminal.

    It asks outside of any event loop, which would keep Ctrl-C waiting for what is typed.
    """
    wanted = bulk.wanted
    if wanted is None and not ids:
        output.say(f"{_meant(ids)}; nothing was done")
        return False
    if wanted is None and output.can_ask():
        shown = ", ".join(ids[:SHOWN]) + (", ..." if len(ids) > SHOWN else "")
        output.say(f"{_meant(ids)}: {shown}")
        wanted = click.prompt(f"type {len(ids)} to {verb} them", type=int, err=True)
    if wanted is None:
        output.say(f"{_meant(ids)}; nothing was done. Say --count {len(ids)} to {verb} them")
        return False
    if wanted != len(ids):
        output.say(f"{_meant(ids)}, not {wanted}; nothing was done (--dry-run shows them)")
        return False
    return True
