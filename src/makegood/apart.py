"""What may raise anything, and may never end, kept apart: in a task or a thread of its own.

Whatever it raises comes out as an exception that harms nothing else; what is none, a SystemExit or a
cancellation of its own say, as a RuntimeError with its words.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from makegood.errors import in_words

T = TypeVar("T")


async def in_task(work: Callable[[], Awaitable[T]], seconds: float) -> T:
    """Await it for so long, then cancel it. Raises what it raises, TimeoutError when the time is over."""
    told: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    async def run() -> None:
        try:
            tell = partial(told.set_result, await work())
        except BaseException as error:
            tell = partial(told.set_exception, _as_exception(error))
        _settle(told, tell)

    task = asyncio.create_task(run())
    try:
        await asyncio.wait([told], timeout=seconds)
        if not told.done():
            raise TimeoutError(f"it was not through within {seconds:g} s")
        return told.result()
    finally:
        told.cancel()
        task.cancel()


async def in_thread(work: Callable[[], T], name: str) -> T:
    """Run it in a thread that dies with the process; once cancelled, it is left to itself.

    The few threads of `asyncio.to_thread` are for what is sure to end: the loop looks up host names in them,
    and waits for them when it closes. Raises what the work raises.
    """
    loop = asyncio.get_running_loop()
    told: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        try:
            tell = partial(told.set_result, work())
        except BaseException as error:
            tell = partial(told.set_exception, _as_exception(error))
        with suppress(RuntimeError):  # the loop is over, and nobody waits any more
            loop.call_soon_threadsafe(_settle, told, tell)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await told


def _settle(told: asyncio.Future[T], tell: Callable[[], None]) -> None:
    if not told.done():
        tell()


def _as_exception(error: BaseException) -> Exception:
    """One that a future can hold."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    return RuntimeError(in_words(error))
