"""A store with tasks of every end, made once by the real engine; each test works on a copy of its own."""

import asyncio
import json
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from makegood import Makegood, Task
from makegood.auditing import Report
from tests.audit import shop
from tests.cli.terminal import Said, Shell

APP = Path(shop.__file__)
ENDS = {
    "completed": "completed",
    "skipped": "completed",
    "refused": "undone",
    "accepted": "accepted",
    "left": "parked",
    "doubt": "parked",
    "stuck": "parked",
    "new": "underWay",
}


async def make_everything(url: str) -> None:
    async with Makegood(url) as nobody_up:
        task = await nobody_up.submit(shop.take_order, shop.Order("pen"), task_id="skipped")
        await task.skip("send_letter", by="ann", why="told by phone")
    async with Makegood(url, agents=shop.AGENTS) as mg:
        await _ends(mg)
    async with Makegood(url) as nobody_up:
        await nobody_up.submit(shop.take_order, shop.Order("pen"), task_id="new")


async def _ends(mg: Makegood) -> None:
    async def order(task_id: str, **how: str) -> Task[str]:
        task = await mg.submit(shop.take_order, shop.Order("pen", **how), task_id=task_id)
        await task.wait(30)
        return task

    await mg.task("skipped").wait(30)
    tasks = await asyncio.gather(
        order("completed"),
        order("refused", bank="refused"),
        order("accepted", bank="refused", undo="refused"),
        order("left", bank="refused", undo="refused"),
        order("stuck", bank="refused", undo="refused"),
        order("doubt", bank="lost"),
    )
    await tasks[2].resolve("reserve", "kept", by="ann", why="a gift")
    await tasks[3].resolve("reserve", "left", by="bob", why="later")
    assert await tasks[2].wait(30) == "Compensated"


@dataclass(frozen=True)
class Place:
    """A copy of the store, the services' folders, and a shell that works on both."""

    folder: Path

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder / 'makegood.db'}"

    def sql(self, query: str, *values: Any) -> list[Any]:
        """What somebody does to the file behind makegood's back."""
        with sqlite3.connect(self.folder / "makegood.db") as db:
            found = db.execute(query, values).fetchall()
        db.close()
        return found

    def plan_version(self, task_id: str) -> str:
        """The hash of the plan that a task is pinned to."""
        [(version,)] = self.sql("SELECT plan_version FROM tasks WHERE task_id = ?", task_id)
        return str(version)

    def number(self, task_id: str) -> int:
        [(number,)] = self.sql("SELECT id FROM tasks WHERE task_id = ?", task_id)
        return int(number)

    def run(self, *arguments: str) -> Said:
        return Shell(self.folder).run("audit", *arguments, SHOP=str(self.folder))

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        said = self.run("--json", *arguments)
        return said.code, json.loads(said.out)

    def audit(self, *task_ids: str, **how: Any) -> Report:
        async def run() -> Report:
            async with Makegood(self.url) as mg:
                return await mg.audit(*task_ids, **how)

        return asyncio.run(run())


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit")
    shutil.copy(APP, folder / "shop.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOP", str(folder))
        asyncio.run(make_everything(f"sqlite:///{folder / 'makegood.db'}"))
    return folder


@pytest.fixture
def place(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    folder = tmp_path / "place"
    shutil.copytree(original, folder)
    monkeypatch.setenv("SHOP", str(folder))
    return Place(folder)
