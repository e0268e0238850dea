"""An engine told to end ends: what is not sent costs nothing, what runs gets a grace, the rest is unknown."""

import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

from makegood import Makegood, PlanDefinition
from makegood.core.events import Reply, Reported
from tests.acceptance import slow
from tests.acceptance.yard import Yard, until

GRACE_SECONDS = 10
A_LITTLE = 4
"""Seconds for what a busy machine does beside."""
THREADS = 64


def submit(yard: Yard, plan: PlanDefinition[float, str], seconds: float, *task_ids: str) -> None:
    async def submitted(makegood: Makegood) -> None:
        for task_id in task_ids:
            await makegood.submit(plan, seconds, task_id=task_id)

    yard.ask(submitted)


def replies(yard: Yard, task_id: str) -> list[Reply]:
    return [fact.reply for row in yard.rows(task_id) for fact in row.facts if isinstance(fact, Reported)]


def test_what_was_not_sent_costs_nothing(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    more = 10
    submit(yard, slow.slowly, 4, *[f"task-{number}" for number in range(THREADS + more)])
    until(lambda: len(yard.ledger.visits("BEGUN")) == THREADS, "a call under way in every thread")
    engine.terminate()
    assert engine.ended() == 0
    waiting = [task_id for task_id, state in yard.states().items() if state == "Running"]
    assert len(waiting) == more
    assert len(yard.ledger.visits("BEGUN")) == THREADS
    yard.engine("tests.acceptance.slow")
    states = yard.all_at_rest(THREADS + more)
    assert set(states.values()) == {"Completed"}
    assert {yard.step(task_id, "book_slowly")["retryCount"] for task_id in waiting} == {0}
    assert len(yard.ledger.visits("BEGUN")) == THREADS + more
    assert yard.ledger.wrong(states, steps=1) == []


def test_running_calls_get_their_grace_and_those_cut_are_unknown(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    submit(yard, slow.lingering, 4, "in-time")
    submit(yard, slow.lingering, 45, "cut")
    submit(yard, slow.lingering_in_thread, 45, "cut-thread")
    until(lambda: len(yard.ledger.visits()) == 3, "all three calls under way")
    engine.terminate()
    asked = monotonic()
    assert engine.ended() == 0
    assert GRACE_SECONDS - 1 < monotonic() - asked < GRACE_SECONDS + A_LITTLE
    assert yard.states() == {"in-time": "Completed", "cut": "Running", "cut-thread": "Running"}
    assert replies(yard, "cut") == replies(yard, "cut-thread") == [Reply.UNKNOWN]
    assert yard.ask(lambda makegood: makegood.members()) == []


def test_a_second_signal_leaves_at_once(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    submit(yard, slow.lingering, 45, "task")
    until(lambda: yard.ledger.visits(), "the call under way")
    engine.terminate()
    sleep(1)
    assert engine.process.poll() is None
    engine.terminate()
    asked = monotonic()
    assert engine.ended() != 0
    assert monotonic() - asked < A_LITTLE / 2


def test_a_locked_store_does_not_hold_up_the_end(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    submit(yard, slow.lingering, 1, "task")
    until(lambda: yard.ledger.visits(), "the call under way")
    with closing(sqlite3.connect(yard.folder / "tasks.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        sleep(1.5)  # the call has ended meanwhile, and its report cannot be written
        engine.terminate()
        asked = monotonic()
        assert engine.ended() == 0
        assert monotonic() - asked < GRACE_SECONDS + A_LITTLE
        other.execute("ROLLBACK")
    yard.engine("tests.acceptance.slow")
    states = yard.all_at_rest(1)
    assert states == {"task": "Completed"}
    assert yard.ledger.wrong(states, steps=1) == []


def test_an_engine_whose_store_is_gone_ends_itself(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    Path(f"{yard.store_url.removeprefix('sqlite:///')}-shm").unlink()
    assert engine.ended() == 1
    assert "was deleted, replaced or cut while open" in engine.talk


def test_an_engine_that_waits_for_a_locked_store_can_be_ended(yard: Yard) -> None:
    yard.engine("tests.acceptance.slow").kill()
    with closing(sqlite3.connect(yard.folder / "tasks.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        engine = yard.start("makegood", "up", "tests.acceptance.slow", "--store", yard.store_url)
        until(lambda: engine.catches(signal.SIGTERM), "it listens")
        sleep(1)
        engine.terminate()
        asked = monotonic()
        assert engine.ended() == 0
        assert monotonic() - asked < A_LITTLE
        assert " up as " not in engine.talk


def test_a_store_that_is_locked_for_a_while_costs_nothing_but_time(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    submit(yard, slow.lingering, 0.5, *[f"task-{number}" for number in range(5)])
    until(lambda: len(yard.ledger.visits()) == 5, "the calls under way")
    held = threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(yard.folder / "tasks.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            held.set()
            sleep(3)
            other.execute("ROLLBACK")

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(5)
    finally:
        holder.join()
    states = yard.all_at_rest(5)
    assert set(states.values()) == {"Completed"}
    assert len(yard.ledger.visits()) == 5
    assert engine.process.poll() is None
