"""How a process ends: who begins it, and that it comes, whatever the code that an app runs does meanwhile."""

import asyncio
import atexit
import logging
import os
import signal
import socket
import threading
import traceback
from contextlib import suppress
from typing import Any

from makegood.agents.watchdog import whose
from makegood.clock import Clock
from makegood.errors import in_words

log = logging.getLogger("makegood.runtime")

EXIT_FAILED = 1
EXIT_STUCK = 75
"""The exit code of a process that ended itself because something in it could not be stopped."""

SIGNALS = (signal.SIGTERM, signal.SIGINT)
ECHO = 0.5
"""Seconds within which a signal is the same one again: `timeout`, say, sends its child each one twice."""
SLACK = 3.0
"""Seconds by which what goes on while the process ends may be late."""
LOOK_EVERY = 0.25


class Ending:
    """The end of this process. The first signal begins it, or a fault; another one after that leaves at once.

    A thread hears the signals and keeps the time, as the loop may be blocked: where a stage is late, it says
    which, and ends the process.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Clock) -> None:
        self.code = 0
        self.begun: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._clock = clock
        self._begun_at: float | None = None
        self._stage = ("the store", clock.monotonic(), 0.0)
        self._heard, self._bell = socket.socketpair()
        self._handlers: dict[signal.Signals, Any] = {}

    def listen(self) -> None:
        """Hear signals from now on; for the main thread. The loop's own handlers would go when it closes."""
        self._bell.setblocking(False)
        self._wake_by(self._bell.fileno())
        self._handlers = {number: signal.signal(number, self._in_main_thread) for number in SIGNALS}
        _hearing.append(self)
        threading.Thread(target=self._watch, daemon=True, name="makegood-ending").start()

    def _in_main_thread(self, *_: object) -> None:
        """The thread has heard it, unless an app has added a handler to the loop, which is told now."""
        others = self._wake_by(self._bell.fileno())
        if others != self._bell.fileno():
            self._wake_by(others)
            self._signalled()

    def _wake_by(self, descriptor: int) -> int:
        """Who is told of each signal, in the very moment; answers who was before."""
        return signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)

    def stop_listening(self) -> None:
        """Leave signals to whoever heard them before."""
        self._wake_by(-1)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def stage(self, what: str, seconds: float) -> None:
        """What begins now, and how many seconds it may take once the end is begun."""
        self._stage = (what, self._clock.monotonic(), seconds)

    def begin(self, code: int = 0) -> None:
        """Begin the end, if it is not begun. Of several exit codes the highest counts."""
        self.code = max(self.code, code)
        if self._begun_at is None:
            self._begun_at = self._clock.monotonic()
            self._bell.send(bytes(1))
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        if not self.begun.done():
            self.begun.set_result(None)

    def stuck(self, what: str) -> None:
        """Something cannot be stopped."""
        log.error("%s still runs and cannot be stopped; this process ends itself", what)
        self.begin(EXIT_STUCK)

    def thrown(self, error: BaseException) -> None:
        """Code of an app ended the loop, or cancelled what is not its own."""
        if isinstance(error, asyncio.CancelledError):
            log.error("the tasks of this process were cancelled by code of an app; this process ends itself")
        else:
            place = whose(traceback.extract_tb(error.__traceback__)) or "code of an app"
            words = in_words(error)
            log.error("%s, raised outside of any call by %s; this process ends itself", words, place)
        self.begin(EXIT_FAILED)

    def rest(self, what: str, seconds: float) -> None:
        """Nothing more is to be done here, until the interpreter ends: that may take so many seconds."""
        self._begun_at = None
        _hearing.remove(self)
        atexit.register(self._end_of_all, what, seconds)

    def _end_of_all(self, what: str, seconds: float) -> None:
        """Keep time over all exit handlers, and over what comes after them."""
        self.stage(what, seconds)
        self.begin(self.code)
        _last.append(seconds + SLACK)

    def _signalled(self) -> None:
        if self._begun_at is not None and self._clock.monotonic() - self._begun_at > ECHO:
            os._exit(128 + signal.SIGTERM)
        self.begin()

    def _watch(self) -> None:
        while True:
            self._heard.settimeout(None if self._begun_at is None else LOOK_EVERY)
            with suppress(TimeoutError):
                for number in self._heard.recv(64):
                    if number in SIGNALS:
                        self._signalled()
            self._look()

    def _look(self) -> None:
        what, since, seconds = self._stage
        if self._begun_at is None:
            return
        if self._clock.monotonic() > max(since, self._begun_at) + seconds + SLACK:
            saying = threading.Thread(target=self.stuck, args=(what,), daemon=True)
            saying.start()
            saying.join(1)  # a log that is stuck holds nobody up
            os._exit(EXIT_STUCK)


# --- the very end

_last: list[float] = []
"""How many seconds what comes after the exit handlers may take, once time is kept over the end."""


def _after_exit_handlers() -> None:
    """No thread runs any more then, and the kernel keeps the time: for a full pipe, say, or a destructor."""
    if _last:
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, max(_last))


atexit.register(_after_exit_handlers)  # at first, to come last


# --- forks

_hearing: list[Ending] = []
"""Whose signals are heard by a thread: a fork has the handlers, and not the thread."""


class _Masks(threading.local):
    """What a thread held back before each of its forks: one may come in a handler while another waits."""

    def __init__(self) -> None:
        self.stack: list[set[int | signal.Signals] | None] = []


_masks = _Masks()


def _hold_back() -> None:
    """Before a fork: what comes now for the child is not to be swallowed by a handler of ours."""
    _masks.stack.append(signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS) if _hearing else None)


def _go_on() -> None:
    if (before := _masks.stack.pop()) is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _in_a_fork() -> None:
    """Its signals are its own, and end it as they end any process."""
    if _hearing:
        with suppress(ValueError):  # not in the main thread
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
        _hearing.clear()
    _go_on()


os.register_at_fork(before=_hold_back, after_in_parent=_go_on, after_in_child=_in_a_fork)
