"""A service's own ledger: each call and each effect is durable in it before the call is answered."""

import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from makegood import Refused
from makegood.agents.call import Call

SCHEMA = """
CREATE TABLE IF NOT EXISTS bookings (
    number INTEGER PRIMARY KEY, task TEXT, step TEXT, key TEXT, made REAL, cancelled REAL);
CREATE TABLE IF NOT EXISTS tombs (key TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS calls (
    number INTEGER PRIMARY KEY, task TEXT, step TEXT, kind TEXT, attempt INTEGER, at REAL);
"""
LOCK_SECONDS_MAX = 30


@dataclass(frozen=True)
class Booking:
    """One effect, by the system's monotonic clock."""

    task: str
    step: str
    key: str
    made: float
    cancelled: float | None


@dataclass(frozen=True)
class Visit:
    """One call as the service saw it."""

    task: str
    step: str
    kind: str
    attempt: int
    at: float


@dataclass(frozen=True)
class Ledger:
    """Kept in a SQLite file that all processes of a test write, as a service would for all its callers."""

    path: Path

    def create(self) -> None:
        with self._open() as ledger:
            ledger.executescript(SCHEMA)

    # --- what a caller can order

    def begin(self, call: Call) -> None:
        """Note a call that has come in and will take its time."""
        with self._open() as ledger:
            _note(ledger, call, "BEGUN")

    def book(self, call: Call, *, keyed: bool) -> str:
        """Book, once per key if `keyed`; raises Refused under a key that was cancelled before."""
        with self._entered(call) as ledger:
            if keyed and _first(ledger, "SELECT key FROM tombs WHERE key = ?", call.key):
                raise Refused("this key was cancelled")
            known = keyed and _first(ledger, "SELECT number FROM bookings WHERE key = ?", call.key)
            if known:
                return f"B{known}"
            made = ledger.execute(
                "INSERT INTO bookings (task, step, key, made) VALUES (?, ?, ?, ?)",
                (call.task_id, call.step, call.key, time.monotonic()),
            )
            return f"B{made.lastrowid}"

    def cancel(self, call: Call, confirmation: str | None) -> None:
        """Cancel a booking, and entomb the key it was or would be made under."""
        with self._entered(call) as ledger:
            ledger.execute("INSERT OR IGNORE INTO tombs VALUES (?)", (call.do_key,))
            ledger.execute(
                "UPDATE bookings SET cancelled = ? WHERE cancelled IS NULL AND number = coalesce(?, number) "
                "AND task = ? AND step = ?",
                (time.monotonic(), confirmation and confirmation[1:], call.task_id, call.step),
            )

    def find(self, call: Call) -> str | None:
        """The live booking of a step."""
        asked = "SELECT number FROM bookings WHERE cancelled IS NULL AND task = ? AND step = ?"
        with self._entered(call) as ledger:
            known = _first(ledger, asked, call.task_id, call.step)
            return f"B{known}" if known else None

    # --- what a test can read

    def bookings(self) -> list[Booking]:
        with self._open() as ledger:
            rows = ledger.execute("SELECT task, step, key, made, cancelled FROM bookings ORDER BY made")
            return [Booking(*row) for row in rows]

    def visits(self, kind: str = "DO") -> list[Visit]:
        with self._open() as ledger:
            rows = ledger.execute(
                "SELECT task, step, kind, attempt, at FROM calls WHERE kind = ? ORDER BY number", (kind,)
            )
            return [Visit(*row) for row in rows]

    def wrong(self, states: Mapping[str, str], *, steps: int) -> list[str]:
        """Everything that is double, orphaned or half done, given how the tasks ended."""
        made: dict[str, list[Booking]] = defaultdict(list)
        for booking in self.bookings():
            made[booking.task].append(booking)
        orphans = [f"{task}: orphaned, nobody knows this task" for task in made if task not in states]
        return orphans + [
            words
            for task, state in states.items()
            if (words := _fault(task, state, made[task], steps)) is not None
        ]

    @contextmanager
    def _entered(self, call: Call) -> Iterator[sqlite3.Connection]:
        """One durable transaction that also notes the call; a refusal is noted, too."""
        with self._open() as ledger:
            ledger.execute("BEGIN IMMEDIATE")
            _note(ledger, call, call.kind.name)
            try:
                yield ledger
            finally:
                ledger.execute("COMMIT")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path, timeout=LOCK_SECONDS_MAX, isolation_level=None)) as ledger:
            ledger.execute("PRAGMA synchronous = FULL")
            yield ledger


def _note(ledger: sqlite3.Connection, call: Call, kind: str) -> None:
    ledger.execute(
        "INSERT INTO calls (task, step, kind, attempt, at) VALUES (?, ?, ?, ?, ?)",
        (call.task_id, call.step, kind, call.attempt, time.monotonic()),
    )


def _first(ledger: sqlite3.Connection, query: str, *asked: str) -> str | int | None:
    row = ledger.execute(query, asked).fetchone()
    return None if row is None else row[0]


def _fault(task: str, state: str, made: list[Booking], steps: int) -> str | None:
    by_step: dict[str, list[Booking]] = defaultdict(list)
    for booking in made:
        by_step[booking.step].append(booking)
    if any(_double(bookings) for bookings in by_step.values()):
        return f"{task} ({state}): double: {made}"
    live = [booking for booking in made if booking.cancelled is None]
    match state:
        case "Completed" if len(live) != steps:
            return f"{task}: half done: {made}"
        case "Compensated" if live:
            return f"{task}: orphaned: {live}"
        case "Completed" | "Compensated":
            return None
        case _:
            return f"{task}: not ended but {state}"


def _double(bookings: list[Booking]) -> bool:
    """One made while another was live."""
    return any(one.cancelled is None or one.cancelled > other.made for one, other in pairwise(bookings))
