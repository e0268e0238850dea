"""Completing a command line in a shell: commands and options, files, and the ids of tasks."""

import asyncio
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, get_completion_class
from click.types import StringParamType

from makegood.cli import output
from makegood.cli.connect import STORE, must_be_there
from makegood.errors import MakegoodError
from makegood.store.protocol import Query
from makegood.store.url import DEFAULT_URL, open_store

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_MAKEGOOD_COMPLETE"
"""By this variable the script that a shell has loaded asks makegood itself what may follow."""
OFFERED_MAX = 200


@click.command()
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> int:
    """A script that completes command lines.

    For your shell to load: commands, options, files, and the ids of the newest tasks in the store. SHELL is
    bash, zsh or fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    output.data(kind(ctx.find_root().command, {}, "makegood", VARIABLE).source())
    return output.OK


class TaskId(StringParamType):
    """A task's id; the newest in the store are offered."""

    def shell_complete(self, ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The ids that begin so. None where the store cannot be read: a shell must not be disturbed."""
        try:
            ids = asyncio.run(_newest(ctx.meta.get(STORE, DEFAULT_URL)))
        except MakegoodError:
            return []
        return [CompletionItem(task_id) for task_id in ids if task_id.startswith(incomplete)]


class App(StringParamType):
    """A module or a file."""

    def shell_complete(self, _: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


COMPLETED: dict[str, StringParamType] = {"task_id": TaskId(), "task_ids": TaskId()}
COMPLETED |= dict.fromkeys(("app", "apps", "plan"), App())
"""What completes the arguments with these names."""


def complete_arguments(command: click.Command) -> None:
    """Have a shell complete a command's ids and files."""
    for param in command.params:
        if isinstance(param, click.Argument) and param.name in COMPLETED:
            param.type = COMPLETED[param.name]


async def _newest(url: str) -> Sequence[str]:
    must_be_there(url)
    store = open_store(url)
    try:
        await store.open()
        page = await store.search(Query(), limit=OFFERED_MAX)
    finally:
        await store.close()
    return [task.task_id for task in page.tasks]


COMMANDS = (completion,)
