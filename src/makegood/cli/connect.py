"""Where a command's store is, and how a command works with it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from makegood.cli import output
from makegood.client import Makegood
from makegood.errors import MakegoodError
from makegood.store.url import DEFAULT_URL

STORE = "makegood.store"
HELP = f"The state store [env: MAKEGOOD_STORE; default: {DEFAULT_URL}]."

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


def _remember(ctx: click.Context, _: click.Parameter, url: str | None) -> None:
    """The nearest wins: after the subcommand, before it, the environment, the default."""
    if url is not None:
        ctx.meta[STORE] = url


def store_option(command: F) -> F:
    """`--store URL` on a subcommand."""
    option = click.option("--store", metavar="URL", expose_value=False, callback=_remember, help=HELP)
    return option(command)


def group_store_option(group: F) -> F:
    """`--store URL` before the subcommand, with the environment and the default behind it."""
    option = click.option(
        "--store",
        metavar="URL",
        envvar="MAKEGOOD_STORE",
        default=DEFAULT_URL,
        expose_value=False,
        callback=_remember,
        help=HELP,
    )
    return option(group)


def store_url() -> str:
    """The URL that holds for the running command."""
    url: str = click.get_current_context().meta[STORE]
    return url


def connected(work: Callable[[Makegood], Awaitable[T]], *, new: bool = False) -> T:
    """Do some work on the store. Only where `new` is given may it be one that is not there yet."""
    url = store_url()
    output.brief_warnings()
    if not new:
        must_be_there(url)

    async def run() -> T:
        async with Makegood(url) as makegood:
            return await work(makegood)

    return asyncio.run(run())


def must_be_there(url: str) -> None:
    """Looking must not leave an empty store behind in whatever folder somebody stands."""
    path = url.removeprefix("sqlite:///")
    if path != url and path and not os.path.exists(path):  # also where no file can have such a name
        raise MakegoodError(
            f"there is no store {path}; name another with --store, or make it with `makegood up` or `submit`"
        )
