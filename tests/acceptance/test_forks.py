"""A fork of an engine does not go on as a second one."""

from collections import Counter
from pathlib import Path

import pytest

from tests.acceptance.yard import SECONDS_MAX, Yard, until

APP = "tests.acceptance.forking"
CAME_BACK = "a fork made by code of an app came back into the event loop of its parent, and ends here"
EMBEDDED = """
import asyncio, sys
from makegood import Makegood
from tests.acceptance.forking import notifying, paying, shops

async def main():
    async with Makegood(sys.argv[1], [shops]) as makegood:
        tasks = [await makegood.submit(paying, "one"), await makegood.submit(notifying, "two")]
        for task in tasks:
            await task.wait()

asyncio.run(main())
"""


@pytest.fixture
def paid(yard: Yard) -> Path:
    return yard.folder / "paid"


def children(pid: int) -> list[int]:
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in lists for child in each.read_text().split()]


def living(pids: list[int]) -> list[int]:
    """Without those that have ended, and that nobody waited for."""
    return [pid for pid in pids if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"]


@pytest.mark.parametrize("life", ["returns", "exits", "raises", "waits"])
def test_one_that_comes_back_ends_there(yard: Yard, paid: Path, life: str) -> None:
    engine = yard.engine(APP, given={"LIFE": life, "PAID": f"{paid}"})
    yard.cli("submit", f"{APP}:paying", '"one"', "--id", "paying")
    yard.cli("submit", f"{APP}:notifying", '"two"', "--id", "notifying")
    until(lambda: yard.states().get("paying") == "Completed", "paid")
    engine.wait_for(CAME_BACK)
    engine.terminate()
    assert engine.process.wait(SECONDS_MAX) == 0
    assert paid.read_text() == "one\n"


@pytest.mark.parametrize("plan", ["forking", "threading"])
def test_one_that_comes_back_into_a_thread_makes_no_call(yard: Yard, paid: Path, plan: str) -> None:
    """But may take its own to the end: what it shares with its parent goes on."""
    orders = [f"{number}" for number in range(40)]
    if plan == "threading":
        orders[20] = "fork"
    (yard.folder / "orders").write_text("".join(f'{{"input": "{order}"}}\n' for order in orders))
    engine = yard.engine(APP, given={"PAID": f"{paid}"})
    yard.cli("submit", f"{APP}:{plan}", "--many", "orders")
    until(lambda: [*yard.states().values()] == ["Completed"] * len(orders), "all")
    until(lambda: not living(children(engine.pid)), "that none of them stays")
    made = Counter(paid.read_text().split())
    assert {order for order, times in made.items() if times > 1} <= {"fork"}
    assert made.keys() == set(orders)


def test_so_it_is_in_a_program_of_ones_own(yard: Yard, paid: Path) -> None:
    (yard.folder / "program.py").write_text(EMBEDDED)
    program = yard.start("program", yard.store_url, given={"LIFE": "returns", "PAID": f"{paid}"})
    assert program.ended() == 0
    assert CAME_BACK in program.talk
    assert paid.read_text() == "one\n"
