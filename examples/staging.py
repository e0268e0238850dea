"""What the examples share: calls over HTTP, services to call, and a look into their ledger at the end."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from makegood import Refused, StillRunning, Task, call

Faults = Mapping[str, Sequence[str]]

# --- one call over HTTP; what goes wrong is raised, and makegood knows what it means


def reference() -> str:
    """What we tell a service of our own: by it an entry can be found again."""
    return f"{call().task_id}/{call().step}"


def patience() -> float:
    """Seconds to wait for an answer: a little less than the agent does, to be gone by then."""
    return max(0.001, call().time_left - 0.1)


def ask(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """The JSON that a service answers. Raises Refused with its words where it says no (422)."""
    sent = None if body is None else json.dumps(body | {"reference": reference()}).encode()
    headers = {"Content-Type": "application/json"} | call().headers
    request = Request(os.environ["SERVICES"] + path, sent, headers, method=method)
    try:
        with urlopen(request, timeout=patience()) as reply:
            return json.load(reply)
    except HTTPError as error:
        if error.code == 422:
            raise Refused(json.load(error)["error"]) from None
        raise


def enter(service: str, **asked: Any) -> str:
    """Have a service make an entry; its id."""
    return str(ask("POST", f"/{service}", asked)["id"])


def look_up(service: str) -> str | None:
    """The id of the entry that the step of this call has made there. Raises StillRunning."""
    found = ask("GET", f"/{service}?reference={quote(reference(), safe='')}")["entries"]
    if any(not entry["ready"] for entry in found):
        raise StillRunning(f"{service}: it is still being made")
    return str(found[0]["id"]) if found else None


def withdraw(service: str, entry: str = "") -> None:
    """Take back an entry, or what was made there with the key of the call that is undone."""
    try:
        ask("DELETE", f"/{service}/{entry or f'by-key/{call().do_key}'}")
    except HTTPError as error:
        if error.code != 404:  # there is none, or an earlier try has come through
            raise


# --- playing an example


def play(main: Callable[[Path], Coroutine[Any, Any, bool]]) -> None:
    """Run an example in the folder named on the command line, or a new one; end with 1 if anything is wrong.

    Where the folder has been played in before, and the process was killed, it is played to its end.
    """
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="makegood-"))
    folder.mkdir(exist_ok=True)
    print(f"The store and the services' ledger are in {folder}")
    sys.exit(0 if asyncio.run(main(folder)) else 1)


@contextmanager
def services(
    folder: Path, faults: Faults, *, keyless: Sequence[str] = (), program: str = "fake_services.py"
) -> Iterator[None]:
    """The services run in a process of their own; SERVICES says where."""
    script = json.dumps({"faults": faults, "keyless": keyless})
    command = [sys.executable, str(Path(__file__).with_name(program)), str(ledger(folder)), script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            os.environ["SERVICES"] = process.stdout.readline().strip()
            yield
        finally:
            process.terminate()


def store(folder: Path) -> str:
    """Where the tasks are recorded."""
    return f"sqlite:///{folder / 'tasks.db'}"


def ledger(folder: Path) -> Path:
    """The file in which the services keep what they really did."""
    return folder / "services.db"


def entries(folder: Path, reference: str) -> list[str]:
    """What is in effect under a reference, as somebody sees it who looks into the services' ledger."""
    sql = "SELECT id FROM entries WHERE reference = ? AND withdrawn IS NULL"
    return [found for (found,) in _rows(folder, sql, reference)]


async def agrees(folder: Path, tasks: Sequence[Task[Any]]) -> bool:
    """Wait for these tasks; whether the services then hold exactly what they say. Prints how each ended."""
    for task in tasks:
        await task.wait(timeout=60)
    held, undone = _held(folder), _undone(folder)
    said: Counter[str] = Counter()
    print()
    for task in tasks:
        statement = await task.audit()
        kept = [effect.step for effect in statement.effects if effect.stands == "kept"]
        said.update(f"{task.task_id}/{step}" for step in kept)
        print(f"{task.task_id:8} {statement.state:12}", statement.reason)
        print("         kept:  ", ", ".join(kept) or "nothing")
        print("         undone:", ", ".join(undone.get(task.task_id, ())) or "nothing")
    print(f"\nThe services' ledger {'agrees' if held == said else f'says otherwise: {held}, not {said}'}.")
    return held == said


def _held(folder: Path) -> Counter[str]:
    """How many are in effect, by reference."""
    sql = "SELECT reference, sum(counts) FROM entries WHERE withdrawn IS NULL GROUP BY reference"
    return Counter({which: count for which, count in _rows(folder, sql) if count})


def _undone(folder: Path) -> dict[str, list[str]]:
    """What was taken back of each task, in that order."""
    sql = "SELECT reference FROM entries WHERE withdrawn OR counts < 0 ORDER BY withdrawn, number"
    found: dict[str, list[str]] = {}
    for (which,) in _rows(folder, sql):
        task_id, _, step = which.partition("/")
        found.setdefault(task_id, []).append(step)
    return found


def _rows(folder: Path, sql: str, *values: str) -> list[Any]:
    with closing(sqlite3.connect(ledger(folder))) as db:
        return db.execute(sql, values).fetchall()
