"""What agents own in a process: opened before their first call, closed after their last."""

import logging
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from typing import Any

from makegood.authoring.agent import Agent
from makegood.errors import MakegoodError

log = logging.getLogger("makegood.agents")


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
                if not isinstance(error, Exception):
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
                await lifespan.__aexit__(None, None, None)
            except Exception:  # the user's own code
                log.exception("agent %s: its lifespan did not end well", name)
