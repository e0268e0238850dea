"""An agent claims no more than it has room for, and looks for what it passed by as soon as there is room."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

from makegood import Agent, Makegood, call, plan, step

slow = Agent("slow", timeout=0.8, keyed=True)
together: list[int] = []
seen: list[str] = []
guard = threading.Lock()


@slow.action(undo=None)
def work(name: str) -> None:
    """A call that holds a thread for a while."""
    with guard:
        seen.append(call().key)
        together.append(together[-1] + 1 if together else 1)
    time.sleep(0.25)
    with guard:
        together.append(together[-1] - 1)


@plan
def one_call(name: str) -> None:
    step(work, name)


def test_more_sync_calls_than_threads_wait_their_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """12 calls of 0.25 s on 2 threads: claimed at once, most would have come too late to be sent."""
    monkeypatch.setattr("makegood.agents.runner.THREADS_MAX", 2)
    together.clear()
    seen.clear()

    async def main() -> list[dict[str, object]]:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}", agents=[slow]) as makegood:
            tasks = [await makegood.submit(one_call, "ann", task_id=f"t-{n}") for n in range(12)]
            await asyncio.gather(*(task.wait(30) for task in tasks))
            return [await task.record() for task in tasks]

    records = asyncio.run(main())
    assert [record["state"] for record in records] == ["Completed"] * 12
    assert [record["steps"][0]["retryCount"] for record in records] == [0] * 12  # type: ignore[index]  # JSON
    assert sorted(seen) == sorted(f"t-{n}-work" for n in range(12))
    assert max(together) == 2


def test_a_free_slot_is_not_left_waiting_for_the_next_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One slot, rounds an hour apart: only the freed slot itself can bring the next call."""
    monkeypatch.setattr("makegood.agents.runner.CALLS_MAX", 1)
    monkeypatch.setattr(
        "makegood.agents.runner.Runner.__init__.__kwdefaults__", {"period": 3600, "stuck": None}
    )
    seen.clear()

    async def main() -> None:
        async with Makegood(f"sqlite:///{tmp_path / 'tasks.db'}", agents=[slow]) as makegood:
            tasks = [await makegood.submit(one_call, "ann", task_id=f"t-{n}") for n in range(4)]
            await asyncio.gather(*(task.wait(20) for task in tasks))

    asyncio.run(main())
    assert len(seen) == 4
