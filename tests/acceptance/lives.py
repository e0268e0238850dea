"""An app whose agent has a lifespan that does what none should; LIFE says which.

It makes the bounds of its process short, so it is for processes of its own, and not to be imported by a test.
"""

import asyncio
import atexit
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from multiprocessing import get_context
from threading import Thread

from makegood import Agent, plan, step
from makegood.agents import lifespans
from makegood.runtime import ending, engine, process

lifespans.LEAVING_MAX = lifespans.CUT_OFF_MAX = 0.2
ending.SLACK = 0.5
engine.LAST_WORDS = process.CLOSING_MAX = 0.2


def blocks() -> None:
    time.sleep(1000)


async def heeds_nothing() -> None:
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            continue


async def throws(error: BaseException) -> None:
    await asyncio.sleep(0.5)
    raise error


async def exits_when_cancelled() -> None:
    try:
        await asyncio.sleep(1000)
    except asyncio.CancelledError:
        raise SystemExit(4) from None


async def stops_when_cancelled() -> None:
    try:
        await asyncio.sleep(1000)
    finally:
        asyncio.get_running_loop().stop()


async def cancels_all() -> None:
    while not calls:
        await asyncio.sleep(0.05)
    for task in asyncio.all_tasks():
        task.cancel()


@asynccontextmanager
async def exits_at_once() -> AsyncIterator[None]:
    if "DATABASE_URL" not in os.environ:
        raise SystemExit("set DATABASE_URL")
    yield


@asynccontextmanager
async def hangs_at_first() -> AsyncIterator[None]:
    await asyncio.sleep(1000)
    yield


@asynccontextmanager
async def blocks_at_first() -> AsyncIterator[None]:
    blocks()
    yield


@asynccontextmanager
async def heeds_nothing_at_first() -> AsyncIterator[None]:
    await heeds_nothing()
    yield


@asynccontextmanager
async def blocks_at_last() -> AsyncIterator[None]:
    yield
    blocks()


@asynccontextmanager
async def heeds_nothing_at_last() -> AsyncIterator[None]:
    yield
    await heeds_nothing()


@asynccontextmanager
async def exits_at_last() -> AsyncIterator[None]:
    yield
    raise SystemExit(9)


@asynccontextmanager
async def leaves_a_task() -> AsyncIterator[None]:
    left.append(asyncio.create_task(heeds_nothing()))
    yield


@asynccontextmanager
async def leaves_a_thread() -> AsyncIterator[None]:
    Thread(target=blocks).start()
    yield


@asynccontextmanager
async def task_exits() -> AsyncIterator[None]:
    left.append(asyncio.create_task(throws(SystemExit(5))))
    yield


@asynccontextmanager
async def task_exits_at_last() -> AsyncIterator[None]:
    left.append(asyncio.create_task(exits_when_cancelled()))
    yield


@asynccontextmanager
async def task_interrupts() -> AsyncIterator[None]:
    left.append(asyncio.create_task(throws(KeyboardInterrupt())))
    yield


@asynccontextmanager
async def task_cancels_all() -> AsyncIterator[None]:
    left.append(asyncio.create_task(cancels_all()))
    yield


@asynccontextmanager
async def task_stops_the_loop_at_last() -> AsyncIterator[None]:
    left.append(asyncio.create_task(stops_when_cancelled()))
    yield


@asynccontextmanager
async def all_are_cancelled_and_exit() -> AsyncIterator[None]:
    left.extend(asyncio.create_task(exits_when_cancelled()) for _ in range(20))
    left.append(asyncio.create_task(cancels_all()))
    yield


@asynccontextmanager
async def has_a_fork() -> AsyncIterator[None]:
    fork = get_context("fork").Process(target=time.sleep, args=(20,))
    fork.start()
    fork.terminate()
    fork.join(5)
    print("the fork ended with", fork.exitcode, file=sys.stderr, flush=True)
    yield


@asynccontextmanager
async def exit_handler_blocks() -> AsyncIterator[None]:
    atexit.register(blocks)
    yield


@asynccontextmanager
async def object_blocks() -> AsyncIterator[None]:
    left.append(Blocking())
    yield


@asynccontextmanager
async def nobody_reads() -> AsyncIterator[None]:
    _, full = os.pipe()
    os.set_blocking(full, False)
    with suppress(BlockingIOError):
        while True:
            os.write(full, bytes(65_536))
    os.set_blocking(full, True)
    sys.stdout = os.fdopen(full, "w")
    print("not flushed")
    yield


@asynccontextmanager
async def exit_handler_takes_its_time() -> AsyncIterator[None]:
    def bounded() -> None:
        signal.alarm(1)
        time.sleep(0.5)
        signal.alarm(0)
        print("the exit handler is done", file=sys.stderr, flush=True)

    signal.signal(signal.SIGALRM, lambda *_: None)
    atexit.register(bounded)
    yield


@asynccontextmanager
async def group_fails() -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(throws(ConnectionError("no line")))
        yield


class Blocking:
    """It blocks whoever lets go of it: the interpreter, in the end."""

    def __del__(self) -> None:
        time.sleep(1000)


left: list[object] = []
calls: list[str] = []
life: Callable[[], AbstractAsyncContextManager[None]] = globals()[os.environ.get("LIFE", "hangs_at_first")]
phones = Agent("phones", timeout=60, settle=0, keyed=True, lifespan=life)


@phones.action(undo=None)
async def ring(word: str) -> None:
    calls.append(word)
    await asyncio.sleep(1000)


@plan
def ringing(word: str) -> None:
    step(ring, word)
