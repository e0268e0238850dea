"""`makegood.sync.Makegood`: the client for code without an event loop, in as many threads as you like.

    with Makegood("sqlite:///trips.db", agents=[flights, hotels, cars]) as mg:
        print(mg.submit(book_trip, Trip(...)).result())

Everything runs on one background thread with a loop of its own; what is documented at `makegood.Makegood` and
`makegood.Task` holds here, without `await`. No thread survives a fork: open it after that, in each process.
"""

import asyncio
import functools
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar

from makegood import client
from makegood.authoring.agent import Agent
from makegood.client.bulk import RATE, Acted
from makegood.errors import MakegoodError, StoreUnavailable, SubmissionConflict

P = ParamSpec("P")
T = TypeVar("T")
Out = TypeVar("Out")

__all__ = ["Makegood", "Task"]

HEARD_WITHIN = 1.0
"""Seconds in which Ctrl-C is heard, whenever it comes."""
CLOSED = "this Makegood is not open, or not any more; use it in a `with` block, or call open() first"


class Background:
    """A thread that runs an event loop, until it is stopped."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._closing = False
        self._turn = threading.Lock()
        self._loop, self._over = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._work, name="makegood-sync", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        await self._over.wait()

    @property
    def is_ours(self) -> bool:
        """Whether this process started it."""
        return self._process == os.getpid()

    def check_ours(self) -> None:
        """Raises MakegoodError in a fork of the process that started it."""
        if not self.is_ours:
            raise MakegoodError(
                f"this Makegood was opened in process {self._process}, and its thread does not live in the "
                f"fork {os.getpid()}; open it only after the fork, in the parent too, or start a fresh "
                'process: multiprocessing.get_context("spawn"), say'
            )

    def run(self, start: Callable[[], Coroutine[Any, Any, T]], *, last: bool = False) -> T:
        """Run a coroutine there and wait for it; whoever stops waiting cancels it. None is begun after the
        `last` one, which closes what the others use. Raises what it raises, MakegoodError where waiting is
        impossible or when all is closed meanwhile."""
        check_no_loop()
        self.check_ours()
        if sys.is_finalizing():
            raise MakegoodError(CLOSED)
        with self._turn:  # what is begun before the end is cancelled by it, and nothing is begun after it
            if self._closing:
                raise MakegoodError(CLOSED)
            self._closing = last
            running = asyncio.run_coroutine_threadsafe(start(), self._loop)
        try:
            return _result(running)
        except CancelledError:
            raise MakegoodError(CLOSED) from None
        except StoreUnavailable:
            if self._closing and not last:
                raise MakegoodError(CLOSED) from None
            raise
        finally:
            running.cancel()

    def stop(self) -> None:
        """Cancel what still runs there, and end the thread."""
        with self._turn:
            self._closing = True
            self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()


def _result(running: Future[T]) -> T:
    """What came of it, waited for in pieces: a signal that comes in the moment before a wait begins (or to
    another thread) is heard by Python only when that wait ends."""
    while True:
        try:
            return running.result(HEARD_WITHIN)
        except TimeoutError:
            if running.done():  # the error may be its own
                return running.result()


def check_no_loop() -> None:
    """Raises MakegoodError in a thread that runs an event loop: to wait here would block it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise MakegoodError(
        "makegood.sync waits, and this thread runs an event loop that would stand still meanwhile; use "
        "makegood.Makegood and await, or asyncio.to_thread"
    )


# --- the one place that forwards: each method keeps its signature and loses its `await`


def _waits(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    @functools.wraps(method)
    def waiting(self: Any, /, *args: P.args, **named: P.kwargs) -> T:
        answer: T = self._background.run(lambda: method(self._twin, *args, **named))
        return answer

    return waiting


def _gives_task(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, client.Task[Out]]],
) -> Callable[Concatenate[Any, P], "Task[Out]"]:
    @functools.wraps(method)
    def waiting(self: Any, /, *args: P.args, **named: P.kwargs) -> Task[Out]:
        return Task(self, self._background.run(lambda: method(self._twin, *args, **named)))

    return waiting


def _gives_tasks(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, Sequence[client.Task[Out]]]],
) -> Callable[Concatenate[Any, P], "Sequence[Task[Out]]"]:
    @functools.wraps(method)
    def waiting(self: Any, /, *args: P.args, **named: P.kwargs) -> Sequence[Task[Out]]:
        try:
            twins = self._background.run(lambda: method(self._twin, *args, **named))
        except SubmissionConflict as conflict:
            conflict.entered = [Task(self, twin) for twin in conflict.entered]
            raise
        return [Task(self, twin) for twin in twins]

    return waiting


def _same_terms(
    method: Callable[Concatenate[Any, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    return lambda own: functools.wraps(method)(own)


class Task(Generic[Out]):
    """A handle on one task: wait for it, look at it, act on it. See makegood.Task."""

    def __init__(self, makegood: "Makegood", twin: client.Task[Out]) -> None:
        self._makegood = makegood
        self._twin = twin
        self.task_id = twin.task_id
        self.existed = twin.existed
        """Whether a submission found it there; its deadline, start and tags are then those of the first."""

    def __repr__(self) -> str:
        return repr(self._twin)

    @property
    def _background(self) -> Background:
        return self._makegood._background

    def result(self, timeout: float | timedelta | None = None) -> Out:
        """Wait for its output. Raises Compensated or Failed with the reason, TimeoutError, PayloadError when
        the output refers to what a result does not have, StoreError."""
        return self._background.run(lambda: self._twin.result(timeout))

    wait = _waits(client.Task[Any].wait)
    record = _waits(client.Task[Any].record)
    history = _waits(client.Task[Any].history)
    why = _waits(client.Task[Any].why)
    audit = _waits(client.Task[Any].audit)
    cancel = _waits(client.Task[Any].cancel)
    pause = _waits(client.Task[Any].pause)
    resume = _waits(client.Task[Any].resume)
    retry = _waits(client.Task[Any].retry)
    skip = _waits(client.Task[Any].skip)
    resolve = _waits(client.Task[Any].resolve)


class Makegood:
    """A connection to a store and, with agents, everything that drives its tasks. See makegood.Makegood.

    Use it as a context manager, or open and close it, as often as you like. Making one starts nothing: an
    application that is loaded before its server forks may make it then, and open it in each of its processes.
    """

    @_same_terms(client.Makegood.__init__)
    def __init__(self, *args: Any, **named: Any) -> None:
        self._twin = client.Makegood(*args, **named)
        self._running: Background | None = None
        self._opening = threading.Lock()
        self._process = os.getpid()

    def open(self) -> Self:
        """Open the store and, with agents, drive its tasks from now on. Raises StoreError, MakegoodError."""
        check_no_loop()
        with self._alone():
            return self._open()

    def _alone(self) -> threading.Lock:
        """For whoever opens or closes it. In a fork a thread that had it in the parent is no more."""
        if self._process != os.getpid():
            self._process, self._opening = os.getpid(), threading.Lock()
        return self._opening

    def _open(self) -> Self:
        if self._running is not None:
            self._running.check_ours()
        background = Background()
        try:
            background.run(self._twin.__aenter__)
        except BaseException:
            background.stop()
            raise
        self._running = background
        return self

    def close(self) -> None:
        """Give running calls their time, let go of everything, end the thread. Twice is fine."""
        self.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._alone():
            background = self._running
            if background is None or not background.is_ours:
                return  # of what a parent opened there is nothing here to close
            self._running = None
        if sys.is_finalizing():
            return  # its thread has ended with the interpreter, and whoever waited for it would for ever
        try:
            background.run(lambda: self._twin.__aexit__(kind, error, trace), last=True)
        finally:
            background.stop()
            asyncio.run(self._twin._let_go())

    if not TYPE_CHECKING:  # checkers refuse it anyway

        def __aenter__(self) -> NoReturn:
            """Raises MakegoodError: `async with` is for the twin with an event loop."""
            raise MakegoodError(
                "this Makegood of makegood.sync is opened by `with`; `async with` opens makegood.Makegood"
            )

        __aexit__ = __aenter__  # without it Python would not ask for the other

    @property
    def _background(self) -> Background:
        background = self._running  # read once: another thread may close it
        if background is None:
            raise MakegoodError(CLOSED)
        return background

    def task(self, task_id: str) -> Task[Any]:
        """A handle on a task that is there already; its result is plain JSON values."""
        return Task(self, self._twin.task(task_id))

    submit = _gives_task(client.Makegood.submit)
    submit_many = _gives_tasks(client.Makegood.submit_many)
    submit_json = _gives_task(client.Makegood.submit_json)
    snapshot = _waits(client.Makegood.snapshot)
    list = _waits(client.Makegood.list)
    find = _waits(client.Makegood.find)
    audit = _waits(client.Makegood.audit)
    restored = _waits(client.Makegood.restored)
    members = _waits(client.Makegood.members)
    migrate = _waits(client.Makegood.migrate)

    def know(self, agents: Sequence[Agent]) -> None:
        """Check the results that people give (resolve, skip) by the types of these agents as well."""
        self._twin.know(agents)

    def act_on(
        self, task_ids: Iterable[str], act: Callable[[Task[Any]], str], *, rate: float = RATE
    ) -> Iterator[Acted]:
        """Act on each of these tasks, at most `rate` a second, and tell what came of each as it comes."""
        background = self._background

        async def on(twin: client.Task[Any]) -> str:
            return await asyncio.to_thread(act, Task(self, twin))

        acts = self._twin.act_on(task_ids, on, rate=rate)

        async def following() -> Acted | None:
            return await anext(acts, None)

        while acted := background.run(following):
            yield acted
