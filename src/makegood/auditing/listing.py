"""Asking agents for what their services hold: every listing function once, with a bound on its time."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from makegood.authoring.action import Action, Function
from makegood.authoring.agent import Agent
from makegood.authoring.listing import Held
from makegood.errors import in_words

LISTING_TIMEOUT = 60.0
"""Seconds that a listing function is given."""


class Listing(msgspec.Struct, frozen=True):
    """What one listing function told of its actions; or why it told nothing."""

    name: str
    actions: Sequence[Action]
    held: Sequence[Held] = ()
    trouble: str = ""


async def listings(agents: Iterable[Agent], timeout: float = LISTING_TIMEOUT) -> list[Listing]:
    """Ask all listing functions of the agents, at the same time; each gets `timeout` seconds."""
    by_function: dict[Any, list[Action]] = {}
    for agent in agents:
        for action in agent.actions.values():
            if action.lists is not None:
                by_function.setdefault(action.lists.fn, []).append(action)
    return await asyncio.gather(*(_listing(actions, timeout) for actions in by_function.values()))


async def _listing(actions: Sequence[Action], timeout: float) -> Listing:
    function = actions[0].lists
    assert function is not None, "only actions that have one are asked"
    names = sorted({action.agent.name for action in actions})
    name = f"{function.name} of {', '.join(names)}"
    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return Listing(name, actions, _checked(await _told(function)))
    except (Exception, SystemExit) as error:  # the user's code may raise anything; it harms nothing else
        said = f"it was not through within {timeout:g} s" if limit.expired() else in_words(error)
        return Listing(name, actions, trouble=said)


async def _told(function: Function) -> list[Any]:
    if inspect.isasyncgenfunction(inspect.unwrap(function.fn)):
        return [item async for item in function.fn()]
    if function.is_async:
        told = await function.fn()
        return [item async for item in told] if hasattr(told, "__aiter__") else list(told)
    return await _in_thread(lambda: list(function.fn()))


def _checked(told: list[Any]) -> list[Held]:
    for item in told:
        if not isinstance(item, Held):
            raise TypeError(f"it listed {item!r:.80}, which is no Held")
    return told


async def _in_thread(work: Callable[[], list[Any]]) -> list[Any]:
    """Run it in a thread that dies with the process: one that never ends holds nobody up.

    Raises RuntimeError with what the thread raised.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[tuple[list[Any], str]] = loop.create_future()

    def tell(items: list[Any], trouble: str) -> None:
        if not told.done():
            told.set_result((items, trouble))

    def run() -> None:
        items, trouble = [], ""
        try:
            items = work()
        except BaseException as error:  # whatever it is, nobody else would hear of it
            trouble = in_words(error)
        with suppress(RuntimeError):  # the loop is over, and nobody waits any more
            loop.call_soon_threadsafe(tell, items, trouble)

    threading.Thread(target=run, name="makegood-listing", daemon=True).start()
    items, trouble = await told
    if trouble:
        raise RuntimeError(trouble)
    return items
