"""Virtual time for asyncio: hours pass in a moment, and every run of a program is the same run.

`run(main())` runs a coroutine on a loop that never waits: when nothing is ready, its time leaps to the next
timer. Sockets have no place in it, and threads only as a `Strand`. Whatever is started through a `Process`
can be frozen at any point and thawed, or left frozen for good, which is its death: not one more line of it
runs, neither `except` nor `finally`.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context, ContextVar, copy_context
from functools import partial
from heapq import heappop
from typing import Any, TypeVar, TypeVarTuple

from makegood.core.plan import Millis

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

EPOCH: Millis = 1_790_000_000_000
"""What wall clocks say when a loop begins."""


class NothingHappens(Exception):
    """Every task waits and no timer is set that could wake one: the loop would stand still for ever."""


class TimeStandsStill(Exception):
    """Something is ready again and again at the same moment: the time would never go on."""


TURNS_MAX = 20_000
"""Turns of a loop at one moment, before it is said to stand still."""


RUNNING: "list[VirtualLoop]" = []
"""The loops in which time passes at this moment."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; what is ready runs in the order in which it became so.

    asyncio's own loop, but for the heart of it: instead of waiting, `_run_once` lets the time pass.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        self.seconds = 0.0
        """Virtual seconds since the loop began."""
        super().__init__()
        self._turns = 0
        self.processes: list[Process] = []
        self.strands: list[Strand] = []

    def time(self) -> float:
        return self.seconds

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Run a function in a thread of its own: a `Strand`, whatever the executor."""
        strand = Strand(self, lambda: func(*args))
        self.strands.append(strand)
        self.call_soon(strand.go_on)
        return strand.result

    def release(self) -> None:
        """At the end of all: frozen tasks could not even be cancelled, and threads would wait for ever."""
        for strand in self.strands:
            strand.abandon()
        for process in self.processes:
            process.thaw()

    def run_forever(self) -> None:
        RUNNING.append(self)
        try:
            super().run_forever()
        finally:
            RUNNING.remove(self)

    def again(self, handle: asyncio.Handle) -> None:
        """Run what was held, unless it has been cancelled meanwhile."""
        self._ready.append(handle)

    def _run_once(self) -> None:
        if not self._ready:
            self._leap()
        self._turns += 1
        if self._turns > TURNS_MAX:
            self._turns = 0
            raise TimeStandsStill(f"{TURNS_MAX} turns of the loop, and it is still {self.seconds:g} s")
        ready = self._ready
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:  # as asyncio asks it
                continue
            process = handle._context.get(PROCESS)  # type: ignore[attr-defined]  # where it was called from
            if process is None or process.runs:
                handle._run()
            else:
                process.held.append(handle)

    def _leap(self) -> None:
        """Go on to the next timer, and take along all that are due then."""
        timers = self._scheduled
        while timers and timers[0]._cancelled:
            heappop(timers)._scheduled = False  # type: ignore[attr-defined]
        if not timers:
            raise NothingHappens("every task waits, and no timer is set that could wake one")
        if timers[0].when() > self.seconds:
            self.seconds, self._turns = timers[0].when(), 0
        while timers and timers[0].when() <= self.seconds:
            timer = heappop(timers)
            timer._scheduled = False  # type: ignore[attr-defined]
            self._ready.append(timer)


class Process:
    """Tasks and timers that live and stop together. Made inside of `run`."""

    def __init__(self) -> None:
        self._loop = virtual_loop()
        self._loop.processes.append(self)
        self._context = copy_context()
        self._context.run(PROCESS.set, self)
        self.runs = True
        self.held: list[asyncio.Handle] = []

    def start(self, main: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine, with whatever tasks and timers it begins, as a part of this process."""
        return self._loop.create_task(main, context=self._context.copy())

    def freeze(self) -> None:
        """Stop. Code that is running goes on to its next `await`; await `halt()` to stop in place."""
        self.runs = False

    def thaw(self) -> None:
        """Go on where it stopped; the time that passed meanwhile has passed."""
        self.runs = True
        held, self.held = self.held, []
        for handle in held:
            self._loop.again(handle)


class Strand(threading.Thread):
    """A thread in virtual time: it runs only while the loop stands still for it, and the loop while it waits.

    So nothing ever happens at the same time, and a run with threads is the same run again. A strand of a
    frozen process stays where it waits, as everything else of that process does.
    """

    TRIES_MAX = 100

    def __init__(self, loop: VirtualLoop, work: Callable[[], Any]) -> None:
        super().__init__(name="makegood-strand", daemon=True)
        self.result: asyncio.Future[Any] = loop.create_future()
        self._loop = loop
        self._work = work
        self._context = copy_context()
        self._abandoned = False
        self._my_turn, self._loops_turn = threading.Semaphore(0), threading.Semaphore(0)

    def go_on(self) -> None:
        """In the loop: let the thread run until it waits again, or ends."""
        if self._abandoned:
            return
        if self.ident is None:
            self.start()
        else:
            self._my_turn.release()
        self._loops_turn.acquire()

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """In the thread: let the loop run a coroutine of the same process; its result, or what it raises."""
        if self._abandoned:
            coroutine.close()
            raise Abandoned
        task = self._loop.create_task(coroutine, context=copy_context())
        task.add_done_callback(self._answered)
        self._loops_turn.release()
        self._my_turn.acquire()
        if self._abandoned:
            raise Abandoned
        return task.result()

    def _answered(self, task: asyncio.Task[Any]) -> None:
        """In the loop: what the thread waits for has come. An abandoned one asks no more what it was."""
        if not self._abandoned:
            self.go_on()
        elif not task.cancelled():
            task.exception()

    def run(self) -> None:
        try:
            value = self._context.run(self._work)
        except BaseException as error:
            self._end(partial(self.result.set_exception, error))
        else:
            self._end(partial(self.result.set_result, value))

    def _end(self, tell: Callable[[], None]) -> None:
        if not self._abandoned and not self.result.done():
            tell()
        self._loops_turn.release()

    def abandon(self) -> None:
        """In the loop, at the end of everything: the thread leaves where it waits, by an exception."""
        self._abandoned = True
        for _ in range(self.TRIES_MAX):
            if not self.is_alive():
                return
            self._my_turn.release()
            self.join(0.05)


class Abandoned(BaseException):
    """Raised in a thread that waits when its world ends: leave."""


def strand() -> Strand | None:
    """The running thread, if it is one in virtual time."""
    current = threading.current_thread()
    return current if isinstance(current, Strand) else None


PROCESS: ContextVar[Process | None] = ContextVar("makegood_process", default=None)
"""The process of the running code; None for the world around."""


async def halt() -> None:
    """Stay here until the process of the caller is thawed, if it is frozen."""
    await asyncio.sleep(0)


class VirtualClock:
    """A process's clocks in a virtual loop; `ahead` is how far its wall clock is off, and may jump."""

    def __init__(self, *, ahead: Millis = 0) -> None:
        self._loop = virtual_loop()
        self.ahead = ahead

    def wall(self) -> Millis:
        return EPOCH + self.ahead + int(self._loop.seconds * 1000)

    def monotonic(self) -> float:
        return self._loop.seconds


def virtual_loop() -> VirtualLoop:
    """The running loop, which must be one in virtual time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "no virtual time here; start with makegood.testing.virtual.run"
    return loop


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in virtual time; afterwards everything that it left running is cancelled.

    Raises NothingHappens when everything waits for ever.
    """
    loop = VirtualLoop()
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        try:
            return runner.run(main)
        finally:
            loop.release()  # and then the runner cancels all tasks, before one of them goes on
