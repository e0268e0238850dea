"""Where real processes are tried out: a folder with a store, and processes that are ended for sure."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from makegood import Makegood
from makegood.client import Where
from makegood.core.events import Row, decode_row
from makegood.store.url import open_store
from tests.acceptance.ledger import Ledger

ROOT = Path(__file__).parents[2]
SECONDS_MAX = 60.0

NOTHING: Mapping[str, str] = {}

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


class Watched(ABC):
    """A process that can be killed and frozen; what it says on stderr goes to a log."""

    log: Path

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @property
    @abstractmethod
    def alive(self) -> bool: ...

    @abstractmethod
    def kill(self) -> str | None:
        """SIGKILL, frozen or not: nothing of it can tidy up."""

    @abstractmethod
    def ended(self, within: float) -> int:
        """Wait for its end; the exit code, below 0 for a signal."""

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
            assert words in self.talk or self.alive, f"it ended: {self.talk}"
            return words in self.talk

        until(said, f"{words!r} in {self.log.name}", within)

    def catches(self, number: int) -> bool:
        """Whether it has a handler for a signal, as the kernel knows."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        [caught] = re.findall(r"^SigCgt:\s*(\w+)$", status, re.MULTILINE)
        return bool(int(caught, 16) >> (number - 1) & 1)

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)


@dataclass
class Running(Watched):
    """A program that was started with pipes to its stdin and stdout."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def line(self) -> str:
        """The next line it says on stdout."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        assert said, f"it ended: {self.talk}"
        return said.strip()

    def kill(self) -> str:
        """SIGKILL: nothing of it can tidy up. Answers what it had said on stdout."""
        self.process.kill()
        said, _ = self.process.communicate()
        return said

    def ended(self, within: float = SECONDS_MAX) -> int:
        """Wait for its end; the exit code. It must not have shown a traceback."""
        self.process.communicate(timeout=within)
        assert "Traceback" not in self.talk, self.talk
        return self.process.returncode


@dataclass
class Place:
    """A folder with a store in it, and every program that was started there."""

    folder: Path
    processes: list[Running] = field(default_factory=list)

    @property
    def store(self) -> Path:
        return self.folder / "tasks.db"

    @property
    def store_url(self) -> str:
        return f"sqlite:///{self.store}"

    # --- processes

    def engine(self, *apps: str, given: Mapping[str, str] = NOTHING) -> Running:
        """`makegood up`, once it is up; `given` is added to its environment."""
        engine = self.start("makegood", "up", *apps, "--store", self.store_url, given=given)
        engine.wait_for(" up as ")
        return engine

    def start(self, module: str, *arguments: str, given: Mapping[str, str] = NOTHING) -> Running:
        log = self.folder / f"{len(self.processes)}.log"
        with log.open("w") as talk:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=self.folder,
                env=self.environment | dict(given),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=talk,
                text=True,
            )
        self.processes.append(Running(process, log))
        return self.processes[-1]

    def cli(self, *arguments: str, code: int = 0) -> str:
        """What a command prints; it must end with this exit code."""
        command = self.start("makegood", *arguments, "--store", self.store_url)
        said, _ = command.process.communicate(timeout=SECONDS_MAX)
        assert command.process.returncode == code, (arguments, said, command.talk)
        return said

    @property
    def environment(self) -> dict[str, str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("MAKEGOOD_")}
        return known | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}

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
            going = self.ask(
                lambda makegood: makegood.list(Where(states=("Running", "Compensating")), limit=1)
            )
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


class Yard(Place):
    """The place of an acceptance test: actions book in one ledger, which every process here can write."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.ledger.create()

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.folder / "ledger.db")

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"LEDGER": str(self.ledger.path)}

    def program(self, name: str, *arguments: object) -> Running:
        """One of the programs, on this store and ledger."""
        return self.start("tests.acceptance.programs", name, self.store_url, *map(str, arguments))
