"""Where an acceptance test works: one folder, store and ledger, and processes that are ended for sure."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from makegood import Makegood
from makegood.core.events import Row, decode_row
from makegood.store.url import open_store
from tests.acceptance.ledger import Ledger

ROOT = Path(__file__).parents[2]
FULL = os.environ.get("MAKEGOOD_TEST_SIZE") == "full"
"""Larger numbers, for an evening rather than for every change."""
SECONDS_MAX = 600.0 if FULL else 60.0

T = TypeVar("T")


def until(true: Callable[[], T], what: str, within: float = SECONDS_MAX, *, look_every: float = 0.05) -> T:
    """Wait until something is so; answers it. Fails after `within` seconds."""
    over = monotonic() + within
    while True:
        found = true()
        if found:
            return found
        assert monotonic() < over, f"not within {within:g} s: {what}"
        sleep(look_every)


@dataclass
class Running:
    """A process of a test; what it says on stderr goes to a log."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def talk(self) -> str:
        return self.log.read_text()

    @property
    def member_id(self) -> str:
        """The name under which an engine stands in the history."""
        found = re.search(r"up as (\w+)", self.talk)
        assert found is not None, self.talk
        return found[1]

    def wait_for(self, words: str, within: float = SECONDS_MAX) -> None:
        """Wait until it has said something."""

        def said() -> bool:
            assert words in self.talk or self.process.poll() is None, f"it ended: {self.talk}"
            return words in self.talk

        until(said, f"{words!r} in {self.log.name}", within)

    def line(self) -> str:
        """The next line it says on stdout."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said, f"it ended: {self.talk}"
        return said.strip()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> str:
        """SIGKILL: nothing of it can tidy up. Answers what it had said on stdout."""
        self.process.kill()
        said, _ = self.process.communicate()
        return said

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def ended(self, within: float = SECONDS_MAX) -> int:
        """Wait for its end; the exit code. It must not have shown a traceback."""
        self.process.communicate(timeout=within)
        assert "Traceback" not in self.talk, self.talk
        return self.process.returncode


@dataclass
class Yard:
    """A folder, and every process that was started in it."""

    folder: Path
    processes: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ledger.create()

    @property
    def store_url(self) -> str:
        return f"sqlite:///{self.folder / 'tasks.db'}"

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger.db")

    # --- processes

    def engine(self, *apps: str) -> Running:
        """`makegood up`, once it is up."""
        engine = self.start("makegood.cli.main", "up", *apps, "--store", self.store_url)
        engine.wait_for(" up as ")
        return engine

    def program(self, name: str, *arguments: object) -> Running:
        """One of the programs, on this store and ledger."""
        return self.start("tests.acceptance.programs", name, self.store_url, *map(str, arguments))

    def start(self, module: str, *arguments: str) -> Running:
        log = self.folder / f"{len(self.processes)}.log"
        with log.open("w") as talk:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=talk,
                text=True,
            )
        self.processes.append(Running(process, log))
        return self.processes[-1]

    def cli(self, *arguments: str, code: int = 0) -> str:
        """What a command prints; it must end with this exit code."""
        command = self.start("makegood.cli.main", *arguments, "--store", self.store_url)
        said, _ = command.process.communicate(timeout=SECONDS_MAX)
        assert command.process.returncode == code, (arguments, said, command.talk)
        return said

    @property
    def environment(self) -> dict[str, str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("MAKEGOOD_")}
        return known | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "LEDGER": str(self.ledger.path)}

    def close(self) -> None:
        """End everything, frozen or not."""
        for each in self.processes:
            each.kill()

    # --- the store

    def ask(self, question: Callable[[Makegood], Awaitable[T]]) -> T:
        """Ask something of the store, as a client."""

        async def asked() -> T:
            async with Makegood(self.store_url) as makegood:
                return await question(makegood)

        return asyncio.run(asked())

    def tasks(self) -> list[dict[str, Any]]:
        """Every task in short."""

        async def pages(makegood: Makegood) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = []
            after = None
            while True:
                page = await makegood.list(limit=10_000, after=after)
                found += page.tasks
                after = page.next
                if after is None:
                    return found

        return self.ask(pages)

    def states(self) -> dict[str, str]:
        return {task["taskId"]: task["state"] for task in self.tasks()}

    def all_at_rest(self, count: int, within: float = SECONDS_MAX) -> dict[str, str]:
        """Wait until so many tasks are there and none goes on; how they ended."""

        def ended() -> dict[str, str]:
            going = self.ask(lambda makegood: makegood.list(["Running", "Compensating"], limit=1))
            states = {} if going.tasks else self.states()
            return states if len(states) == count else {}

        return until(ended, f"{count} tasks at rest", within, look_every=0.2)

    def record(self, task_id: str) -> dict[str, Any]:
        return self.ask(lambda makegood: makegood.task(task_id).record())

    def step(self, task_id: str, name: str) -> dict[str, Any]:
        """One step of a task's record."""
        found: dict[str, Any] = next(s for s in self.record(task_id)["steps"] if s["name"] == name)
        return found

    def rows(self, task_id: str) -> list[Row]:
        """The history of a task."""

        async def history() -> list[Row]:
            store = open_store(self.store_url)
            await store.open()
            try:
                return [decode_row(row.body) for row in await store.history(task_id)]
            finally:
                await store.close()

        return asyncio.run(history())

    def why(self, task_id: str) -> str:
        return self.ask(lambda makegood: makegood.task(task_id).why())
