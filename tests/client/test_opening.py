"""A Makegood that was closed may be opened again; one that is open may not."""

import asyncio
from pathlib import Path

import pytest

from makegood import Makegood, MakegoodError
from tests.client.sample import Order, lamps, light, run


def test_opened_again_it_drives_what_there_is_and_its_handles_go_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/tasks.db"

    async def work() -> None:
        makegood = Makegood(url, [lamps])
        before = makegood.task("left")
        async with makegood:
            [first] = await makegood.members()
            done = await makegood.submit(light, Order("ann"))
            await done.result(5)
        async with Makegood(url) as client:
            await client.submit(light, Order("bob"), task_id="left")
        async with makegood:
            assert await before.result(5) == "lamp for bob"
            assert await done.result(5) == "lamp for ann"
            assert await (await makegood.submit(light, Order("eve"))).result(5) == "lamp for eve"
            [again] = await makegood.members()
            assert again.member_id != first.member_id

    run(work)


def test_one_that_is_open_is_not_opened_and_stays_open(tmp_path: Path) -> None:
    async def work() -> None:
        makegood = Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps])
        opened = await asyncio.gather(*[makegood.__aenter__() for _ in range(2)], return_exceptions=True)
        assert opened[0] is makegood
        assert "is open already, or not closed yet; close it first" in str(opened[1])
        with pytest.raises(MakegoodError, match="is open already"):
            await makegood.__aenter__()
        assert await (await makegood.submit(light, Order("ann"))).result(5) == "lamp for ann"
        await makegood.__aexit__(None, None, None)

    run(work)


def test_one_whose_closing_was_cut_off_is_closed_again_before_it_is_opened(tmp_path: Path) -> None:
    async def work() -> None:
        makegood = Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps])
        await makegood.__aenter__()
        closing = asyncio.create_task(makegood.__aexit__(None, None, None))
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        assert closing.cancelled()
        with pytest.raises(MakegoodError, match="or not closed yet; close it first"):
            await makegood.__aenter__()
        await makegood.__aexit__(None, None, None)
        async with makegood:
            assert await (await makegood.submit(light, Order("ann"))).result(5) == "lamp for ann"

    run(work)
