"""Actions that nobody can stop: threads past their time, and coroutines that block the loop."""

from time import monotonic, sleep

from makegood import Makegood
from makegood.core.events import LeaseRenewed
from makegood.runtime.ending import EXIT_STUCK
from tests.acceptance import slow
from tests.acceptance.yard import Yard, until

GRACE_SECONDS = 10
SETTLE_SECONDS = 0.5


def test_a_sync_action_runs_in_a_thread_with_its_own_call(yard: Yard) -> None:
    yard.engine("tests.acceptance.slow")

    async def submit(makegood: Makegood) -> None:
        for number in range(20):
            await makegood.submit(slow.slowly, 0.5, task_id=f"task-{number}")

    yard.ask(submit)
    until(lambda: yard.ledger.bookings(), "the first booking")
    began = monotonic()
    yard.all_at_rest(20)
    assert monotonic() - began < 5, "they ran one after the other"
    keys = {booking.key for booking in yard.ledger.bookings()}
    assert keys == {f"task-{number}-book_slowly" for number in range(20)}


def test_a_thread_past_its_time_ends_its_process_and_its_call_is_waited_out(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    yard.ask(lambda makegood: makegood.submit(slow.hanging, 600, task_id="task"))
    engine.wait_for("task hang_once (do, call 1): it is past its timeout and cannot be stopped")
    assert "hang_once" in yard.why("task")
    engine.wait_for("this process ends itself", within=5)
    assert engine.process.wait(GRACE_SECONDS + 5) == EXIT_STUCK
    died = monotonic()
    rows = yard.rows("task")
    assert any(isinstance(fact, LeaseRenewed) and fact.overrun for row in rows for fact in row.facts)

    yard.engine("tests.acceptance.slow")
    until(lambda: yard.step("task", "hang_once").get("waiting", {}).get("for") == "waitOut", "waiting out")
    assert yard.all_at_rest(1) == {"task": "Completed"}
    assert yard.ledger.wrong({"task": "Completed"}, steps=1) == []
    [asked] = yard.ledger.visits("PROBE")
    called = yard.ledger.visits()[-1]
    assert died + SETTLE_SECONDS < asked.at < called.at


def test_an_action_that_blocks_the_loop_is_named_within_about_a_second(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.slow")
    yard.ask(lambda makegood: makegood.submit(slow.blocking, 4, task_id="task"))
    until(lambda: yard.ledger.visits(), "the blocking call", look_every=0.01)
    engine.wait_for("the event loop is blocked, by block_the_loop at ", within=2.5)
    assert "/slow.py:" in engine.talk
    assert yard.all_at_rest(1) == {"task": "Completed"}
    assert len(yard.ledger.visits()) == 1
    sleep(1.5)
    assert engine.talk.count("is blocked") == 1, "once it is free again, nothing more is said"
