"""Services for the examples, a program of their own: real HTTP, a ledger in SQLite, faults by a script.

    POST   /stock                  an entry: 201 {"id": "stock-1"}; the same key again is the same entry
    GET    /stock?reference=R      the entries in effect that were made with this reference
    DELETE /stock/stock-1          withdraw an entry; 404 where it is not in effect
    DELETE /stock/by-key/KEY       the same by the key it was made with, which from then on is refused

    python examples/fake_services.py LEDGER '{"keyless": ["cards"], "faults": {"order-2/reserve": ["lost"]}}'

Any name will do for a service; the `keyless` ones ignore keys. Faults are listed by reference, call by call,
those of withdrawals by "undo order-2/reserve"; FAULTS says what they are.
"""

import json
import math
import os
import socket
import sqlite3
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

FAULTS = {
    "down": "nothing is done, and the connection breaks",
    "busy": "nothing is done: 429, come again after a second",
    "quota": "nothing is done: 403, come again after a second",
    "failed": "nothing is done, and the answer is 500",
    "error": "it is done, and the answer is 500",
    "lost": "it is done, and the connection breaks before the answer",
    "slow": "it is begun, and takes longer than the caller waits",
    "no": 'nothing is done: 422 with the words after "no: ", however often it is asked',
}
SLOW_SECONDS = 2.5
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER for no time: closing resets
SCHEMA = """
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS entries (
    number INTEGER PRIMARY KEY, id TEXT, service TEXT, reference TEXT, key TEXT, asked TEXT, ready_at REAL,
    counts INTEGER DEFAULT 1, withdrawn INTEGER
);
CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT, status INTEGER, body TEXT, at REAL);
CREATE TABLE IF NOT EXISTS calls (number INTEGER PRIMARY KEY, subject TEXT, fault TEXT);
"""


class Request(NamedTuple):
    method: str
    path: tuple[str, ...]
    asked: dict[str, Any]  # what its body says, or its query
    key: str

    @property
    def text(self) -> str:
        """What is asked for: the same key must never come with another."""
        return f"{self.method} {'/'.join(self.path)} {json.dumps(self.asked, sort_keys=True)}"


class Answer(NamedTuple):
    status: int
    body: dict[str, Any]
    replayed: bool = False


NOT_THERE = Answer(404, {"error": "there is none in effect"})
CANCELLED = Answer(410, {"error": "this key was cancelled"})
ERROR = Answer(500, {"error": "something went wrong here"})


class Ledger:
    """What the services really did: `counts` of an entry is 1, and -1 where it takes back another."""

    def __init__(self, path: str) -> None:
        self.db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.executescript(SCHEMA)
        self._lock = Lock()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A request is decided alone, and what it does is there as a whole or not at all."""
        with self._lock, self.db:
            self.db.execute("BEGIN IMMEDIATE")
            yield

    def rows(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        return self.db.execute(sql, values).fetchall()

    def enter(self, request: Request, reference: str, *, name: str, ready_at: float, counts: int = 1) -> str:
        """A new entry; its id."""
        [(number,)] = self.rows("SELECT 1 + count(*) FROM entries")
        made, asked = f"{name}-{number}", json.dumps(request.asked)
        values = (made, name, reference, request.key, asked, ready_at, counts)
        columns = "id, service, reference, key, asked, ready_at, counts"
        self.db.execute(f"INSERT INTO entries ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        return made

    def withdraw(self, column: str, value: str) -> int:
        """Take an entry out of effect; how many there were."""
        number = "(SELECT 1 + count(withdrawn) FROM entries)"
        change = f"UPDATE entries SET withdrawn = {number} WHERE {column} = ? AND withdrawn IS NULL"
        return self.db.execute(change, (value,)).rowcount

    def save(self, key: str, request: str, answer: Answer, at: float) -> None:
        """Remember what this request with this key is answered, from this moment on."""
        if key:
            values = (key, request, answer.status, json.dumps(answer.body), at)
            self.db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", values)


class Clerk(BaseHTTPRequestHandler):
    """One connection: read a request, let a fault strike, act, answer or break off."""

    ledger: Ledger
    script: dict[str, Any]
    mismatch = Answer(422, {"error": "this key came before with another request"})
    under_way = Answer(409, {"error": "the first request with this key is still being worked on"})
    key_seconds = math.inf

    def do_GET(self) -> None:
        request = self.read()
        with self.ledger.transaction():
            fault = self.strike(request)
            answer = self.turned_away(fault) or self.act(request, fault)
        if fault == "slow":
            time.sleep(SLOW_SECONDS)
        if fault in ("down", "lost"):
            self.break_off()
        else:
            self.send(answer)

    do_POST = do_DELETE = do_GET  # noqa: N815 - the base class looks for these names

    def read(self) -> Request:
        url = urlsplit(self.path)
        path = tuple(unquote(part) for part in url.path.strip("/").split("/"))
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        key = self.headers.get("Idempotency-Key", "")
        keyless = path[0] in self.script.get("keyless", ())
        return Request(self.command, path, self.asked(url.query, body), "" if keyless else key)

    def asked(self, query: str, body: str) -> dict[str, Any]:
        return dict(json.loads(body)) if body else dict(parse_qsl(query))

    # --- faults

    def strike(self, request: Request) -> str:
        """The fault that the script has for this call."""
        subject = self.subject(request)
        [(before,)] = self.ledger.rows("SELECT count(*) FROM calls WHERE subject = ?", subject)
        faults = self.script.get("faults", {}).get(subject, [])
        refusals = [fault for fault in faults if fault.startswith("no: ")]
        fault = refusals[0] if refusals else (faults[before] if before < len(faults) else "")
        self.ledger.db.execute("INSERT INTO calls (subject, fault) VALUES (?, ?)", (subject, fault))
        return str(fault)

    def subject(self, request: Request) -> str:
        """What faults name: the reference, "undo " before it for a withdrawal."""
        if request.method != "DELETE":
            return str(request.asked.get("reference", ""))
        column = "key" if "by-key" in request.path else "id"
        found = self.ledger.rows(f"SELECT reference FROM entries WHERE {column} = ?", request.path[-1])
        return f"undo {found[0]['reference']}" if found else ""

    def turned_away(self, fault: str) -> Answer | None:
        match fault.partition(": "):
            case "busy", _, _:
                return Answer(429, {"error": "too many requests"})
            case "quota", _, _:
                return Answer(403, {"error": "your quota is used up"})
            case "failed", _, _:
                return ERROR
            case "down", _, _:
                return Answer(503, {})
            case "no", _, words:
                return Answer(422, {"error": words})
        return None

    # --- what the services do

    def act(self, request: Request, fault: str) -> Answer:
        answer = self.done(request, SLOW_SECONDS if fault == "slow" else 0.0)
        return ERROR if fault == "error" else answer

    def done(self, request: Request, takes: float) -> Answer:
        match request.method, request.path:
            case "POST", (name,):
                return self.recalled(request) or self.made(request, name, time.time() + takes)
            case "GET", (name,):
                return Answer(200, {"entries": self.in_effect(name, request.asked["reference"])})
            case "DELETE", (_, "by-key", key):
                self.ledger.save(key, "", CANCELLED, time.time())
                return Answer(200, {}) if self.ledger.withdraw("key", key) else NOT_THERE
            case "DELETE", (_, name):
                return Answer(200, {}) if self.ledger.withdraw("id", name) else NOT_THERE
        return Answer(404, {"error": "no such address"})

    def recalled(self, request: Request) -> Answer | None:
        """What is answered to a key that came before."""
        since = time.time() - self.key_seconds
        for known in self.ledger.rows("SELECT * FROM answers WHERE key = ? AND at > ?", request.key, since):
            if known["request"] not in ("", request.text):
                return self.mismatch
            if known["at"] > time.time():
                return self.under_way
            return Answer(known["status"], json.loads(known["body"]), replayed=True)
        return None

    def made(self, request: Request, name: str, ready_at: float) -> Answer:
        made = self.ledger.enter(request, request.asked["reference"], name=name, ready_at=ready_at)
        answer = Answer(201, {"id": made})
        self.ledger.save(request.key, request.text, answer, ready_at)
        return answer

    def in_effect(self, name: str, reference: str) -> list[dict[str, Any]]:
        found = self.ledger.rows(
            "SELECT id, ready_at FROM entries WHERE service = ? AND reference = ? AND withdrawn IS NULL",
            name,
            reference,
        )
        return [{"id": row["id"], "ready": row["ready_at"] <= time.time()} for row in found]

    # --- answering

    def send(self, answer: Answer) -> None:
        content = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if answer.status in (403, 429):
            self.send_header("Retry-After", "1")
        if answer.replayed:
            self.send_header("Idempotent-Replayed", "true")
        self.end_headers()
        self.wfile.write(content)

    def break_off(self) -> None:
        """Reset the connection; no answer comes."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        socket.close(self.connection.detach())

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent: the ledger has every call."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    parent = os.getppid()

    def service_actions(self) -> None:
        """Leave when the parent process is gone: nobody else would end this one."""
        if os.getppid() != self.parent:
            sys.exit()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error here."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(clerk: type[Clerk]) -> None:
    """Serve as the command line says, until the process is ended."""
    path, script = sys.argv[1:]
    clerk.ledger, clerk.script = Ledger(path), json.loads(script)
    with Server(("127.0.0.1", 0), clerk) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    serve(Clerk)
