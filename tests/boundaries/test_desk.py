"""The desk keeps what it is told: facts are not lost, not doubled, and nobody is told what is not so."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from makegood.commit import RETRY_FIRST
from makegood.core.draft import Draft
from makegood.core.events import (
    Act,
    CancelAsked,
    Claimed,
    EvidenceFiled,
    Fact,
    PauseAsked,
    Reply,
    Reported,
    ResumeAsked,
    TaskSubmitted,
    decode_row,
)
from makegood.core.record import OFFERED, Kind
from makegood.desk import Desk
from makegood.errors import StoreError, StoreUnavailable, StoreUncertain
from makegood.rooms import Entry
from makegood.scheduler.scheduler import Scheduler
from makegood.store.memory import MemoryFile, MemoryStore
from makegood.testing.faulty import FaultyStore, StoreFault
from makegood.testing.shorthand import KEYED, series, step
from makegood.testing.virtual import VirtualClock, run
from makegood.tray import DECISIONS_MAX, Posted
from tests.core.plans import plan_of

PLAN = plan_of(series(step("a", KEYED), step("b", KEYED)), "two")
SHORT = plan_of(series(step("a", KEYED)), "one")


class Office:
    """A desk on a store in memory, whose next operations with a name in `faults` are struck."""

    def __init__(self, file: MemoryFile, name: str) -> None:
        self.faults: dict[str, list[StoreFault | None]] = {}
        clock = VirtualClock()
        self.store = FaultyStore(
            MemoryStore(file, clock=clock),
            clock,
            strikes=self._strikes,
            kill=self._never,
            freeze=self._never,
            committed=lambda change: None,
        )
        self.desk = Desk(self.store, clock, name, random_bits=Random(name).getrandbits)

    def _strikes(self, verb: str) -> StoreFault | None:
        waiting = self.faults.get(verb)
        return waiting.pop(0) if waiting else None

    def _never(self) -> None:
        raise AssertionError("nobody dies here")

    async def open(self) -> asyncio.Task[None]:
        await self.store.open()
        await self.store.now()
        return asyncio.create_task(self.desk.run())

    async def submit(self, task_id: str) -> bool:
        await self.store.save_plan(PLAN.version, PLAN.name, b"")
        return await self.desk.submit(PLAN, task_id, TaskSubmitted(msgspec.Raw(b"{}")))

    async def facts(self, task_id: str) -> list[Fact]:
        return [fact for row in await self.store.history(task_id) for fact in decode_row(row.body).facts]


def closed_while(*faults: StoreFault) -> BaseException | bool:
    """What a submission says that is under way when its desk ends, at a store so struck."""

    async def main() -> BaseException | bool:
        office = Office(MemoryFile(), "ours")
        office.desk.shelf.add_plan(PLAN)
        flushing = await office.open()
        office.faults["commit"] = list(faults)
        submitting = asyncio.create_task(office.submit("t"))
        await asyncio.sleep(1)
        flushing.cancel()
        await asyncio.sleep(0)
        office.desk.close()
        [said] = await asyncio.gather(submitting, return_exceptions=True)
        return said

    return run(main())


def in_virtual_time(main: Callable[[Office, Office], Coroutine[Any, Any, None]]) -> None:
    """Run a test with two desks on one file; a rival has a scheduler beside it."""

    async def opened() -> None:
        file = MemoryFile()
        ours, rival = Office(file, "ours"), Office(file, "rival")
        rival.desk.rooms.deciding = [Scheduler(rival.desk)]
        for office in (ours, rival):
            office.desk.shelf.add_plan(PLAN)
        flushing = [await ours.open(), await rival.open()]
        await main(ours, rival)
        assert not any(task.done() for task in flushing)

    run(opened())


@pytest.mark.parametrize("fault", [StoreFault.REQUEST_LOST, StoreFault.ANSWER_LOST])
def test_a_submission_whose_answer_was_lost_is_made_in_the_end(fault: StoreFault) -> None:
    async def main(ours: Office, rival: Office) -> None:
        ours.faults["commit"] = [fault]
        assert await ours.submit("t")
        assert [type(fact) for fact in await ours.facts("t")].count(TaskSubmitted) == 1

    in_virtual_time(main)


def test_fifty_submissions_at_once_are_one_task_and_all_durable() -> None:
    async def main(ours: Office, rival: Office) -> None:
        async def submits(office: Office) -> bool:
            news = await office.submit("t")
            assert (await office.store.load(["t"]))[0] is not None, "answered before it was durable"
            return news

        answers = await asyncio.gather(*(submits(office) for office in (ours, rival) for _ in range(25)))
        assert sorted(answers) == [False] * 49 + [True]

    in_virtual_time(main)


def test_all_submissions_at_once_hear_that_the_store_was_away_and_may_come_again() -> None:
    async def main(ours: Office, rival: Office) -> None:
        ours.faults["commit"] = [StoreFault.UNAVAILABLE]
        answers = await asyncio.gather(*(ours.submit("t") for _ in range(3)), return_exceptions=True)
        assert all(isinstance(answer, StoreError) for answer in answers)
        assert await ours.submit("t")

    in_virtual_time(main)


def test_a_submission_of_a_taken_id_swallows_no_report_of_that_task() -> None:
    """The report is of a step that the plan of the submission does not have."""

    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        assert await rival.desk.act("t", Reported(0, 1, Kind.DO, Reply.DONE))
        assert await rival.desk.act("t", Claimed(1, 2, "rival"))
        ours.desk.post("t", Reported(1, 2, Kind.DO, Reply.DONE))
        assert not await ours.desk.submit(SHORT, "t", TaskSubmitted(msgspec.Raw(b"{}")))
        await ours.desk.settle(5)
        assert [type(fact) for fact in await ours.facts("t")].count(Reported) == 2

    in_virtual_time(main)


def test_a_submission_that_is_given_up_takes_no_report_with_it() -> None:
    """Its poster leaves while the desk reads; a report of the task that has the id is in the same batch."""

    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        ours.desk.shelf.forget("t")
        ours.desk.look("elsewhere")  # which must be read
        ours.desk.post("t", Reported(0, 1, Kind.DO, Reply.DONE))
        submission = asyncio.ensure_future(ours.desk.submit(PLAN, "t", TaskSubmitted(msgspec.Raw(b"{}"))))
        for _ in range(4):
            await asyncio.sleep(0)
        assert ours.desk._flushing
        submission.cancel()
        await ours.desk.settle(5)
        assert Reported in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


def test_a_report_is_kept_though_its_task_is_found_out_of_date_while_the_desk_reads() -> None:
    """The rounds find a newer head in the store while another task of the same batch is read."""

    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        [found] = await rival.store.load(["t"])
        ours.desk.look("elsewhere")  # which must be read
        ours.desk.post("t", Reported(0, 1, Kind.DO, Reply.DONE))
        await asyncio.sleep(0.001)
        assert ours.desk._flushing
        ours.desk.look("t", found)
        await ours.desk.settle(5)
        assert Reported in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


async def claimed(ours: Office, rival: Office) -> None:
    """Task "t" with its first call claimed; our desk knows an older version."""
    assert await ours.submit("t")
    rival.desk.look("t")
    await rival.desk.settle(5)
    assert await rival.desk.act("t", Claimed(0, 1, "rival"))


def test_a_fact_that_is_decided_again_while_the_store_is_away_is_recorded_once() -> None:
    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        assert await rival.desk.act("t", Reported(0, 1, Kind.DO, Reply.DONE))
        assert await ours.submit("other")
        ours.faults["commit"] = [StoreFault.UNAVAILABLE]
        ours.desk.post("t", Reported(0, 1, Kind.DO, Reply.DONE))  # news to the head at hand? no: read again
        ours.desk.post("other", PauseAsked("ann"))
        await ours.desk.settle(10)
        facts = [type(fact) for fact in await ours.facts("t")]
        assert facts.count(EvidenceFiled) == 1
        assert [type(fact) for fact in await ours.facts("other")].count(PauseAsked) == 1

    in_virtual_time(main)


def test_a_report_is_never_given_up_however_many_others_are_faster() -> None:
    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        commit, rounds = ours.store.commit, 0

        async def beaten(changes: Any) -> Any:
            nonlocal rounds
            rounds += 1
            if rounds <= DECISIONS_MAX + 5:
                act = PauseAsked("rival") if rounds % 2 else ResumeAsked("rival")
                assert await rival.desk.act("t", act)
            return await commit(changes)

        ours.store.commit = beaten  # type: ignore[method-assign]  # a rival who is always a little faster
        ours.desk.post("t", Reported(0, 1, Kind.DO, Reply.DONE))
        await asyncio.sleep(60)
        assert rounds > DECISIONS_MAX
        assert Reported in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


def test_an_act_that_others_are_always_faster_than_is_told_so() -> None:
    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        commit, rounds = ours.store.commit, 0

        async def beaten(changes: Any) -> Any:
            nonlocal rounds
            rounds += 1
            act = PauseAsked("rival") if rounds % 2 else ResumeAsked("rival")
            assert await rival.desk.act("t", act)
            return await commit(changes)

        ours.store.commit = beaten  # type: ignore[method-assign]  # a rival who is always a little faster
        with pytest.raises(StoreError, match="other writers were faster"):
            await ours.desk.act("t", CancelAsked("ann"))

    in_virtual_time(main)


class EagerAgents:
    """Claims whatever is offered, and makes no call."""

    def claims(self, draft: Draft) -> list[Claimed]:
        opened = draft.head.open.items()
        return [Claimed(step, o.attempt, "ours") for step, o in opened if draft.marks[step] in OFFERED]

    def carry_out(self, entry: Entry, claims: Sequence[Claimed], asked: float) -> None:
        """Leave it at the claim."""

    def release(self, claims: Sequence[Claimed]) -> None:
        """There are slots enough."""

    def saved(self, entry: Entry) -> None:
        """Remember nothing."""


@pytest.mark.parametrize("stop", [CancelAsked("ann"), PauseAsked("ann")], ids=["cancel", "pause"])
def test_a_stop_wins_over_the_claims_of_the_same_change(stop: Act) -> None:
    async def main(ours: Office, rival: Office) -> None:
        assert await ours.submit("t")
        rival.desk.look("t")  # which hands out the first call
        await rival.desk.settle(5)
        ours.desk.rooms.agents = EagerAgents()
        claim = asyncio.ensure_future(ours.desk.act("t", Claimed(0, 1, "ours")))
        await asyncio.sleep(0)
        assert await ours.desk.act("t", stop)
        assert not await claim
        assert Claimed not in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


class RashAgents(EagerAgents):
    """Claims a call that nobody offers."""

    def __init__(self) -> None:
        self.carried_out: list[Claimed] = []
        self.released: list[Claimed] = []

    def claims(self, draft: Draft) -> list[Claimed]:
        return [Claimed(0, 99, "ours")]

    def carry_out(self, entry: Entry, claims: Sequence[Claimed], asked: float) -> None:
        self.carried_out += claims

    def release(self, claims: Sequence[Claimed]) -> None:
        self.released += claims


def test_a_claim_that_the_core_voids_is_no_call_and_gives_its_slot_back() -> None:
    async def main(ours: Office, rival: Office) -> None:
        assert await ours.submit("t")
        ours.desk.rooms.agents = agents = RashAgents()
        assert await ours.desk.act("t", PauseAsked("ann"))
        assert agents.carried_out == []
        assert agents.released == [Claimed(0, 99, "ours")]
        assert Claimed not in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


def test_who_cannot_be_told_costs_no_other_task_what_was_written() -> None:
    async def main(ours: Office, rival: Office) -> None:
        assert await ours.submit("t")
        assert await ours.submit("u")
        ended = asyncio.new_event_loop()
        deaf = ended.create_future()
        deaf.add_done_callback(print)
        ended.close()
        ours.desk._tray.put("t", Posted(PauseAsked("ann"), deaf))
        assert await ours.desk.act("u", PauseAsked("ann"))
        assert [PauseAsked("ann") in await ours.facts(name) for name in "tu"] == [True, True]

    in_virtual_time(main)


def test_commits_that_are_lost_again_and_again_are_not_hurried() -> None:
    """A full disk, say: each commit fails without an answer, and none is written."""

    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        ours.faults["commit"] = [StoreFault.REQUEST_LOST] * 1000
        ours.desk.post("t", Reported(0, 1, Kind.DO, Reply.DONE))
        await asyncio.sleep(2)
        tries = 1000 - len(ours.faults["commit"])
        assert 1 < tries <= 2 / RETRY_FIRST
        ours.faults.clear()
        await ours.desk.settle(5)
        assert Reported in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


def test_what_could_not_be_read_back_is_not_written() -> None:
    async def main(ours: Office, rival: Office) -> None:
        assert await ours.submit("t")
        nobody: Any = 5
        with pytest.raises(msgspec.ValidationError):
            await ours.desk.act("t", PauseAsked(nobody))
        assert PauseAsked not in [type(fact) for fact in await ours.facts("t")]
        assert await ours.desk.act("t", PauseAsked("ann"))

    in_virtual_time(main)


def test_a_fault_of_ours_costs_a_flush_and_drops_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(ours: Office, rival: Office) -> None:
        await claimed(ours, rival)
        with monkeypatch.context() as patch:
            patch.setattr(ours.desk.shelf, "load", broken)
            ours.desk.post("t", Reported(0, 1, Kind.DO, Reply.DONE))
            with pytest.raises(ZeroDivisionError):
                await ours.desk.act("t", PauseAsked("ann"))
        assert await ours.desk.act("t", PauseAsked("ann"))
        assert Reported in [type(fact) for fact in await ours.facts("t")]

    in_virtual_time(main)


async def broken(task_ids: Sequence[str]) -> set[str]:
    raise ZeroDivisionError


def test_a_lost_answer_to_a_plan_is_the_callers_to_repeat() -> None:
    async def main(ours: Office, rival: Office) -> None:
        ours.faults["save_plan"] = [StoreFault.ANSWER_LOST]
        with pytest.raises(StoreUncertain):
            await ours.submit("t")
        assert await ours.submit("t")

    in_virtual_time(main)


def test_whoever_waits_when_a_desk_ends_is_told() -> None:
    """What hangs in a commit may be in the store; what was put back for another try is not."""
    assert isinstance(closed_while(StoreFault.HANGS), StoreUncertain)
    assert closed_while() is True


def test_nothing_is_posted_on_a_desk_that_has_ended() -> None:
    async def main() -> None:
        office = Office(MemoryFile(), "ours")
        office.desk.shelf.add_plan(PLAN)
        flushing = await office.open()
        office.desk.close()
        with pytest.raises(StoreUnavailable, match="was closed before it was written"):
            await office.submit("t")
        assert not flushing.done()

    run(main())
