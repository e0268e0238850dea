"""A fork of a running engine must not go on as a second one.

Code of an app may fork, and what it does in the child is its own. But a child that comes back into the event
loop would go on with the calls that are under way, and one that comes back into the thread of a pool would
take up the next, or wait for one as long as the machine is up: each would be made twice, under one claim.
"""

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import thread as pools
from typing import Any, NoReturn
from weakref import WeakSet

log = logging.getLogger("makegood.forks")

EXIT_CAME_BACK = 1
"""The exit code of a fork that was ended for it."""

_loops: "WeakSet[asyncio.AbstractEventLoop]" = WeakSet()
"""In which an engine was started."""
_forking = threading.local()


def keep_out_of(loop: asyncio.AbstractEventLoop) -> None:
    """A fork that is made by what runs in this loop, an engine's, is ended as soon as it comes back to it."""
    _loops.add(loop)


def _before_fork() -> None:
    """Which loop runs in this thread: in the child asyncio no longer says."""
    try:
        _forking.loop = asyncio.get_running_loop()
    except RuntimeError:
        _forking.loop = None


def _in_the_fork() -> None:
    if _forking.loop in _loops:
        _end_in_place_of_the_next_turn(_forking.loop)
    if _loops:
        _end_in_place_of_an_answer(threading.get_ident())


def _end_in_place_of_the_next_turn(loop: asyncio.AbstractEventLoop) -> None:
    """What is ready to run in it now comes before whatever could be added: so it is not run at all."""
    run = asyncio.Handle._run

    def end_or_run(handle: asyncio.Handle) -> None:
        if handle._loop is loop:  # type: ignore[attr-defined]  # there is no other way to know
            _end("the event loop")
        run(handle)

    asyncio.Handle._run = end_or_run  # type: ignore[method-assign, assignment]  # in the child alone


def _end_in_place_of_an_answer(thread: int) -> None:
    """What the thread of a pool did before the fork is for its parent to answer, and so is what it takes up
    next. Pools of the child have their own threads."""
    work: Any = pools._WorkItem  # every pool of threads comes by here

    def end_or(answer: Callable[[Future[Any], Any], None]) -> Callable[[Future[Any], Any], None]:
        def end_or_answer(future: Future[Any], said: Any) -> None:
            if threading.get_ident() == thread and sys._getframe(1).f_code is work.run.__code__:
                _end("a thread")
            answer(future, said)

        return end_or_answer

    for name in ("set_result", "set_exception"):  # in the child alone
        setattr(Future, name, end_or(getattr(Future, name)))


def _end(where: str) -> NoReturn:
    log.error(
        "a fork made by code of an app came back into %s of its parent, and ends here; let it end with "
        "os._exit, or use subprocess or multiprocessing",
        where,
    )
    os._exit(EXIT_CAME_BACK)


os.register_at_fork(before=_before_fork, after_in_child=_in_the_fork)
