"""A folder full of what a person may get wrong, and what must be as it was when a command was refused."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from makegood import Makegood
from makegood.authoring.loading import load_app, load_plan
from tests.cli.terminal import APP

STORE = "makegood.db"
PASSING = ("-wal", "-shm")
"""SQLite's own files beside a store, which come and go."""

APPS = {
    "syntax.py": "x = 1\nif\n",
    "indent.py": "def f():\nreturn 1\n",
    "dependency.py": "import absent_library\n",
    "library.py": "raise ImportError('needs libfoo')\n",
    "uses_library.py": "import library\n",
    "fails.py": "def f():\n    return 1 / 0\n\nf()\n",
    "wants_token.py": "import os\nos.environ['TOKEN_OF_THE_SHOP']\n",
    "wordy.py": "raise ValueError('one\\ntwo\\nTraceback (most recent call last):')\n",
    "endless.py": "def f():\n    f()\n\nf()\n",
    "leaves.py": "import sys\nsys.exit('set a token first')\n",
    "leaves_early.py": "raise SystemExit\n",
    "circle.py": "import circle_too\nx = 1\n",
    "circle_too.py": "from circle import x\n",
    "misses_a_name.py": "from app import nothing_there\n",
    "prints.py": "from app import *\nprint('good morning')\n",
    "empty.py": "",
    "agents_only.py": "from app import flights, cars\n",
    "plans_only.py": "from app import book_trip\n",
    "two_of_a_name.py": "from makegood import Agent\na, b = Agent('one'), Agent('one')\n",
    "five.py": "from app import *\nfive, fives = 5, [5]\n",
    "pkg/__init__.py": "",
    "pkg/inner.py": "from .other import x\n",
    "notes.txt": "not Python",
    "negative.py": "from makegood import Agent\na = Agent('one', timeout=-1)\n",
    "timeout.py": "from makegood import Agent\na = Agent('one', timeout='soon')\n",
    "retry.py": "from makegood import Agent\na = Agent('one', retry=3)\n",
    "unknown_setting.py": "from makegood import Agent\na = Agent('one', retries=3)\n",
    "no_way_back.py": "from app import *\n@cars.action()\ndef f(x: int) -> None: ...\n",
    "hint.py": "from app import *\n@cars.action(undo=None)\ndef f(x: complex) -> None: ...\n",
    "undo_is_text.py": "from app import *\n@cars.action(undo='cancel')\ndef f(x: int) -> None: ...\n",
    "plan_branches.py": "from app import *\n@plan\ndef p(t: Trip) -> None:\n    if step(reserve_car, t): 1\n",
    "plan_mistypes.py": "from app import *\n@plan\ndef p(t: Trip) -> None:\n    step(reserve_car, t.nope)\n",
    "plan_async.py": "from app import *\n@plan\nasync def p(t: Trip) -> None:\n    step(reserve_car, t)\n",
    "plan_empty.py": "from app import *\n@plan\ndef p(t: Trip) -> None: ...\n",
    "plan_fails.py": "from app import *\n@plan\ndef p(t: Trip) -> None:\n    raise KeyError('rate')\n",
    "outside.py": "from app import *\nstep(reserve_car, 1)\n",
}

STEP: dict[str, Any] = {
    "step": "a",
    "agent": "car-agent",
    "action": "reserve_car",
    "undo": "cancel_car",
    "args": {"trip": {"$ref": "input"}},
}
PIVOT = {name: value for name, value in STEP.items() if name != "undo"} | {"pivot": True}


def series(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A plan document."""
    return {"plan": "p", "body": {"series": list(steps)}, **more}


def after(name: str, **more: Any) -> dict[str, Any]:
    """A step that uses the result of another."""
    return STEP | {"args": {"trip": {"$ref": name}}} | more


DOCUMENTS: dict[str, Any] = {
    "cycle": series(after("b"), after("a", step="b")),
    "forward": series(after("b"), STEP | {"step": "b"}),
    "itself": series(after("a")),
    "sibling": {"plan": "p", "body": {"parallel": [STEP, after("a", step="b")]}},
    "unknown-action": series(STEP | {"action": "fly"}),
    "unknown-agent": series(STEP | {"agent": "moon-agent"}),
    "unknown-undo": series(STEP | {"undo": "cancel_moon"}),
    "unknown-argument": series(STEP | {"args": {"trip": 1, "seat": 2}}),
    "missing-argument": series(STEP | {"args": {}}),
    "unknown-key": series(STEP | {"retries": 3}),
    "unknown-key-at-the-top": series(STEP, steps=[]),
    "unknown-kind": {"plan": "p", "body": {"loop": [STEP]}},
    "wrong-type": series(STEP | {"timeout": "10"}),
    "format-to-come": series(STEP, format=2),
    "two-pivots": series(PIVOT, PIVOT | {"step": "b"}),
    "no-way-back": series({name: value for name, value in STEP.items() if name != "undo"}),
    "name-twice": series(STEP, STEP),
    "reserved-name": series(STEP | {"step": "undo"}),
    "no-steps": series(),
    "no-body": {"plan": "p"},
    "no-object": [STEP],
}
TEXTS: dict[str, bytes] = {
    "doubled-key.json": b'{"plan":"p","plan":"q","body":{"series":[]}}',
    "too-deep.json": b'{"plan":"p","body":' + b'{"series":[' * 70 + b"]}" * 70 + b"}",
    "too-large.json": b'{"plan":"p","x":"' + b"x" * 2_000_000 + b'"}',
    "no-json.json": b"{plan: p}",
    "binary.json": bytes(range(256)),
    "too-large-an-input": b'{"who":"' + b"x" * 2_000_000 + b'"}',
    "far-too-large": b'"' + b"x" * 17_000_000 + b'"',
    "text.db": b"Dear diary,\n" * 1000,
    "cut.db": b"SQLite format 3\0" + bytes(50),
    "bad-trips": b'{"traveller":\n',
}


def make(folder: Path) -> None:
    """Fill a folder, which is the working directory, with all of it, and with stores good and bad."""
    shutil.copy(APP, folder / "app.py")
    (folder / "pkg").mkdir()
    (folder / "folder.py").mkdir()
    for name, text in APPS.items():
        (folder / name).write_text(text)
    for name, document in DOCUMENTS.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    for name, raw in TEXTS.items():
        (folder / name).write_bytes(raw)
    asyncio.run(_tasks())
    _altered(folder / "newer.db", "INSERT INTO migrations VALUES (99, '0099_later', 'x', 0)")
    _altered(folder / "altered.db", "UPDATE migrations SET checksum = 'x'")
    with closing(sqlite3.connect(folder / "foreign.db")) as db:
        db.execute("CREATE TABLE diary (day TEXT)")


async def _tasks() -> None:
    """One that is done, one undone, one parked; and one that waits, since nobody is up any more."""
    plan = load_plan("app.py:book_trip")
    async with Makegood(agents=list(load_app("app.py").agents.values())) as engine:
        for car, task_id in (("done", "completed"), ("refused", "undone"), ("lost", "parked")):
            await engine.submit_json(plan, b'{"who":"ann","car":"%s"}' % car.encode(), task_id=task_id)
        for task_id in ("completed", "undone", "parked"):
            await engine.task(task_id).wait(20)
    async with Makegood() as nobody_up:
        await nobody_up.submit_json(plan, b'{"who":"ann"}', task_id="waiting")


def _altered(path: Path, statement: str) -> None:
    shutil.copy(STORE, path)
    db = apsw.Connection(str(path))
    db.execute(statement)
    db.close()


@dataclass(frozen=True)
class Standing:
    """What must be as it was: all files, byte for byte, and in the store all heads and append rows.

    A plan is saved before a task that names it: its document may stay behind, like a word in a dictionary.
    """

    files: dict[str, bytes]
    heads: list[Any]
    rows: list[Any]


def standing(folder: Path) -> Standing:
    """How everything stands now."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(PASSING))
    db = apsw.Connection(str(folder / STORE))
    try:
        heads = list(db.execute("SELECT * FROM tasks ORDER BY id"))
        rows = list(db.execute("SELECT * FROM history ORDER BY id, version"))
    finally:
        db.close()
    kept = {str(path.relative_to(folder)): _content(path) for path in files if path.name != STORE}
    return Standing(kept, heads, rows)


def _content(path: Path) -> bytes:
    """What is in a file; of large ones, which no command could write by accident, no more than the start."""
    with path.open("rb") as file:
        return file.read(100_000)
