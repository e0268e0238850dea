"""The audit on a schedule: each new finding is a warning, once."""

import asyncio
import logging
from pathlib import Path

import pytest

from makegood import Makegood
from makegood.auditing.rounds import SHARED
from makegood.errors import MakegoodError
from tests.audit import shop
from tests.audit.conftest import Place
from tests.cli.terminal import Shell

ORPHAN = "WARNING audit: orphan: refused reserve: the record says it is undone, but list_stock of stock holds"
LOSS = "WARNING audit: loss: completed reserve: the record says it is in effect, but list_stock of stock"


def test_an_engine_audits_as_often_as_it_is_told(place: Place) -> None:
    goods: Path = shop.shelf("stock") / "refused-reserve"
    goods.write_text("pen")
    with Shell(place.folder).started("up", "shop.py", "--audit-every", "0.1") as engine:
        engine.wait_for_talk(ORPHAN)
        engine.wait_for_talk("INFO audit: 8 tasks, 1 finding\n")
        (shop.shelf("stock") / "completed-reserve").unlink()
        engine.wait_for_talk(LOSS)
        (shop.shelf("stock") / "completed-reserve").write_text("pen")
        goods.unlink()
        engine.wait_for_talk("INFO audit: clean, 8 tasks, 3 for a person")
        talk = engine.talk.read_text()
    assert (talk.count(ORPHAN), talk.count(LOSS)) == (1, 1)


def test_so_does_one_inside_a_program(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with Makegood(place.url, agents=shop.AGENTS, audit_every=0.05):
            async with asyncio.timeout(20):
                while "audit: record: completed: row 2 of 5 is missing" not in caplog.text:
                    await asyncio.sleep(0.01)

    place.sql("DELETE FROM history WHERE id = ? AND version = 2", place.number("completed"))
    with caplog.at_level(logging.INFO, "makegood.audit"):
        asyncio.run(run())


@pytest.mark.parametrize(("count", "more"), [(10, ""), (11, "1 more finding"), (300, "290 more findings")])
def test_what_another_store_holds_is_told_in_a_few_lines_with_a_likely_cause(
    place: Place, caplog: pytest.LogCaptureFixture, count: int, more: str
) -> None:
    def somebody_books(task_id: str) -> None:
        (shop.shelf("stock") / f"{task_id}-reserve").write_text("pen")

    def told_one_by_one() -> list[str]:
        return [said for said in caplog.messages if said.startswith("audit: orphan: theirs-")]

    async def run() -> None:
        async with Makegood(place.url, agents=shop.AGENTS, audit_every=0.05), asyncio.timeout(20):
            while f"audit: 8 tasks, {count + 1} findings" not in caplog.messages:
                await asyncio.sleep(0.01)
            assert len(told_one_by_one()) == 10
            somebody_books("theirs-late")
            while "audit: orphan: theirs-late" not in caplog.text:
                await asyncio.sleep(0.01)

    for number in range(count):
        somebody_books(f"theirs-{number}")
    (shop.shelf("bank") / "gone_1").touch()
    with caplog.at_level(logging.INFO, "makegood.audit"):
        asyncio.run(run())
    assert len(told_one_by_one()) == 11
    assert caplog.text.count("audit: orphan: gone: list_bank of bank holds") == 1
    rest = [said for said in caplog.messages if said.startswith("audit: list_stock of stock: ")]
    cause = f"audit: list_stock of stock: {SHARED}"
    told = f"audit: list_stock of stock: {more}; `makegood audit --with APP` shows them all"
    assert rest == ([told, cause] if more else [cause])  # with the late one there are eleven of them
    assert "so another store may use this service" in cause


def test_a_schedule_is_a_length_of_time(place: Place) -> None:
    said = Shell(place.folder).run("up", "shop.py", "--audit-every", "0")
    assert said.code == 2
    assert "--audit-every" in said.err
    with pytest.raises(MakegoodError, match="an audit every 0 s cannot be"):
        Makegood(place.url, audit_every=0)
