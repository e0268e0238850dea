"""Asking agents for what their services hold: every listing function once, with a bound on its time."""

import asyncio
import inspect
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from makegood.apart import in_task, in_thread
from makegood.authoring.action import Action, Function
from makegood.authoring.agent import Agent
from makegood.authoring.listing import Held
from makegood.authoring.places import users_frames
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
    try:
        return Listing(name, actions, _checked(await in_task(lambda: _told(function), timeout)))
    except Exception as error:  # whatever the user's code raises
        return Listing(name, actions, trouble=_trouble(error))


def _trouble(error: Exception) -> str:
    """What a listing function raised, and the line of it that did."""
    where = "".join(f" ({place})" for place in users_frames(error.__traceback__)[-1:])
    return f"{in_words(error)}{where}"


async def _told(function: Function) -> list[Any]:
    if inspect.isasyncgenfunction(inspect.unwrap(function.fn)):
        return [item async for item in function.fn()]
    if function.is_async:
        told = await function.fn()
        return [item async for item in told] if hasattr(told, "__aiter__") else list(told)
    return await in_thread(lambda: list(function.fn()), "makegood-listing")


def _checked(told: list[Any]) -> list[Held]:
    for item in told:
        if not isinstance(item, Held):
            raise TypeError(f"it listed {item!r:.80}, which is no Held")
    return told
