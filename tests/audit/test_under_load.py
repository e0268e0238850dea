"""An audit of a store that is written to all the while finds nothing that is not so."""

import asyncio
from collections.abc import Sequence

import pytest

from makegood import Makegood
from makegood.auditing import Audit
from makegood.core.events import PauseAsked
from makegood.desk import Desk
from makegood.store.protocol import Row
from makegood.store.sqlite import SqliteStore
from tests.audit import shop
from tests.audit.conftest import Place
from tests.cli.terminal import Shell

ORDERS = 150
KINDS: tuple[dict[str, str], ...] = (
    {},
    {"bank": "refused"},
    {"bank": "refused", "undo": "refused"},
    {"bank": "lost"},
)


async def order_all(mg: Makegood) -> set[str]:
    """Enter orders one after the other, and wait until all are at rest; answers how they ended."""
    tasks = []
    for number in range(ORDERS):
        order = shop.Order("pen", **KINDS[number % len(KINDS)])
        tasks.append(await mg.submit(shop.take_order, order))
        await asyncio.sleep(0.01)
    return set(await asyncio.gather(*(task.wait(60) for task in tasks)))


def test_nothing_false_is_found_while_an_engine_works(place: Place) -> None:
    async def audit_all_the_while() -> int:
        meanwhile = 0
        async with Makegood(place.url) as mg:
            ordering = asyncio.create_task(order_all(mg))
            while not ordering.done():
                report = await mg.audit(agents=shop.AGENTS)
                assert report.findings == []
                assert report.compared is not None
                meanwhile += len(report.compared.under_way)
                await asyncio.sleep(0.01)
            assert await ordering == {"Completed", "Compensated", "Failed"}
            report = await mg.audit(agents=shop.AGENTS)
            assert report.findings == []
            assert report.compared is not None
            assert (report.compared.under_way, report.compared.compared) == ([], 2 * report.audited)
        return meanwhile

    with Shell(place.folder).started("up", "shop.py") as engine:
        engine.wait_for_talk(" up as ")
        assert asyncio.run(audit_all_the_while()) > ORDERS / 10


class Interrupted(SqliteStore):
    """Others commit between the reading of a head and that of its rows."""

    others: Desk

    async def history(self, task_id: str, *, after: int = 0) -> Sequence[Row]:
        if task_id == "new":
            await self.others.act(task_id, PauseAsked("ann"))
        return await super().history(task_id, after=after)


@pytest.mark.parametrize("named", [(), ("new",)])
def test_a_commit_between_two_reads_is_no_row_that_was_added(place: Place, named: tuple[str, ...]) -> None:
    async def run() -> None:
        store = Interrupted(place.folder / "makegood.db")
        async with Makegood(place.url) as other:
            store.others = other._engine.desk
            await store.open()
            before = len(await SqliteStore.history(store, "new"))
            report = await Audit(store).run(named)
            assert len(await SqliteStore.history(store, "new")) == before + 1
            await store.close()
        assert report.findings == []

    asyncio.run(run())
