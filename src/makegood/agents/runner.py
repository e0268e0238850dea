"""Room 2, the agents' runner: it claims what its agents can do, makes the one call, reports the outcome."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from makegood.agenda import every
from makegood.agents.arriving import hasten
from makegood.agents.call import Call, enter
from makegood.agents.repertoire import Repertoire, function_of, lack
from makegood.agents.saying import Keyless, say_raised
from makegood.agents.work import UNSENT_WAIT, Work, returned
from makegood.authoring.action import Function
from makegood.authoring.agent import Agent
from makegood.core.draft import Draft
from makegood.core.events import Claimed, Event, LeaseRenewed
from makegood.core.plan import Millis
from makegood.core.record import KIND_OF, OFFERED, Direction, Phase
from makegood.core.reports import LEASE
from makegood.desk import Desk
from makegood.errors import PayloadError, plain
from makegood.payload import Envelope
from makegood.rooms import Entry

log = logging.getLogger("makegood.agents")

CALLS_MAX = 1_000
THREADS_MAX = 64
THREAD_NAME = "makegood-call"
"""How the names of threads that make calls begin."""
HEAD_START: Millis = 1_500
"""How long an offer that this process could not read is left to others, who look for one every second."""
UNREAD_MAX = 10_000
"""How many such calls it remembers."""
GOING_DOWN = "its process is going down"
NO_THREAD = "too late to send: no thread was free in time"
STILL_WAITING = 10.0
"""Seconds between two words on what holds up leaving."""
OVERRUN_CHECK = 0.2
"""Seconds after its timeout in which an action must have ended; then its lease is kept for it."""


class Flight:
    """A call under way."""

    __slots__ = (
        "_turn",
        "call",
        "instead",
        "overrun",
        "renewed",
        "task",
        "threaded",
        "timed_out",
        "timer",
        "work",
    )

    def __init__(self, work: Work, renewed: float, *, threaded: bool) -> None:
        self.work = work
        self.renewed = renewed
        self.threaded = threaded
        self.call: Call | None = None
        self.timed_out = self.overrun = False
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None
        self.instead: Event | None = None
        """What is reported of a call that was called off."""
        self._turn = threading.Lock()

    def may_send(self) -> bool:
        """True for the first who asks: who sends the call, in whichever thread, or who calls it off."""
        return self._turn.acquire(blocking=False)

    def call_off(self, instead: Event) -> bool:
        """End it with this fact; False if it is sent already."""
        if self.task is None or not self.may_send():
            return False
        self.instead = instead
        self.task.cancel()
        return True


class Runner:
    """Makes the calls of its agents. `stuck` is told of a thread that runs past timeout and settle."""

    def __init__(
        self,
        desk: Desk,
        agents: Iterable[Agent],
        *,
        period: float = 1.0,
        stuck: Callable[[str], None] | None = None,
        envelope: Envelope | None = None,
    ) -> None:
        self._desk = desk
        self._period = period
        self._stuck = stuck or (lambda name: None)
        self._envelope = envelope or Envelope()
        self._repertoire = Repertoire(agents)
        self._flights: dict[tuple[str, int], Flight] = {}
        self._reserved = self._in_threads = 0
        self._passed_by = False
        self._keyless = Keyless()
        self._unread: set[tuple[str, int]] = set()
        self._slot_free = asyncio.Event()
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix=THREAD_NAME)
        self._draining = self._came = False
        self._began: Millis = 0

    @property
    def actions(self) -> dict[str, str]:
        """What this process can do: "agent/action" with the action's signature hash."""
        return self._repertoire.signatures

    # --- claiming

    def claims(self, draft: Draft) -> Sequence[Claimed]:
        """Claim the open offers of a task that are ours to take, reserving a slot for each."""
        taken: list[Claimed] = []
        for step, opened in draft.head.open.items():
            if draft.marks[step] in OFFERED and self._takes(draft, step):
                self._reserved += 1
                taken.append(Claimed(step, opened.attempt, self._desk.member_id))
        return taken

    def _takes(self, draft: Draft, step: int) -> bool:
        """Whether an offer is ours: of an action we have. One that lacks the function is handed back, so
        that the record says why nobody calls it."""
        plan, kind = draft.step(step), KIND_OF[draft.phase(step)]
        action = self._repertoire.action_of(plan)
        if action is None or self._draining:
            return False
        lacks = bool(lack(action, plan, kind))
        return not self._leaves_to_others(draft, step, lacks=lacks) and self._free(function_of(action, kind))

    def _leaves_to_others(self, draft: Draft, step: int, *, lacks: bool) -> bool:
        """Whether a process of another version is to have the call first, which this one cannot make."""
        unable = lacks or (draft.task_id, step) in self._unread
        return unable and draft.now - draft.head.open[step].since < HEAD_START

    def _free(self, function: Function | None) -> bool:
        """Whether there is a slot for a call; one that is passed by is looked for as soon as there is."""
        room = self._slots_left()
        if function is not None and not function.is_async:
            room = room and self._in_threads + self._reserved < THREADS_MAX
        self._passed_by |= not room
        return room

    def _slots_left(self) -> bool:
        return len(self._flights) + self._reserved < CALLS_MAX

    def release(self, claims: Sequence[Claimed]) -> None:
        """The claims were not written."""
        self._reserved -= len(claims)

    # --- calling

    def carry_out(self, entry: Entry, claims: Sequence[Claimed], since: float) -> None:
        """Make the calls whose claims are durable; their lives count from `since`."""
        for claim in claims:
            self._reserved -= 1
            step = entry.plan.steps[claim.step]
            kind = KIND_OF[Phase(entry.head.marks[claim.step])]
            action = self._repertoire.action_of(step)
            assert action is not None
            work = Work(
                entry,
                claim,
                kind,
                action,
                self._envelope,
                deadline=since + step.timeout / 1000,
                start_by=since + min(step.timeout, LEASE) / 1000,
            )
            if self._draining:
                self._desk.post(entry.task_id, work.handed_back(GOING_DOWN))
            elif lacks := lack(action, step, kind):
                self._unable(work, lacks)
                self._desk.post(entry.task_id, work.cannot_be_made(lacks, self._desk.now()))
            else:
                self._take_off(work, since)

    def _take_off(self, work: Work, since: float) -> None:
        flight = Flight(work, since, threaded=not work.function.is_async)
        self._flights[work.entry.task_id, work.attempt] = flight
        self._in_threads += flight.threaded
        flight.task = asyncio.create_task(self._fly(flight), name=work.name)

    async def _fly(self, flight: Flight) -> None:
        """Make one call and post what came of it, whatever that is."""
        work = flight.work
        try:
            fact = await self._outcome(flight)
        except BaseException as error:  # the user's code may raise anything, SystemExit included
            fact = flight.instead or self._raised(flight, self._named(error, flight))
        finally:
            if flight.timer is not None:
                flight.timer.cancel()
            self._landed(flight)
        self._keyless.look(work, fact)
        self._desk.post(work.entry.task_id, fact)

    def _raised(self, flight: Flight, error: BaseException) -> Event:
        say_raised(flight.work, error)
        return flight.work.raised(error, flight.call)

    def _named(self, error: BaseException, flight: Flight) -> BaseException:
        """A call that was cut off says by what; anything else speaks for itself."""
        if not isinstance(error, asyncio.CancelledError):
            return error
        if flight.timed_out:
            return TimeoutError(f"no answer within {flight.work.step.timeout / 1000:g} s")
        if self._draining:
            return TimeoutError("cut off with no answer yet, as its process went down")
        return TimeoutError("cut off with no answer yet, by a CancelledError of its own code")

    def _landed(self, flight: Flight) -> None:
        """Its slot is free; look at once for a call that was passed by for want of one."""
        del self._flights[flight.work.entry.task_id, flight.work.attempt]
        self._in_threads -= flight.threaded
        if self._passed_by:
            self._passed_by = False
            self._slot_free.set()

    async def _outcome(self, flight: Flight) -> Event:
        work, monotonic = flight.work, self._desk.clock.monotonic
        try:
            values = await self._desk.shelf.values(work.entry)
            positional, named = work.arguments(values)
        except PayloadError as error:
            self._unable(work, f"{error}")
            return work.no_input(error, self._desk.now())
        except Exception as error:  # whatever it is, nothing was sent
            return work.handed_back(plain(f"its input could not be read: {error}"), UNSENT_WAIT)
        flight.call = call = work.call(values, lambda: work.deadline - monotonic())
        if self._too_late(work):
            return work.not_sent("too late to send")
        flight.timer = asyncio.get_running_loop().call_later(
            work.deadline - monotonic(), self._time_out, flight
        )
        function = work.function.fn
        if flight.threaded:
            return await self._in_thread(flight, lambda: function(*positional, **named))
        if not flight.may_send():
            return work.not_sent("it was called off")
        enter(call)
        return work.came_back(returned(await function(*positional, **named)), call)

    def _unable(self, work: Work, why: str) -> None:
        """Say so, and have others come first when the call is offered again."""
        log.warning("%s: not called, %s", work.name, work.hides(plain(why)), extra=work.labels)
        if len(self._unread) >= UNREAD_MAX:
            self._unread.clear()
        self._unread.add((work.entry.task_id, work.step.index))

    def _too_late(self, work: Work) -> bool:
        """Whether the call could outlive what the record says of it, by our clock or the store's."""
        return self._desk.clock.monotonic() >= work.start_by or self._desk.now() >= work.complete_by

    async def _in_thread(self, flight: Flight, function: Callable[[], Any]) -> Event:
        """Run a sync function with the call's context; a thread cannot be stopped, only waited for."""
        work, call = flight.work, flight.call
        assert call is not None
        context = contextvars.copy_context()
        context.run(enter, call)

        def run() -> Event:
            if self._too_late(work) or not flight.may_send():
                return work.not_sent(NO_THREAD)
            try:
                value = returned(context.run(function))
            except BaseException as error:  # a StopIteration, say, would never get through a future
                return self._raised(flight, error)
            return work.came_back(value, call)

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    # --- time

    def _time_out(self, flight: Flight) -> None:
        """The call's life is over: cut an async action off; a thread may be about to end by itself."""
        if flight.call_off(flight.work.not_sent(NO_THREAD)):
            return
        flight.timed_out = True
        if flight.task is not None and not flight.threaded:
            flight.task.cancel()
        flight.timer = asyncio.get_running_loop().call_later(OVERRUN_CHECK, self._overran, flight)

    def _overran(self, flight: Flight) -> None:
        work, flight.overrun = flight.work, True
        log.warning(
            "%s: it is past its timeout and cannot be stopped; its lease is kept",
            work.name,
            extra=work.labels,
        )
        self._renew(flight)
        flight.timer = asyncio.get_running_loop().call_later(work.step.settle / 1000, self._stuck, work.name)

    def _renew(self, flight: Flight) -> None:
        work = flight.work
        flight.renewed = self._desk.clock.monotonic()
        self._desk.post(
            work.entry.task_id, LeaseRenewed(work.step.index, work.attempt, LEASE, flight.overrun)
        )

    async def _renew_leases(self) -> None:
        """Renew in batches what is still open after half of its lease."""
        monotonic = self._desk.clock.monotonic()
        for flight in self._flights.values():
            half_over = monotonic >= flight.renewed + LEASE / 2000
            if half_over and (flight.overrun or flight.renewed + LEASE / 1000 < flight.work.deadline):
                self._renew(flight)

    # --- the room

    def saved(self, entry: Entry) -> None:
        """A task that turned tells its running actions so: `call().cancelled`."""
        if entry.head.direction is not Direction.UNDO:
            return
        for step, opened in entry.head.open.items():
            flight = self._flights.get((entry.task_id, opened.attempt))
            if flight is not None and flight.call is not None and entry.head.marks[step] == Phase.CALLED:
                flight.call.cancelled = True

    async def run(self) -> None:
        """Make the rounds for ever: renew leases, and look for offers that others made."""
        self._began = self._desk.now()
        try:
            await asyncio.gather(
                every(LEASE / 10_000, self._renew_leases, "agents: leases"),
                every(self._period, self._rounds, "agents", sooner=self._slot_free),
            )
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _rounds(self) -> None:
        await self._look_for_offers()
        if not self._came:
            free = THREADS_MAX - len(self._flights) - self._reserved
            self._came = await hasten(self._desk, self._repertoire.makes, self._began, at_most=free)

    async def _look_for_offers(self) -> None:
        async for stored in self._desk.due():
            if not self._slots_left():
                self._passed_by = True
                return
            head = self._desk.shelf.head_of(stored)
            if head is not None and any(mark in OFFERED for mark in head.marks):
                self._desk.look(stored.task_id, stored)

    async def drain(self, grace: float, *, leave_running: bool = True) -> None:
        """Claim nothing more, hand back what is not sent, give running calls `grace` seconds.

        The rest is cut off: those calls are unknown. What cannot be cut off is left to die with the process,
        or else waited for, its lease kept.
        """
        self._draining = True
        await asyncio.sleep(0)  # every flight has begun now, so that each ends with a fact
        for flight in self._flights.values():
            flight.call_off(flight.work.handed_back(GOING_DOWN))
        running = [flight.task for flight in self._flights.values() if flight.task is not None]
        if not running:
            return
        await asyncio.wait(running, timeout=grace)
        late = [flight.task for flight in self._flights.values() if leave_running or not flight.threaded]
        cut_off = [task for task in late if task is not None and task.cancel()]
        if cut_off:
            await asyncio.wait(cut_off, timeout=OVERRUN_CHECK)
        while self._flights and not leave_running:
            names = ", ".join(flight.work.name for flight in self._flights.values())
            log.warning("leaving must wait for calls that cannot be cut off: %s", names)
            await asyncio.wait([f.task for f in self._flights.values() if f.task], timeout=STILL_WAITING)
