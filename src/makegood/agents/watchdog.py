"""Names an action or a lifespan that blocks its loop: while it does, nothing else of this process moves."""

import asyncio
import contextlib
import logging
import selectors
import sys
import threading
import traceback
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path
from types import FrameType

from makegood.clock import Clock

log = logging.getLogger("makegood.agents")

BEAT = 0.25
BLOCKED_AFTER = 1.0
ASYNCIO = f"{Path(asyncio.__file__).parent}/"
MAKEGOOD = f"{Path(__file__).parents[1]}/"
BETWEEN = (selectors.__file__, contextlib.__file__)
"""Where a stack of the user's code passes through, or of a loop that has nothing to do."""


def whose(stack: Iterable[traceback.FrameSummary]) -> str:
    """The user's function that the loop runs in this stack, outermost call first, and its place; or ""."""
    above_the_loop = takewhile(lambda call: not call.filename.startswith(ASYNCIO), reversed(list(stack)))
    theirs = [call for call in above_the_loop if not call.filename.startswith((MAKEGOOD, *BETWEEN))]
    return f"{theirs[-1].name} at {theirs[-1].filename}:{theirs[-1].lineno}" if theirs else ""


class Watchdog:
    """A thread that listens for the loop's heartbeat. It costs nobody a promise, only says who it is."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._beat = 0.0
        self._loop_thread = 0

    def start(self) -> None:
        """Watch the running loop."""
        loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._beat = self._clock.monotonic()
        self._thread = threading.Thread(
            target=self._watch, args=(loop,), daemon=True, name="makegood-watchdog"
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; safe to call twice."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(BEAT)  # it wakes at once; a log that is stuck holds nobody up

    def _watch(self, loop: asyncio.AbstractEventLoop) -> None:
        named = False
        while not self._over.wait(BEAT):
            late = self._clock.monotonic() - self._beat
            if late < BLOCKED_AFTER:
                named = False
            elif not named:
                named = True
                log.warning("the event loop is blocked, by %s", self._culprit())
            try:
                loop.call_soon_threadsafe(self._heard)
            except RuntimeError:
                return  # the loop is closed

    def _heard(self) -> None:
        self._beat = self._clock.monotonic()

    def _culprit(self) -> str:
        """What the loop runs just now: the action, by its name and line, or other code of the user."""
        frame: FrameType | None = sys._current_frames().get(self._loop_thread)
        stack = traceback.extract_stack(frame) if frame is not None else []
        return whose(stack) or "makegood itself, or by a machine that is too busy or was asleep"
