"""A person who sees to a rehearsed task, as any user of the client does: by a handle on it."""

from asyncio import sleep
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

from makegood.client.connection import Connection
from makegood.client.task import Task
from makegood.payload import Envelope
from makegood.runtime.engine import Engine
from makegood.testing.faulty import FaultyStore
from makegood.testing.rehearsal.trial import Trial
from makegood.testing.virtual import VirtualClock

T = TypeVar("T")

PATIENCE = 0.001
"""Seconds before they look again whether the task is submitted."""


class Person:
    """They come with a client of their own, so that they can act while no process is up, too."""

    def __init__(self, trial: Trial) -> None:
        self._world = trial.world
        self._task_id = trial.task_id
        self._agents = [action.agent for action in trial.plan.actions]
        self._times = 0

    async def act(self, act: Callable[[Task[Any]], Coroutine[Any, Any, T]]) -> T:
        """Open a client on the world's store, act on the task, and close it. Raises what the act raises."""
        while not self._world.watch.knows_of(self._task_id):
            await sleep(PATIENCE)
        self._times += 1
        client = self._client()
        await client.start()
        try:
            connection = Connection(client.desk, Envelope(), self._agents)
            connection.open()
            return await act(Task(connection, self._task_id, Any))
        finally:
            await client.stop(0)

    def _client(self) -> Engine:
        clock = VirtualClock()
        store = FaultyStore(
            self._world.disk.store(clock),
            clock,
            strikes=_nothing,
            kill=_nothing,
            freeze=_nothing,
            committed=self._world.watch.committed,
            lag=self._world.lag,
        )
        return Engine(store, clock=clock, chance=Random(f"person {self._times}"), watched=False)


def _nothing(*told: object) -> None:
    """No trouble comes between a person and the store."""
