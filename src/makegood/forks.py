"""A fork of a running engine must not go on as a second one.

Code of an app may fork, and what it does in the child is its own. But a child that comes back into the event
loop would go on with the calls that are under way, and each would be made twice, under one claim.
"""

import asyncio
import logging
import os
import threading
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


def _end_in_place_of_the_next_turn(loop: asyncio.AbstractEventLoop) -> None:
    """What is ready to run in it now comes before whatever could be added: so it is not run at all."""
    run = asyncio.Handle._run

    def end_or_run(handle: asyncio.Handle) -> None:
        if handle._loop is loop:  # type: ignore[attr-defined]  # there is no other way to know
            log.error(
                "a fork made by code of an app came back into the event loop of its parent, and ends here; "
                "let it end with os._exit, or use subprocess or multiprocessing"
            )
            os._exit(EXIT_CAME_BACK)
        run(handle)

    asyncio.Handle._run = end_or_run  # type: ignore[method-assign, assignment]  # in the child alone


os.register_at_fork(before=_before_fork, after_in_child=_in_the_fork)
