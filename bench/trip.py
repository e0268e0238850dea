"""The three-step task on SQLite, durable, through the whole engine; beside it the raw loop of the same rows.

    python -m bench [--tasks N] [--runs N]

Actions do nothing, so that what is measured is makegood: every transition is committed before the next call.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.raw_loop import raw_tasks_per_second
from makegood import Agent, Makegood, call, plan, step
from makegood.store.protocol import Answer, Change
from makegood.store.sqlite import SqliteStore

noop = Agent("noop-agent", timeout=10, keyed=True)


async def undo(done: dict[str, str] | None) -> None: ...


@noop.action(undo=undo)
async def act(what: str) -> dict[str, str]:
    return {"confirmation": call().key, "what": what}


@plan
def three_steps(what: str) -> None:
    first = step.options(name="first")(act, what)
    second = step.options(name="second")(act, first["what"])
    step.options(name="third")(act, second["what"])


class Run(NamedTuple):
    """One measured run."""

    tasks_per_second: float
    p50_ms: float
    group: float
    head_bytes: float
    row_bytes: float


class Measured(SqliteStore):
    """The store, counting what goes through it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.groups: list[int] = []
        self.heads = self.rows = 0

    async def commit(self, changes: Sequence[Change]) -> Sequence[Answer]:
        self.groups.append(len(changes))
        self.heads += sum(len(change.head) for change in changes)
        self.rows += sum(len(change.row) for change in changes)
        return await super().commit(changes)


async def run_engine(path: Path, *, tasks: int, in_flight: int) -> Run:
    """Submit and finish `tasks` tasks, `in_flight` at a time."""
    store, took = Measured(path), []
    numbers = iter(range(tasks))
    async with Makegood(store, agents=[noop]) as makegood:

        async def submitter() -> None:
            for number in numbers:
                began = time.perf_counter()
                task = await makegood.submit(three_steps, "anna", task_id=f"t-{number:09d}")
                await task.wait()
                took.append(time.perf_counter() - began)

        began = time.perf_counter()
        await asyncio.gather(*(submitter() for _ in range(in_flight)))
        seconds = time.perf_counter() - began
    changes = sum(store.groups)
    return Run(
        tasks / seconds,
        statistics.median(took) * 1000,
        statistics.median(store.groups),
        store.heads / changes,
        store.rows / changes,
    )


def compare(tasks: int, in_flight: int, runs: int) -> None:
    """Print the medians of some runs of the engine, each beside a raw loop of its own batches and sizes."""
    engine: list[Run] = []
    ratios: list[float] = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            run = asyncio.run(run_engine(Path(folder) / "engine.db", tasks=tasks, in_flight=in_flight))
            raw = raw_tasks_per_second(
                Path(folder) / "raw.db",
                tasks=tasks,
                steps=3,
                batch=max(1, round(run.group)),
                head_bytes=round(run.head_bytes),
                row_bytes=round(run.row_bytes),
            )
        engine.append(run)
        ratios.append(run.tasks_per_second / raw)
    speed = statistics.median(run.tasks_per_second for run in engine)
    p50 = statistics.median(run.p50_ms for run in engine)
    per_step = statistics.median((run.head_bytes + run.row_bytes) * 4 / 3 for run in engine)
    print(
        f"{in_flight:5d} in flight: {speed:7.0f} tasks/s, p50 {p50:7.2f} ms, "
        f"{statistics.median(ratios):.2f} of the raw loop (batches of {engine[0].group:.0f}, "
        f"{per_step:.0f} bytes a step)"
    )
