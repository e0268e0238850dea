"""One process of makegood: a desk, the rooms it hosts, its place on the list of members. Built here only."""

import asyncio
import logging
import os
import random
import socket
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from makegood.agenda import every
from makegood.agents.lifespans import Lifespans, Stage
from makegood.agents.runner import Runner
from makegood.agents.watchdog import Watchdog
from makegood.alerts import Hook
from makegood.auditing.audit import Audit
from makegood.auditing.rounds import Rounds
from makegood.authoring.agent import Agent
from makegood.client.alerting import Alerts
from makegood.client.connection import Connection
from makegood.clock import Clock, SystemClock
from makegood.core.plan import Millis
from makegood.core.reports import LEASE
from makegood.desk import Desk
from makegood.errors import StoreError, StoreGone
from makegood.payload import Envelope
from makegood.scheduler.scheduler import Scheduler
from makegood.store.protocol import Member, Store
from makegood.supervisor.supervisor import Supervisor

log = logging.getLogger("makegood.runtime")

MEMBER_LEASE: Millis = LEASE
GRACE = 10.0
"""Seconds that running calls are given when the process is told to end."""
LAST_WORDS = 2.0
"""Seconds after that in which what came of them is recorded; a store that is locked holds nobody up."""


class Engine:
    """A desk with all its rooms (when there are agents), or with none (a client that only submits and acts).

    `chance` gives ids and jitter. `watched`: a thread names the action that blocks the loop. `stuck` is told
    the name of a call whose thread runs past timeout and settle, and of a lifespan that cannot be stopped;
    such a process should end. `stage` is told what begins while it starts and stops, and how many seconds
    that may take. `audit_every`: the store is audited every so many seconds. `alerts` are told of each task
    that is parked. `envelope` closes what is stored.
    """

    def __init__(
        self,
        store: Store,
        agents: Sequence[Agent] = (),
        *,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        watched: bool = True,
        stuck: Callable[[str], None] | None = None,
        stage: Stage | None = None,
        audit_every: float | None = None,
        alerts: Sequence[Hook] = (),
        envelope: Envelope | None = None,
    ) -> None:
        envelope = envelope or Envelope()
        chance = chance or random.SystemRandom()
        self.store = store
        self.clock = clock or SystemClock()
        self.member_id = f"{chance.getrandbits(48):012x}"
        self.agents = tuple(agent.name for agent in agents)
        """Their names."""
        self.desk = Desk(store, self.clock, self.member_id, random_bits=chance.getrandbits)
        self._runner: Runner | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._gone = asyncio.Event()
        self._watchdog = Watchdog(self.clock) if watched else None
        self._stage = stage or (lambda what, seconds: None)
        self._lifespans = Lifespans(agents, stage=self._stage, stuck=stuck or (lambda what: None))
        self._started_at: Millis = 0
        self._loops: list[Callable[[], Coroutine[Any, Any, None]]] = [self.desk.run]
        if agents:
            self._host_rooms(agents, chance.random, stuck, envelope)
        if audit_every is not None:
            self._loops.append(Rounds(Audit(store, agents, envelope), audit_every).run)
        if alerts:
            telling = Alerts(Connection(self.desk, envelope), alerts)
            self.desk.rooms.listening.append(telling.saved)
            self._loops.append(telling.run)

    def _host_rooms(
        self,
        agents: Sequence[Agent],
        chance: Callable[[], float],
        stuck: Callable[[str], None] | None,
        envelope: Envelope,
    ) -> None:
        scheduler = Scheduler(self.desk)
        supervisor = Supervisor(self.desk, random=chance)
        self._runner = Runner(self.desk, agents, stuck=stuck, envelope=envelope)
        self.desk.rooms.deciding = [supervisor, scheduler]
        self.desk.rooms.agents = self._runner
        self._loops += [scheduler.run, supervisor.run, self._runner.run, self._stay_member]

    @property
    def is_up(self) -> bool:
        """Whether it was started, and nothing kept it from that."""
        return bool(self._tasks)

    async def start(self) -> None:
        """Open the store, enter the agents' lifespans, and let every room make its rounds.

        Raises StoreError, and MakegoodError with the agent whose lifespan failed; nothing is left open then.
        """
        self._stage("the store", LAST_WORDS)
        try:
            await self.store.open()
            await self.store.now()
            self._started_at = self.desk.now()
            if self._runner is not None and self._watchdog is not None:
                self._watchdog.start()
            await self._lifespans.enter()
            if self._runner is not None:
                await self._renew_membership()
        except BaseException:
            try:
                await self._lifespans.leave()
            finally:  # also where somebody cancels once more meanwhile
                await self.let_go()
            raise
        self._tasks = [self._begin(loop) for loop in self._loops]

    def _begin(self, loop: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        return asyncio.create_task(loop(), context=self._lifespans.context)

    async def stop(self, grace: float = GRACE, *, leave_running: bool = True) -> None:
        """Give running calls `grace` seconds, record what came of them, and let go of everything.

        What cannot be cut off dies with the process. Where the process lives on, `leave_running` must be
        False: such a call may still have its effect, so it is waited for, and its lease is kept meanwhile.
        One that never was up has let go of everything already.
        """
        if not self.is_up:
            return
        if self._tasks[0].done():  # the desk's: what came of the calls is recorded whoever cancelled it
            self._tasks.append(self._begin(self.desk.run))
        over = self.clock.monotonic() + grace
        patience = LAST_WORDS
        if self._runner is not None:
            await self._runner.drain(grace, leave_running=leave_running)
            patience = max(LAST_WORDS, over - self.clock.monotonic())
        await self.desk.settle(patience)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.desk.close()
        await self._lifespans.leave()
        if self._runner is not None:
            self._stage("the store", LAST_WORDS)
            await self._leave()
        await self.let_go()

    async def let_go(self) -> None:
        """Of what does not end with the event loop: of the store, and of the watchdog's thread."""
        self._stage("the store", LAST_WORDS)
        if self._watchdog is not None:
            self._watchdog.stop()
        await self.store.close()

    async def failed(self) -> None:
        """Wait until a room's loop or a lifespan ends, which none should, or the store is gone; raises it."""
        watching = [asyncio.create_task(self._until_gone()), asyncio.create_task(self._lifespans.failed())]
        try:
            done, _ = await asyncio.wait([*self._tasks, *watching], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in watching:
                each.cancel()
        for ended in done:
            ended.result()

    async def _until_gone(self) -> None:
        await self._gone.wait()
        raise StoreGone("the store was deleted, replaced or cut while open, as the log says; start again")

    async def _stay_member(self) -> None:
        await every(MEMBER_LEASE / 3000, self._renew_membership, "membership")

    async def _renew_membership(self) -> None:
        assert self._runner is not None
        member = Member(
            member_id=self.member_id,
            roles=("scheduler", "agent", "supervisor"),
            actions=self._runner.actions,
            host=socket.gethostname(),
            pid=os.getpid(),
            started_at=self._started_at,
        )
        try:
            await self.store.renew_member(member, MEMBER_LEASE)
        except StoreGone:
            self._gone.set()
            raise

    async def _leave(self) -> None:
        try:
            async with asyncio.timeout(LAST_WORDS):
                await self.store.remove_member(self.member_id)
        except (StoreError, TimeoutError) as error:
            log.warning("could not leave the list of members, the lease will end by itself: %s", error)
