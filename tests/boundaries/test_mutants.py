"""Faults that we put into our own code, each with a name, each found by a world of these tests."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from makegood.agents.runner import Runner
from makegood.agents.work import Work
from makegood.core.events import CancelAsked, Claimed
from makegood.core.record import Kind
from makegood.decision import Decision
from makegood.desk import Desk
from makegood.rooms import Entry, Rooms
from makegood.store.protocol import Change, Committed, Store
from makegood.supervisor.witness import Witness
from makegood.testing.faulty import StoreFault
from makegood.testing.shorthand import BARE, PROBED, series
from makegood.testing.simulation.faults import TEN_YEARS, CallFault, Trouble
from makegood.testing.simulation.happenings import Jump
from makegood.testing.simulation.scenarios import BY_NAME, DONE, Scenario, brief
from makegood.testing.simulation.world import World, play
from makegood.tray import Tray
from tests.boundaries import test_desk

Patch = pytest.MonkeyPatch


def orders_go_out_before_the_commit(patch: Patch) -> None:
    commit = Desk._commit

    async def hasty(desk: Desk, decisions: list[Decision], asked: float) -> None:
        for decision in decisions:
            entry, agents = decision.entry, desk.rooms.agents
            if agents is not None and decision.claims:
                ahead = Entry(entry.task_id, entry.version + 1, decision.draft.head, entry.plan, entry.values)
                agents.carry_out(ahead, decision.claims, asked)
                decision.claims = []
        await commit(desk, decisions, asked)

    patch.setattr(Desk, "_commit", hasty)


def a_lost_answer_is_a_failure(patch: Patch) -> None:
    async def pessimist(store: Store, change: Change) -> Committed | None:
        return None

    patch.setattr("makegood.commit._read_again", pessimist)


def a_lost_answer_is_a_success(patch: Patch) -> None:
    async def optimist(store: Store, change: Change) -> Committed | None:
        return Committed()

    patch.setattr("makegood.commit._read_again", optimist)


def a_stale_changes_orders_go_out(patch: Patch) -> None:
    stale = Desk._stale

    def careless(desk: Desk, decision: Decision) -> None:
        claims, decision.claims = decision.claims, []
        stale(desk, decision)
        entry, agents = decision.entry, desk.rooms.agents
        if agents is not None and claims:
            unsaved = Entry(entry.task_id, entry.version + 1, decision.draft.head, entry.plan, entry.values)
            agents.carry_out(unsaved, claims, desk.clock.monotonic())

    patch.setattr(Desk, "_stale", careless)


def a_wait_out_trusts_the_store_clock_alone(patch: Patch) -> None:
    patch.setattr(Witness, "left", lambda *_: 0.0)


def a_slot_is_not_given_back(patch: Patch) -> None:
    patch.setattr(Rooms, "release", lambda *_: None)


def a_calls_life_begins_when_it_is_granted(patch: Patch) -> None:
    carry_out, begin = Runner.carry_out, Work.__init__

    def patient(runner: Runner, entry: Entry, claims: Sequence[Claimed], since: float) -> None:
        carry_out(runner, entry, claims, runner._desk.clock.monotonic())

    def without_the_records_bound(work: Work, *args: Any, **named: Any) -> None:
        begin(work, *args, **named)
        work.complete_by = 2**62

    patch.setattr(Runner, "carry_out", patient)
    patch.setattr(Work, "__init__", without_the_records_bound)


def a_call_that_is_too_late_is_sent(patch: Patch) -> None:
    patch.setattr(Runner, "_too_late", lambda *_: False)


def a_fact_is_dropped_on_the_word_of_a_cached_head(patch: Patch) -> None:
    begin = Desk._begin

    def trusting(desk: Desk, *args: Any, **named: Any) -> Decision | None:
        decision = begin(desk, *args, **named)
        if decision is not None:
            decision.fresh = True
        return decision

    patch.setattr(Desk, "_begin", trusting)


def claims_are_folded_before_a_stop(patch: Patch) -> None:
    begin = Desk._begin

    def hasty(desk: Desk, *args: Any, **named: Any) -> Decision | None:
        decision = begin(desk, *args, **named)
        if decision is not None:
            decision.fuse(desk.rooms)
        return decision

    patch.setattr(Desk, "_begin", hasty)


def an_answer_comes_before_the_commit(patch: Patch) -> None:
    conclude = Decision.conclude

    def hasty(decision: Decision, *args: Any) -> None:
        decision.tell()
        conclude(decision, *args)

    patch.setattr(Decision, "conclude", hasty)


def facts_are_dropped_while_the_store_is_away(patch: Patch) -> None:
    keep = Tray.keep

    def forgetful(tray: Tray, *args: Any) -> None:
        before = dict(tray._posts)
        keep(tray, *args)
        tray._posts = before

    patch.setattr(Tray, "keep", forgetful)


def nothing_is_due(patch: Patch) -> None:
    patch.setattr(Decision, "_due", lambda *_: None)


# --- the worlds that find them

PROBED_ONLY = Scenario("probed_only", series(brief("a", PROBED), brief("b", PROBED)), DONE)
BLIND = Scenario("blind", series(brief("a", BARE), brief("b", BARE)), DONE)
LATE_CALL = Scenario(
    "late_call", series(brief("a", PROBED, settle=3)), DONE, script={("a", Kind.DO, 1): CallFault.LATE}
)


def calm() -> Iterator[World]:
    yield World(BY_NAME["straight"])


def at_every_commit(fault: StoreFault, scenario: Scenario) -> Iterator[World]:
    operations = play(World(scenario)).members[0].operations
    commits = [at for at, operation in enumerate(operations, 1) if operation == "commit"]
    return (World(scenario, Trouble(at, fault)) for at in commits)


def lost_answers() -> Iterator[World]:
    return at_every_commit(StoreFault.ANSWER_LOST, BLIND)


def lost_requests() -> Iterator[World]:
    return at_every_commit(StoreFault.REQUEST_LOST, PROBED_ONLY)


def the_store_is_away() -> Iterator[World]:
    return at_every_commit(StoreFault.UNAVAILABLE, BLIND)


def frozen_with_a_claim_in_hand() -> Iterator[World]:
    return at_every_commit(StoreFault.FREEZES, PROBED_ONLY)


def races() -> Iterator[World]:
    return (World(BY_NAME[name], engines=3, tasks=8) for name in ("cancelled", "straight", "group"))


def a_jump_while_a_late_call_is_waited_out() -> Iterator[World]:
    yield World(LATE_CALL, happenings=[Jump(2.1, TEN_YEARS)])


MUTANTS: dict[Callable[[Patch], None], Callable[[], Iterator[World]]] = {
    orders_go_out_before_the_commit: calm,
    a_lost_answer_is_a_failure: lost_answers,
    a_lost_answer_is_a_success: lost_requests,
    a_stale_changes_orders_go_out: races,
    a_wait_out_trusts_the_store_clock_alone: a_jump_while_a_late_call_is_waited_out,
    a_slot_is_not_given_back: the_store_is_away,
    a_calls_life_begins_when_it_is_granted: frozen_with_a_claim_in_hand,
    a_call_that_is_too_late_is_sent: frozen_with_a_claim_in_hand,
    an_answer_comes_before_the_commit: calm,
    facts_are_dropped_while_the_store_is_away: the_store_is_away,
    nothing_is_due: calm,
}


def wrong_in(worlds: Iterator[World]) -> list[str]:
    """What is wrong in the first world in which something is: a complaint, or a task parked without need."""
    for world in worlds:
        play(world)
        parked = [state for state in world.states() if state == "FAILED"]
        if world.complaints or parked:
            return [*world.complaints, *parked]
    return []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant.__name__))
def test_a_mutant_is_found(mutant: Callable[[Patch], None], monkeypatch: Patch) -> None:
    monkeypatch.setattr("makegood.agents.runner.CALLS_MAX", 2)
    worlds = list(MUTANTS[mutant]())
    mutant(monkeypatch)
    assert wrong_in(iter(worlds)) != []


@pytest.mark.parametrize(
    "worlds", sorted(set(MUTANTS.values()), key=str), ids=lambda worlds: str(worlds.__name__)
)
def test_their_worlds_are_sound_without_them(
    worlds: Callable[[], Iterator[World]], monkeypatch: Patch
) -> None:
    monkeypatch.setattr("makegood.agents.runner.CALLS_MAX", 2)
    assert wrong_in(worlds()) == []


@pytest.mark.parametrize(
    ("mutant", "test"),
    [
        (
            a_fact_is_dropped_on_the_word_of_a_cached_head,
            test_desk.test_a_fact_that_is_decided_again_while_the_store_is_away_is_recorded_once,
        ),
        (
            claims_are_folded_before_a_stop,
            partial(test_desk.test_a_stop_wins_over_the_claims_of_the_same_change, CancelAsked("ann")),
        ),
    ],
)
def test_a_mutant_of_the_desk_is_found(
    mutant: Callable[[Patch], None], test: Callable[[], None], monkeypatch: Patch
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        test()
