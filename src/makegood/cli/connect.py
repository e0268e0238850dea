"""Where a command's store is, and how a command works with it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from makegood.authoring.loading import load_module
from makegood.cli import output
from makegood.cli.given import as_misuse
from makegood.client import Makegood
from makegood.errors import MakegoodError, PlanError, StoreUnavailable
from makegood.payload import Envelope, PayloadCodec
from makegood.store.url import DEFAULT_URL, open_store

STORE = "makegood.store"
TRIAL_URL = "memory:"
IN_MEMORY = (TRIAL_URL, "sqlite:///:memory:")
CODEC_VERBS = ("encode", "decode")
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
    """The URL that holds for the running command.

    Raises UsageError where it names no store, or one that is gone with the command.
    """
    url: str = click.get_current_context().meta[STORE]
    if url in IN_MEMORY:
        raise click.UsageError(
            f"a store in memory ({url}) ends with the command, and no other process sees it; name a file, as "
            f"in {DEFAULT_URL}"
        )
    with as_misuse():
        open_store(url)
    return url


def store_words() -> list[str]:
    """`--store URL`, where the command line says it: what environment and default say holds anyway."""
    ctx: click.Context | None = click.get_current_context()
    while ctx is not None:
        if ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE:
            return ["--store", store_url()]
        ctx = ctx.parent
    return []


def given_codec() -> PayloadCodec | None:
    """The codec that MAKEGOOD_CODEC names, as APP:NAME; raises PlanError where there is none."""
    spec = os.environ.get("MAKEGOOD_CODEC", "")
    if not spec:
        return None
    source, _, name = spec.rpartition(":")
    codec: PayloadCodec | None = getattr(load_module(source), name, None) if source else None
    if codec is None:
        raise PlanError(f"MAKEGOOD_CODEC={spec}: there is no such codec; write APP:NAME, as in app.py:codec")
    if isinstance(codec, type) or not all(callable(getattr(codec, verb, None)) for verb in CODEC_VERBS):
        kind = f"the class {name}" if isinstance(codec, type) else f"of type {type(codec).__name__}"
        raise PlanError(
            f"MAKEGOOD_CODEC={spec}: this is {kind}, and no codec; name an object that has a name, encode "
            "and decode"
        )
    try:
        Envelope(codec)
    except MakegoodError as error:
        raise PlanError(f"MAKEGOOD_CODEC={spec}: {error}") from None
    return codec


def connected(
    work: Callable[[Makegood], Awaitable[T]],
    *,
    first: Callable[[Makegood], Awaitable[object]] | None = None,
    always: bool = False,
) -> T:
    """Do some work on the store, which must be there, unless it is said what is done `first` on a new one.

    That is tried in memory before anything is made: what is refused leaves no empty store behind. `always`:
    so it is where there is a store.
    """
    url = store_url()
    output.brief_warnings()
    if first is None:
        must_be_there(url)
    elif always or not is_there(url):
        asyncio.run(_on(TRIAL_URL, first))
    return asyncio.run(_on(url, work))


async def _on(url: str, work: Callable[[Makegood], Awaitable[T]]) -> T:
    async with Makegood(url, codec=given_codec()) as makegood:
        return await work(makegood)


def must_be_there(url: str) -> None:
    """Looking must not leave an empty store behind in whatever folder somebody stands."""
    if not is_there(url):
        folder = os.path.dirname(path_of(url))
        if folder and not os.path.isdir(folder):
            raise StoreUnavailable(
                f"there is no store {path_of(url)}, nor its folder; name another with --store, or make the "
                "folder first"
            )
        raise StoreUnavailable(
            f"there is no store {path_of(url)}; name another with --store, or make it with `makegood up` or "
            "`submit`"
        )


def is_there(url: str) -> bool:
    """Whether anything stands where a URL leads; so it may where nobody lets us look."""
    try:
        os.stat(path_of(url))
    except PermissionError:
        return True
    except (OSError, ValueError):  # also where no file can have such a name
        return False
    return True


def path_of(url: str) -> str:
    """The file of a store's URL."""
    return url.removeprefix("sqlite:///")
