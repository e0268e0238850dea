"""What agents own in a process: opened before their first call, closed after their last."""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Iterable
from typing import Any

from makegood.authoring.agent import Agent, Lifespan
from makegood.errors import MakegoodError, in_words

log = logging.getLogger("makegood.agents")

LEAVING_MAX = 10.0
"""Seconds that a lifespan may take to end; then the process ends without it."""
CUT_OFF_MAX = 1.0
"""Seconds after that in which it must heed that it is cancelled."""

Stage = Callable[[str, float], None]
"""Told what begins now, and how many seconds it may take once the process is to end."""


class Lifespans:
    """The lifespans of a process's agents, each for itself: how one ends is no news to another.

    `stage` is told of each that is entered or left. `stuck` is told of one that cannot be stopped.
    """

    def __init__(self, agents: Iterable[Agent], *, stage: Stage, stuck: Callable[[str], None]) -> None:
        self._agents = agents
        self._stage = stage
        self._stuck = stuck
        self._living: list[_Living] = []
        self._context = contextvars.copy_context()

    @property
    def context(self) -> contextvars.Context:
        """What a task is begun in that is to see the context variables which the lifespans set."""
        return self._context.copy()

    async def enter(self) -> None:
        """Enter all, in order. Raises MakegoodError with the agent whose own failed; then leave the rest."""
        self._context = contextvars.copy_context()
        for agent in self._agents:
            if agent.lifespan is None:
                continue
            living = _Living(agent.name, agent.lifespan, self._context)
            self._living.append(living)
            self._stage(living.name, LEAVING_MAX)
            waiting: list[asyncio.Future[Any]] = [living.task, living.entered]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if living.task.done():
                raise living.fault("could not begin")

    async def failed(self) -> None:
        """Wait until one ends that nobody told to; raises MakegoodError with its agent and what it says."""
        never = asyncio.get_running_loop().create_future()
        tasks = [living.task for living in self._living]
        await asyncio.wait([*tasks, never], return_when=asyncio.FIRST_COMPLETED)
        raise next(living.fault("ended by itself") for living in self._living if living.task.done())

    async def leave(self) -> None:
        """Leave all that were entered, in reverse; one that fails keeps no other from ending."""
        while self._living:
            living = self._living.pop()
            self._stage(living.name, LEAVING_MAX)
            if not await living.end():
                self._stuck(living.name)


class _Living:
    """One lifespan in a task of its own, from its first line to its last: whatever it raises ends there."""

    def __init__(self, agent: str, lifespan: Lifespan, context: contextvars.Context) -> None:
        self._agent = agent
        self._over = asyncio.Event()
        self.name = f"the lifespan of agent {agent}"
        self.entered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self._live(lifespan), name=self.name, context=context)

    async def _live(self, lifespan: Lifespan) -> BaseException | None:
        try:
            async with lifespan():
                self.entered.set_result(None)
                await self._over.wait()
        except BaseException as error:  # the user's code may raise anything, SystemExit included
            return error
        return None

    def fault(self, what: str) -> MakegoodError:
        """What became of it, once its task has ended."""
        error = self._error() or asyncio.CancelledError()
        fault = MakegoodError(f"agent {self._agent}: its lifespan {what}: {in_words(error)}")
        fault.__cause__ = error
        return fault

    def _error(self) -> BaseException | None:
        return asyncio.CancelledError() if self.task.cancelled() else self.task.result()

    async def end(self) -> bool:
        """Have it end, in time or cut off; False if it heeds neither. One that is not open yet is cut off."""
        if self.entered.done():
            self._over.set()
        else:
            self.task.cancel()
        await asyncio.wait([self.task], timeout=LEAVING_MAX)
        late = not self.task.done()
        if late:
            self.task.cancel()
            await asyncio.wait([self.task], timeout=CUT_OFF_MAX)
        ended = self.task.done()
        error = self._error() if ended else None
        if late or (error is not None and self.entered.done()):
            self._say(error, late=late)
        return ended

    def _say(self, error: BaseException | None, *, late: bool) -> None:
        """With the traceback of a fault, or of the place where it was when its time was over."""
        words = f": {in_words(error)}" if error is not None else ""
        trace = error if late or isinstance(error, Exception) else None
        log.error(
            "agent %s: its lifespan did not end well, or not in time%s", self._agent, words, exc_info=trace
        )
