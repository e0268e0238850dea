"""The ledger: all a service knows, in one SQLite file with a rollback journal.

Anyone may open the file read-only while the service runs, or after it was killed: what was answered is in it.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Literal

from .call import Answer, Call, Json

SCHEMA = """
CREATE TABLE IF NOT EXISTS reservations (       -- one row for every reservation ever made; none is deleted
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    reference    TEXT NOT NULL,                 -- the caller's name for what it wants, free to choose
    traveller    TEXT NOT NULL,
    key          TEXT,                          -- the Idempotency-Key it came with, honoured or not
    confirmation TEXT NOT NULL UNIQUE,          -- the service's own name for it, such as FL-1001
    state        TEXT NOT NULL CHECK (state IN ('live', 'cancelled')),
    created_at   TEXT NOT NULL,                 -- all times: RFC 3339, UTC, milliseconds
    cancelled_at TEXT,                          -- NULL while live
    details      TEXT NOT NULL                  -- JSON: the request's other fields, and those of the answer
);
CREATE INDEX IF NOT EXISTS by_reference ON reservations (reference);
CREATE INDEX IF NOT EXISTS by_key ON reservations (key);
CREATE TABLE IF NOT EXISTS keys (               -- first answers, given again when their key comes again
    key     TEXT PRIMARY KEY,
    kind    TEXT NOT NULL CHECK (kind IN ('do', 'undo')),
    request TEXT NOT NULL,                      -- the same key with another request is refused
    answer  TEXT NOT NULL                       -- JSON
);
CREATE TABLE IF NOT EXISTS tombstones (         -- keys cancelled, used or not: no booking under them any more
    key TEXT PRIMARY KEY,
    at  TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS calls (              -- every call received, control calls apart
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        TEXT NOT NULL,                    -- when it came in
    method    TEXT NOT NULL,
    path      TEXT NOT NULL,
    key       TEXT,
    reference TEXT,                             -- NULL where the call does not say it
    fault     TEXT,                             -- the fault that hit it; NULL: none
    status    INTEGER,                          -- the answer sent; NULL: the fault swallowed it
    effect    TEXT                              -- booked, cancelled, tombstone; NULL: it changed nothing
);
"""
CANCEL = {
    "key": "UPDATE reservations SET state = 'cancelled', cancelled_at = ? WHERE key = ? AND state = 'live'",
    "confirmation": "UPDATE reservations SET state = 'cancelled', cancelled_at = ? "
    "WHERE confirmation = ? AND state = 'live'",
}
LIVE = "SELECT reference, traveller, confirmation, created_at, details FROM reservations WHERE state = 'live'"
FIRST_NUMBER = 1000  # nobody likes to get FL-1


class TooLate(Exception):
    """The transaction could not be made in time; nothing was written."""


class Ledger:
    """Verbs on the file. Those that write are for use inside `with ledger.transaction(...)`."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.executescript(f"BEGIN EXCLUSIVE; {SCHEMA} COMMIT;")  # one sync, not seven

    @contextmanager
    def transaction(self, by: float) -> Generator[None]:
        """One durable transaction; TooLate and no trace of it where the monotonic clock passes `by` first.

        EXCLUSIVE: the wait for readers is over before the clock is asked, and only the sync comes after.
        """
        with self._lock:
            self._db.execute("BEGIN EXCLUSIVE")
            try:
                yield
                if time.monotonic() > by:
                    raise TooLate
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Lets a running transaction end and none begin: the lock is kept, and the process about to leave."""
        self._lock.acquire()
        self._db.close()

    def book(self, prefix: str, call: Call, details: Json) -> str:
        """Writes a live reservation and returns its confirmation."""
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM reservations").fetchone()
        confirmation = f"{prefix}-{FIRST_NUMBER + last + 1}"
        self._db.execute(
            "INSERT INTO reservations (reference, traveller, key, confirmation, state, created_at, details) "
            "VALUES (?, ?, ?, ?, 'live', ?, ?)",
            (call.reference, call.body["traveller"], call.key, confirmation, now(), json.dumps(details)),
        )
        return confirmation

    def cancel(self, by: Literal["key", "confirmation"], value: str) -> int:
        """Cancels what is live under that name; returns how many."""
        return self._db.execute(CANCEL[by], (now(), value)).rowcount

    def live(self, reference: str | None) -> list[Json]:
        """What is booked under a reference; None: under any."""
        if reference is None:
            rows = self._db.execute(LIVE + " ORDER BY id")
        else:
            rows = self._db.execute(LIVE + " AND reference = ? ORDER BY id", (reference,))
        names = ("reference", "traveller", "confirmation", "created_at")
        return [json.loads(row[-1]) | dict(zip(names, row[:-1], strict=True)) for row in rows]

    def entomb(self, key: str) -> None:
        self._db.execute("INSERT OR IGNORE INTO tombstones VALUES (?, ?)", (key, now()))

    def entombed(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM tombstones WHERE key = ?", (key,)).fetchone() is not None

    def remember(self, key: str, kind: Literal["do", "undo"], request: str, answer: Json) -> None:
        self._db.execute("INSERT INTO keys VALUES (?, ?, ?, ?)", (key, kind, request, json.dumps(answer)))

    def recall(self, key: str) -> tuple[str, Json] | None:
        """The request and the answer first given under the key; None where it is new."""
        row = self._db.execute("SELECT request, answer FROM keys WHERE key = ?", (key,)).fetchone()
        return None if row is None else (row[0], json.loads(row[1]))

    def note(self, call: Call, fault: str | None, shown: Answer | None, effect: str | None) -> None:
        """Writes the call down, with what its client is shown and what it really did."""
        status = None if shown is None else shown.status
        self._db.execute(
            "INSERT INTO calls (at, method, path, key, reference, fault, status, effect) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (call.at, call.method, call.address, call.key, call.reference, fault, status, effect),
        )


def now() -> str:
    """The wall clock as the ledger writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
