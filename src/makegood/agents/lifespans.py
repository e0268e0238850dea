"""What agents own in a process: opened before their first call, closed after their last."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

from makegood.authoring.agent import Agent
from makegood.errors import MakegoodError

log = logging.getLogger("makegood.agents")

LEAVING_MAX = 10.0
"""Seconds that a lifespan may take to end; then the process ends without it."""


class Lifespans:
    """The lifespans of a process's agents, each for itself: how one ends is no news to another."""

    def __init__(self, agents: Iterable[Agent]) -> None:
        self._agents = agents
        self._entered: list[tuple[str, AbstractAsyncContextManager[Any]]] = []

    async def enter(self) -> None:
        """Enter all, in order. Raises MakegoodError naming the agent whose own failed; none is open then."""
        for agent in self._agents:
            if agent.lifespan is None:
                continue
            try:
                lifespan = agent.lifespan()
                await lifespan.__aenter__()
            except BaseException as error:
                await self.leave()
                if not _is_of_lifespan(error):
                    raise
                raise MakegoodError(
                    f"agent {agent.name}: its lifespan could not begin: {type(error).__name__}: {error}"
                ) from error
            self._entered.append((agent.name, lifespan))

    async def leave(self) -> None:
        """Leave all that were entered, in reverse; one that fails keeps no other from ending."""
        while self._entered:
            name, lifespan = self._entered.pop()
            try:
                async with asyncio.timeout(LEAVING_MAX):
                    await lifespan.__aexit__(None, None, None)
            except BaseException as error:
                if not _is_of_lifespan(error):
                    raise
                log.exception("agent %s: its lifespan did not end well, or not in time", name)


def _is_of_lifespan(error: BaseException) -> bool:
    """Whether it comes from the user's code: not an exit, nor that whoever waits for it was cancelled."""
    task = asyncio.current_task()
    cancelled = task is not None and task.cancelling() > 0
    return isinstance(error, Exception) or (isinstance(error, asyncio.CancelledError) and not cancelled)
