"""Virtual time for asyncio: hours pass in a moment, and every run of a program is the same run.

`run(main())` runs a coroutine on a loop that never waits: when nothing is ready, its time leaps to the next
timer. Threads and sockets have no place in it. Whatever is started through a `Process` can be frozen at any
point and thawed, or left frozen for good, which is its death: not one more line of it runs, neither `except`
nor `finally`.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from typing import Any, Generic, TypeVar, TypeVarTuple

from makegood.core.plan import Millis

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

EPOCH: Millis = 1_790_000_000_000
"""What wall clocks say when a loop begins."""


class NothingHappens(Exception):
    """Every task waits and no timer is set that could wake one: the loop would stand still for ever."""


class _Leap(selectors.SelectSelector):
    """Does not wait: it lets the time pass that it was asked to wait."""

    seconds = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingHappens("every task waits, and no timer is set that could wake one")
        self.seconds += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time; what is ready runs in the order in which it became so."""

    def __init__(self) -> None:
        self._leap = _Leap()
        super().__init__(self._leap)
        self.processes: list[Process] = []

    @property
    def seconds(self) -> float:
        """Virtual seconds since the loop began."""
        return self._leap.seconds

    def time(self) -> float:
        return self._leap.seconds

    def call_soon(
        self,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.Handle:
        process = PROCESS.get() if context is None else context.get(PROCESS)
        if process is None:
            return super().call_soon(callback, *args, context=context)
        part = _Part(process, callback)
        part.handle = super().call_soon(part, *args, context=context)
        return part.handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        process = PROCESS.get() if context is None else context.get(PROCESS)
        if process is None:
            return super().call_at(when, callback, *args, context=context)
        part = _Part(process, callback)
        part.handle = handle = super().call_at(when, part, *args, context=context)
        return handle

    def again(self, handle: asyncio.Handle) -> None:
        """Run what was held, unless it has been cancelled meanwhile."""
        self._ready.append(handle)  # type: ignore[attr-defined]  # asyncio's own queue; there is no other door


class _Part(Generic[*Ts]):
    """A callback of a process: it runs only while its process does."""

    __slots__ = ("_callback", "_process", "handle")

    def __init__(self, process: "Process", callback: Callable[[*Ts], object]) -> None:
        self._process = process
        self._callback = callback
        self.handle: asyncio.Handle

    def __call__(self, *args: *Ts) -> None:
        if self._process.runs:
            self._callback(*args)
        else:
            self._process.held.append(self.handle)


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
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_then_thaw(main))


async def _then_thaw(main: Coroutine[Any, Any, T]) -> T:
    """Frozen tasks could not even be cancelled."""
    try:
        return await main
    finally:
        for process in virtual_loop().processes:
            process.thaw()
