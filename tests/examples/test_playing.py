"""The examples as a user runs them: played, killed in the middle and started again, rehearsed."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from examples.staging import ledger, store
from makegood import Makegood
from makegood.client import Where

EXAMPLES = Path(__file__).parents[2] / "examples"
PLANS = {
    "order_fulfilment": "fulfil",
    "onboarding": "welcome",
    "provisioning": "provision",
    "payments": "sell",
}
ENDS = {
    "order_fulfilment": ["Completed", "Compensated", "Compensated", "Completed"],
    "onboarding": ["Completed", "Compensated", "Completed", "Completed"],
    "provisioning": ["Completed", "Completed", "Compensated"],
    "payments": ["Completed", "Completed", "Compensated", "Compensated", "Completed", "Compensated"],
}
ALL = pytest.mark.parametrize("name", list(PLANS))
LINES_MAX = 140
KILLED_AT, KILLED_BY = 4, 30.0
"""At so many entries in the ledger, or seconds."""


def command(name: str, folder: Path) -> list[str]:
    return [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), str(folder)]


def played(name: str, folder: Path) -> str:
    """What an example says that goes well."""
    run = subprocess.run(command(name, folder), capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "The services' ledger agrees." in run.stdout
    return run.stdout


def ends(said: str) -> list[str]:
    """The states of its tasks, in order."""
    words = [line.split() for line in said.splitlines() if not line.startswith(" ")]
    return [line[1] for line in words if len(line) > 1 and line[1] in ("Completed", "Compensated")]


def entries(folder: Path) -> int:
    if not ledger(folder).exists():
        return 0
    with closing(sqlite3.connect(ledger(folder))) as db:
        there = db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
        return int(db.execute("SELECT count(*) FROM entries").fetchone()[0]) if there else 0


async def unfinished(folder: Path) -> int:
    async with Makegood(store(folder)) as makegood:
        return len((await makegood.list(Where(states=("Running", "Compensating")))).tasks)


@ALL
def test_it_is_played_to_the_ends_it_tells_of(name: str, tmp_path: Path) -> None:
    assert ends(played(name, tmp_path)) == ENDS[name]


@ALL
def test_killed_in_the_middle_it_is_finished_by_a_second_start(name: str, tmp_path: Path) -> None:
    with subprocess.Popen(command(name, tmp_path), stdout=subprocess.DEVNULL) as process:
        give_up = time.monotonic() + KILLED_BY
        while entries(tmp_path) < KILLED_AT and time.monotonic() < give_up:
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert asyncio.run(unfinished(tmp_path)) > 0, "killed too late: nothing was left to do"
    assert ends(played(name, tmp_path)) == ENDS[name]


@ALL
def test_its_plan_passes_the_rehearsal(name: str, tmp_path: Path) -> None:
    spec = f"{EXAMPLES / name}.py:{PLANS[name]}"
    rehearsal = [sys.executable, "-m", "makegood", "rehearse", spec]
    run = subprocess.run(rehearsal, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "broken promises: 0" in run.stdout


@ALL
def test_it_stays_short(name: str) -> None:
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= LINES_MAX


def test_a_ledger_that_says_otherwise_is_told_of(tmp_path: Path) -> None:
    played("provisioning", tmp_path)
    with closing(sqlite3.connect(ledger(tmp_path))) as db, db:
        db.execute("UPDATE entries SET withdrawn = NULL WHERE reference = 'red/instance_1'")
    again = subprocess.run(command("provisioning", tmp_path), capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "'red/instance_1': 1" in again.stdout
