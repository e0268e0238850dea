"""`makegood up`: one process with every role, until it is told to end."""

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine, Sequence
from typing import Any

from makegood.agents.runner import THREAD_NAME
from makegood.alerts import Hook
from makegood.authoring.agent import Agent
from makegood.clock import SystemClock
from makegood.forks import keep_out_of
from makegood.payload import Envelope, PayloadCodec
from makegood.runtime.ending import EXIT_FAILED, EXIT_STUCK, Ending
from makegood.runtime.engine import GRACE, LAST_WORDS, Engine
from makegood.store.url import open_store

log = logging.getLogger("makegood.runtime")

LEFT = "what an app left behind"
CLOSING_MAX = 2.0
"""Seconds that the loop may take to close, and whatever an app left behind."""


def run_up(
    store_url: str,
    agents: Sequence[Agent],
    *,
    audit_every: float | None = None,
    alerts: Sequence[Hook] = (),
    grace: float = GRACE,
    codec: PayloadCodec | None = None,
) -> int:
    """Run every role until SIGTERM or SIGINT; the exit code. Raises StoreError when the store cannot be used.

    The first signal hands back what was not sent and gives running calls `grace` seconds; a second leaves at
    once. What cannot be stopped then ends the process, and so does a thread that runs past its timeout and
    settle, so that its call can be waited out.
    """
    store, envelope = open_store(store_url), Envelope(codec)
    runner = asyncio.Runner()
    loop = runner.get_loop()
    loop.set_exception_handler(_unheard)
    ending = Ending(loop, SystemClock())
    engine = Engine(
        store,
        agents,
        stuck=ending.stuck,
        stage=ending.stage,
        audit_every=audit_every,
        alerts=alerts,
        envelope=envelope,
    )
    keep_out_of(loop)
    ending.listen()
    fault = _up(loop, engine, store_url, grace, ending)
    _close(runner, ending, fault)
    if fault is not None:
        ending.stop_listening()
        raise fault
    return ending.code


def _up(
    loop: asyncio.AbstractEventLoop, engine: Engine, store_url: str, grace: float, ending: Ending
) -> Exception | None:
    """Run it until the end is begun, and end it well. Answers what kept it from starting, or ended it."""
    fault = None
    running = loop.create_task(_run(engine, store_url, grace, ending))
    try:
        _drive(loop, _until_begun(ending, running), ending)
    except Exception as error:
        ending.begin(EXIT_FAILED)
        fault = error
    if engine.is_up or fault is None:
        _drive(loop, _stop(engine, running, grace), ending)
    return fault


def _drive(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None], ending: Ending) -> None:
    """Do it to its end. What code of an app throws through the loop meanwhile begins the process's end."""
    task = loop.create_task(work)
    while True:
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError as error:
            return ending.thrown(error)
        except BaseException as error:
            if task.done() and not task.cancelled() and task.exception() is error:
                raise
            ending.thrown(error)


async def _until_begun(ending: Ending, running: asyncio.Task[None]) -> None:
    waiting: list[asyncio.Future[Any]] = [running, ending.begun]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not ending.begun.done():
        await running  # raises what kept it from starting, or ended it


async def _run(engine: Engine, store_url: str, grace: float, ending: Ending) -> None:
    await engine.start()
    ending.stage("a call", grace + LAST_WORDS)
    log.info("up as %s on %s, with %s", engine.member_id, store_url, ", ".join(engine.agents))
    await engine.failed()


async def _stop(engine: Engine, running: asyncio.Task[None], grace: float) -> None:
    log.info("going down: what was not sent is handed back, calls under way have %g s", grace)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await engine.stop(grace)
    log.info("down")


def _unheard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Say what nobody awaits, but for what was thrown through the loop: that is said already."""
    if not isinstance(context.get("exception"), (SystemExit, KeyboardInterrupt)):
        loop.default_exception_handler(context)


def _close(runner: asyncio.Runner, ending: Ending, fault: Exception | None) -> None:
    """End the loop, and the process where an ordinary exit would wait for what cannot be stopped.

    Time is kept over what an app left behind: tasks and threads now, exit handlers and processes when the
    interpreter ends.
    """
    ending.stage(LEFT, CLOSING_MAX)
    stuck = ending.code == EXIT_STUCK
    if stuck and fault is not None:
        log.error("%s", fault)
    try:
        if not stuck:
            runner.close()
    except BaseException as error:  # of a task that an app left, as it was cancelled
        ending.thrown(error)
    if stuck or any(thread.name.startswith(THREAD_NAME) for thread in threading.enumerate()):
        logging.shutdown()
        os._exit(ending.code)
    if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
        ending.rest(LEFT, CLOSING_MAX)
