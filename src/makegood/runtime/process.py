"""`makegood up`: one process with every role, until it is told to end."""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

from makegood.agents.runner import THREAD_NAME
from makegood.alerts import Hook
from makegood.authoring.agent import Agent
from makegood.payload import Envelope, PayloadCodec
from makegood.runtime.engine import GRACE, Engine
from makegood.store.url import open_store

log = logging.getLogger("makegood.runtime")

EXIT_STUCK = 75
"""The exit code of a process that ended itself because a thread of it could not be stopped."""


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
    once. A thread that runs past its timeout and settle ends the process, so that its call can be waited out.
    """

    def engine(stuck: Callable[[str], None]) -> Engine:
        store, envelope = open_store(store_url), Envelope(codec)
        return Engine(store, agents, stuck=stuck, audit_every=audit_every, alerts=alerts, envelope=envelope)

    code = asyncio.run(_up(store_url, engine, grace))
    logging.shutdown()
    if any(thread.name.startswith(THREAD_NAME) for thread in threading.enumerate()):
        os._exit(code)  # an ordinary exit would wait for a thread that cannot be stopped
    return code


async def _up(store_url: str, made: Callable[[Callable[[str], None]], Engine], grace: float) -> int:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[int] = loop.create_future()

    def end() -> None:
        if over.done():
            os._exit(128 + signal.SIGTERM)
        over.set_result(0)

    def stuck(name: str) -> None:
        log.error("%s: its thread still runs after timeout and settle; this process ends itself", name)
        if not over.done():
            over.set_result(EXIT_STUCK)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    engine = made(stuck)
    serving = asyncio.create_task(_serve(engine, store_url))
    waiting: list[asyncio.Future[Any]] = [serving, over]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    if not over.done():
        await serving  # raises what kept it from starting, or ended it
    log.info("going down: what was not sent is handed back, calls under way have %g s", grace)
    serving.cancel()
    await asyncio.wait([serving])
    await engine.stop(grace)
    log.info("down")
    return await over


async def _serve(engine: Engine, store_url: str) -> None:
    await engine.start()
    log.info("up as %s on %s, with %s", engine.member_id, store_url, ", ".join(engine.agents))
    await engine.failed()
