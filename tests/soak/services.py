"""The demo's three services as processes that can be killed: what was answered is in their ledgers."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import makegood.demo
from makegood.demo.check import Reservation, read_ledger
from makegood.demo.world import SERVICE_SETTLE, SERVICES

PROGRAMS = Path(makegood.demo.__file__).parent / "services"
__all__ = ["SERVICES", "Service"]


@dataclass
class Service:
    """One of them, at an address that stays the same over its deaths."""

    name: str
    folder: Path
    seed: int
    options: tuple[str, ...] = ()
    port: int = 0
    process: subprocess.Popen[str] | None = field(default=None, repr=False)

    @property
    def ledger(self) -> Path:
        return self.folder / f"{self.name}.ledger.db"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, faults: str) -> None:
        """Be there, with so many calls hit by faults: none, some, high."""
        command = [
            sys.executable,
            "-E",
            "-S",
            str(PROGRAMS / f"{self.name}.py"),
            "--ledger",
            str(self.ledger),
        ]
        command += ["--seed", f"{self.seed}", "--settle", f"{SERVICE_SETTLE}", "--port", f"{self.port}"]
        self.process = subprocess.Popen(
            [*command, "--faults", faults, *self.options], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), f"the {self.name} service did not start: {line!r}"
        self.port = int(line.rpartition(":")[2])

    def kill(self) -> None:
        """SIGKILL, with whatever calls it was serving."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def reservations(self) -> list[Reservation]:
        return read_ledger(self.ledger)

    def calls(self) -> tuple[int, int]:
        """How many calls came, and how many of them a fault hit."""
        with closing(sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)) as ledger:
            came, hit = ledger.execute("SELECT count(*), count(fault) FROM calls").fetchone()
            return came, hit
