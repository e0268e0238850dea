"""`makegood demo`: book trips at three unreliable services, kill the engine under way, then check at them."""

import asyncio
import random
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from makegood.client import Makegood
from makegood.clock import SystemClock
from makegood.demo.check import Findings, check_service, hit_share, read_ledger
from makegood.demo.show import Display, summary_table
from makegood.demo.trips import Trip, book_trip
from makegood.demo.world import SERVICES, World
from makegood.errors import MakegoodError, PayloadError, StoreUnavailable

REQUESTS = Path(__file__).parent / "requests.jsonl"
SUBMIT_PACE = 0.04
"""Seconds between two submissions."""
KILL_AFTER = (0.4, 1.6)
"""Seconds of work between two kills, drawn at random."""
CANCEL_AFTER = 0.05, 0.3
"""Seconds after its submission."""
CANCEL_SHARE = 0.1
PATIENCE = 90.0
"""Seconds without any trip ending after which the demo gives up waiting."""
AT_REST = ("Completed", "Compensated", "Failed")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `makegood demo` was asked for."""

    trips: int = 30
    kills: int = 3
    seed: int | None = None
    faults: str = "some"
    trips_file: Path = REQUESTS
    keys: bool = True
    undo: bool = True
    patience: float = PATIENCE


def main(options: Options) -> int:
    """Run the demo; 0 if nothing is double, orphaned or half done, else 1. SIGTERM interrupts it like ^C."""
    requests = read_requests(options.trips_file, options.trips)
    try:
        return asyncio.run(_until_told(Demo(options, requests)))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _until_told(demo: "Demo") -> int:
    running = asyncio.create_task(demo.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await running


def read_requests(path: Path, count: int) -> list[Trip]:
    """The first `count` requests of a file of JSON lines, from its start again when it has fewer.

    Raises PayloadError naming the line.
    """
    requests: list[Trip] = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise MakegoodError(f"trips file {path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                requests.append(msgspec.json.decode(line, type=Trip))
            except msgspec.DecodeError as error:
                raise PayloadError(f"trips file {path}, line {number}: {error}") from None
    if not requests:
        raise PayloadError(f"trips file {path}: no request in it")
    return [requests[n % len(requests)] for n in range(count)]


class Demo:
    """One run: its own folder, store, ledgers and random choices."""

    def __init__(self, options: Options, requests: Sequence[Trip]) -> None:
        self._options = options
        self._requests = requests
        seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
        self._seed = seed
        self._chance = random.Random(seed)  # noqa: S311 (a demo's choices, not secrets)
        self._clock = SystemClock()
        folder = Path(tempfile.mkdtemp(prefix="makegood-demo-"))
        self._world = World(folder, faults=options.faults, seed=seed, keys=options.keys, undo=options.undo)
        self._display = Display(options.trips, self._clock.monotonic)
        self._submitted: list[str] = []

    async def run(self) -> int:
        self._display.say(
            f"seed {self._seed}; store, ledgers and the engine's log are in {self._world.folder}"
        )
        began = self._clock.monotonic()
        try:
            await self._world.open()
            async with Makegood(self._world.store_url) as makegood:
                records = await self._play(makegood)
        finally:
            self._display.close()
            await self._world.close()
        return self._report(records, self._clock.monotonic() - began)

    async def _play(self, makegood: Makegood) -> dict[str, Mapping[str, Any]]:
        watching = asyncio.create_task(self._watch(makegood))
        try:
            await asyncio.gather(self._submit_all(makegood), self._kill_all())
            await watching
        finally:
            watching.cancel()
        return {task_id: await makegood.task(task_id).record() for task_id in self._submitted}

    async def _submit_all(self, makegood: Makegood) -> None:
        to_cancel = set(self._chance.sample(range(len(self._requests)), self._cancels()))
        cancels: list[asyncio.Task[None]] = []
        for number, request in enumerate(self._requests):
            task = await makegood.submit(book_trip, request, task_id=f"trip-{number + 1:04d}")
            self._submitted.append(task.task_id)
            if number in to_cancel:
                cancels.append(asyncio.create_task(self._cancel(makegood, task.task_id)))
            await asyncio.sleep(SUBMIT_PACE)
        await asyncio.gather(*cancels)

    def _cancels(self) -> int:
        return min(len(self._requests), max(2, round(CANCEL_SHARE * len(self._requests))))

    async def _kill_all(self) -> None:
        for number in range(self._options.kills):
            await asyncio.sleep(self._chance.uniform(*KILL_AFTER))
            await self._world.kill_engine()
            self._display.say(
                f"killed the engine (SIGKILL {number + 1} of {self._options.kills}); it starts again"
            )
            await self._world.start_engine()

    async def _cancel(self, makegood: Makegood, task_id: str) -> None:
        """Cancel a trip while it is being booked, most likely; one that is booked is not cancelled."""
        await asyncio.sleep(self._chance.uniform(*CANCEL_AFTER))
        try:
            said = await makegood.task(task_id).cancel(by="demo", why="the traveller changed plans")
        except StoreUnavailable:
            raise
        except MakegoodError as refused:
            said = str(refused).removeprefix(f"task {task_id}: ")
        self._display.say(f"{task_id}: its traveller asks to cancel it; the answer: {said}")

    async def _watch(self, makegood: Makegood) -> None:
        """Show what goes on until every trip is at rest, or nothing moves any more."""
        ended, moved_at = 0, self._clock.monotonic()
        while True:
            tasks = (await makegood.list(limit=10_000)).tasks
            self._display.update(tasks, self._world.kills)
            at_rest = sum(task["state"] in AT_REST for task in tasks)
            if at_rest == self._options.trips:
                return
            if at_rest != ended:
                ended, moved_at = at_rest, self._clock.monotonic()
            if self._clock.monotonic() - moved_at > self._options.patience:
                self._display.say(f"nothing ended for {self._options.patience:g} s; giving up waiting")
                return
            if self._world.engine_failed():
                self._display.say("the engine ended by itself; see engine.log")
                return
            await asyncio.sleep(0.25)

    def _report(self, records: Mapping[str, Mapping[str, Any]], seconds: float) -> int:
        findings: dict[str, Findings] = {}
        for service in SERVICES:
            ledger = read_ledger(self._world.ledger(service))
            findings[service] = check_service(service, ledger, records)
        hit = {service: hit_share(self._world.ledger(service)) for service in SERVICES}
        sys.stdout.write(summary_table(records, findings, hit, self._world.kills, seconds))
        wrong = [words for found in findings.values() for words in found.wrong]
        for words in wrong:
            sys.stdout.write(f"  {words}\n")
        sys.stdout.write(f"The store, the ledgers and the engine's log are in {self._world.folder}\n")
        return 1 if wrong else 0
