"""The demo's processes: three services that fail on purpose, and the engine that is killed meanwhile."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path

SERVICES = ("flight", "hotel", "car")
SERVICE_SETTLE = 0.7
"""Seconds after the client's timeout within which a service's late effects come."""
START_WITHIN = 20.0


class World:
    """Everything runs below one new folder: the store, three ledgers, the engine's log."""

    def __init__(self, folder: Path, *, faults: str, seed: int, keys: bool, undo: bool) -> None:
        self.folder = folder
        self.store_url = f"sqlite:///{folder / 'trips.db'}"
        self.kills = 0
        self._options = ["--faults", faults, "--keys", _switch(keys), "--undo", _switch(undo)]
        self._options += ["--settle", str(SERVICE_SETTLE)]
        self._seed = seed
        self._services: list[Process] = []
        self._engine: Process | None = None
        self._places: dict[str, str] = {}

    def ledger(self, service: str) -> Path:
        """The file in which a service keeps what it really did."""
        return self.folder / f"{service}.ledger.db"

    async def open(self) -> None:
        """Start the services, then the engine."""
        for number, name in enumerate(SERVICES):
            self._places[f"MAKEGOOD_DEMO_{name.upper()}"] = await self._serve(name, self._seed + number)
        await self.start_engine()

    async def start_engine(self) -> None:
        """One more engine process on the store."""
        command = [sys.executable, "-m", "makegood", "up", "makegood.demo.trips", "--store"]
        with (self.folder / "engine.log").open("ab") as log:
            self._engine = await _start(
                [*command, self.store_url], self._places, stdout=DEVNULL, stderr=log.fileno()
            )

    async def kill_engine(self) -> None:
        """SIGKILL: nothing of the process can tidy up."""
        engine, self._engine = self._engine, None  # that this one ends is no failure
        if engine is not None:
            engine.kill()
            await engine.wait()
            self.kills += 1

    async def close(self) -> None:
        """End what was started, the engine first; a process that will not is killed."""
        for process in [self._engine, *self._services]:
            if process is not None and process.returncode is None:
                process.send_signal(signal.SIGTERM)
                try:
                    await asyncio.wait_for(process.wait(), 5)
                except TimeoutError:
                    process.kill()
                    await process.wait()

    def engine_failed(self) -> bool:
        """Whether the engine ended by itself, which it never should."""
        return self._engine is not None and self._engine.returncode is not None

    async def _serve(self, name: str, seed: int) -> str:
        """Start a service by its path, as the stranger's program it is; answers where it listens."""
        program = Path(__file__).parent / "services" / f"{name}.py"
        command = [
            sys.executable,
            "-E",
            "-S",
            str(program),
            "--ledger",
            str(self.ledger(name)),
            "--seed",
            str(seed),
        ]
        process = await _start([*command, *self._options], {}, stdout=PIPE, stderr=DEVNULL)
        self._services.append(process)
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), START_WITHIN)).decode()
        if not line.startswith("listening on "):
            raise RuntimeError(f"the {name} service did not start: {line!r}")
        return line.removeprefix("listening on ").strip()


async def _start(
    command: Sequence[str], environment: Mapping[str, str], *, stdout: int, stderr: int
) -> Process:
    return await asyncio.create_subprocess_exec(
        *command, stdout=stdout, stderr=stderr, env={**os.environ, **environment}, start_new_session=True
    )


def _switch(on: bool) -> str:
    return "on" if on else "off"
