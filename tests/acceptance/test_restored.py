"""A backup is put back: what had been done since is found, and done no second time."""

import asyncio
import shutil
from asyncio import wait_for
from pathlib import Path

import pytest

from makegood import NOT_THERE, Agent, Makegood, MakegoodError, NotThere, call, plan, step

SHOPS = ("keyed", "probed", "neither")


class Ledger:
    """What three services did: one that knows keys, one that can be asked, and one that can do neither."""

    def __init__(self) -> None:
        self.done: dict[str, list[str]] = {shop: [] for shop in SHOPS}
        self.undone: list[str] = []

    def do(self, shop: str, key: str) -> str:
        if shop == "neither" or key not in self.done[shop]:
            self.done[shop].append(key)
        return f"{shop}-{len(self.done[shop])}"


ledger = Ledger()
keyed = Agent("keyed", timeout=5, settle=0.2, keyed=True)
probed = Agent("probed", timeout=5, settle=0.2)
neither = Agent("neither", timeout=5, settle=0.2)


async def undo(result: str | None) -> None:
    ledger.undone.append(f"{call().step} {result}")


@keyed.action(undo=undo)
async def order() -> str:
    return ledger.do("keyed", call().key)


async def find_hire() -> str | NotThere:
    return "probed-1" if ledger.done["probed"] else NOT_THERE


@probed.action(undo=undo, probe=find_hire)
async def hire() -> str:
    return ledger.do("probed", f"{call().task_id}")


@neither.action(undo=undo)
async def phone() -> str:
    return ledger.do("neither", "")


@plan
def errands() -> str:
    step(order)
    step(hire)
    return step(phone)


def put_back(backup: Path, store: Path) -> None:
    """As a person does it: the old files away, the copy in their place."""
    for file in store.parent.glob(f"{store.name}*"):
        file.unlink()
    shutil.copy(backup, store)


AGENTS = [keyed, probed, neither]


async def submitted(store: Path, task_id: str, backup: Path) -> None:
    """A task is entered, and then the store is backed up."""
    async with Makegood(f"sqlite:///{store}") as client:
        await client.submit(errands, task_id=task_id)
    shutil.copy(store, backup)


def test_what_was_done_after_the_backup_is_not_done_again(tmp_path: Path) -> None:
    store, backup = tmp_path / "tasks.db", tmp_path / "backup.db"

    async def work() -> None:
        await submitted(store, "t", backup)
        async with Makegood(f"sqlite:///{store}", AGENTS) as makegood:
            assert await makegood.task("t").result(20) == "neither-1"
            with pytest.raises(MakegoodError, match="processes are alive on this store"):
                await makegood.restored()
        put_back(backup, store)
        async with Makegood(f"sqlite:///{store}") as client:
            assert await client.restored(by="ann", why="the disk died") == 1
        async with Makegood(f"sqlite:///{store}", AGENTS) as makegood:
            task = makegood.task("t")
            assert await task.wait(30) == "Failed"
            assert {shop: len(done) for shop, done in ledger.done.items()} == dict.fromkeys(SHOPS, 1)
            assert "phone" in await task.why()
            await task.resolve("phone", "done", b'"neither-1"')
            assert await task.result(20) == "neither-1"
            told = [fact for fact in await task.history() if fact["fact"] == "Restored"]
            assert [(fact["who"], fact["why"]) for fact in told] == [("ann", "the disk died")]
        assert {shop: len(done) for shop, done in ledger.done.items()} == dict.fromkeys(SHOPS, 1)

    asyncio.run(wait_for(work(), 90))


def test_a_task_cancelled_after_the_restore_undoes_what_the_backup_does_not_know(tmp_path: Path) -> None:
    store, backup = tmp_path / "tasks.db", tmp_path / "backup.db"

    async def work() -> None:
        await submitted(store, "c", backup)
        async with Makegood(f"sqlite:///{store}", AGENTS) as makegood:
            await makegood.task("c").result(20)
        put_back(backup, store)
        async with Makegood(f"sqlite:///{store}") as client:
            await client.restored(by="ann", why="the disk died")
            await client.task("c").cancel(by="ann")
        ledger.undone.clear()
        async with Makegood(f"sqlite:///{store}", AGENTS) as makegood:
            task = makegood.task("c")
            assert await task.wait(30) == "Failed"  # nobody but a person can tell of the call by phone
            assert ledger.undone == []
            await task.resolve("phone", "done", b'"neither-2"')
            assert await task.wait(30) == "Failed"  # nor whether it was called off since
            await task.resolve("phone", "undone", why="called it off")
            assert await task.wait(30) == "Compensated"
        assert ledger.undone == ["hire probed-1", "order None"]

    asyncio.run(wait_for(work(), 90))
