"""How effects are counted: what belongs together is no double booking, and what does not is one."""

from typing import Any, NamedTuple

import pytest

from makegood import Agent, PlanDefinition, Refused, call, plan, step
from makegood.testing import Booking, FakeService, Ledger, Report, rehearse
from makegood.testing.rehearsal.promises import Promise
from tests.rehearsal import shops


class Shop(NamedTuple):
    plan: PlanDefinition[Any, Any]
    agents: list[Agent]


def rehearsed(shop: Shop | shops.Shop) -> Report:
    return rehearse(shop.plan, agents=shop.agents if isinstance(shop, Shop) else [shop.agent])


def told(report: Report) -> dict[tuple[str, str], str]:
    return {(one.broken.promise, one.broken.step): str(one.broken) for one in report.broken}


# --- two of one step


def two_seats(
    *, together: bool, apart_by: str = "", keyed: bool = True, one_left: bool = False
) -> shops.Shop:
    """An action that books two seats: in one request, or in two."""
    air = FakeService("air", keyed=keyed, apart_by=apart_by)
    agent = Agent("air", timeout=10, keyed=True)

    def book_both(ledger: Ledger, key: str) -> list[Booking]:
        return [ledger.book(key=f"{key}/{seat}", seat=seat) for seat in "AB"]

    async def cancel(id: str | None) -> None:
        for seat in "A" if one_left else "AB":
            await air.cancel(of=f"{call().do_key}/{seat}")

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        key = call().key
        if together:
            return (await air.call(lambda ledger: book_both(ledger, key)))[0].id
        first = await air.book(key=f"{key}/A", seat="A")
        try:
            await air.book(key=f"{key}/B", seat="B")
        except Refused:
            await air.cancel(first.id)
            raise
        return first.id

    return shops.shop(agent, book)


@pytest.mark.parametrize("shop", [two_seats(together=True), two_seats(together=False, apart_by="seat")])
def test_two_that_belong_together_are_no_double_booking(shop: shops.Shop) -> None:
    report = rehearsed(shop)
    assert report.kept, f"{report}"
    assert report.rows[0].ends == "Completed"


@pytest.mark.parametrize("how", [{"together": True}, {"together": False, "apart_by": "seat"}], ids=str)
def test_two_that_belong_together_and_are_booked_again_are_doubles(how: dict[str, Any]) -> None:
    found = told(rehearsed(two_seats(**how, keyed=False)))
    assert "in effect twice at once (air-1, air-2, air-3" in found[Promise.ONCE, "book"]


def test_two_of_which_one_is_left_are_not_undone() -> None:
    found = told(rehearsed(two_seats(together=True, one_left=True)))
    assert found[Promise.NOTHING_SILENT, "book"].startswith("book: air-2 is in effect, and the record says")


def test_two_requests_of_one_call_are_a_double_booking_and_the_way_out_is_told() -> None:
    found = told(rehearsed(two_seats(together=False)))
    assert "one call of book made air-1, air-2, by a request each" in found[Promise.ONCE, "book"]
    assert "FakeService(apart_by=...)" in found[Promise.ONCE, "book"]


def test_a_function_that_tries_again_by_itself_is_found() -> None:
    rooms = FakeService("rooms")
    agent = Agent("hotel", timeout=10)

    async def cancel(id: str | None) -> None:
        await rooms.cancel(id or "")

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        await rooms.book(guest=guest)
        return (await rooms.book(guest=guest)).id

    assert (Promise.ONCE, "book") in told(rehearsed(shops.shop(agent, book)))


# --- counter-entries


def refunds(*, declared: bool, sends_key: bool = True) -> Shop:
    """A bank that writes a second entry in place of striking out the first; the trip fails after it."""
    entries = FakeService("entries", keyed=True, cancels_again="repeats")
    agent = Agent("till", timeout=10, keyed=True)

    def entered_back(ledger: Ledger, of: str, key: str) -> object:
        return ledger.reverse(of=of, key=key, amount=-5) if declared else ledger.book(key=key, amount=-5)

    async def refund(id: str | None) -> None:
        of, key = call().do_key, call().key if sends_key else ""
        await entries.call(lambda ledger: entered_back(ledger, of, key))

    @agent.action(undo=refund)
    async def charge(guest: str) -> str:
        return (await entries.book(key=call().key, amount=5)).id

    @plan
    def trip(guest: str) -> None:
        step(charge, guest)
        step(shops.pay, guest)

    return Shop(trip, [agent])


def test_a_counter_entry_undoes() -> None:
    report = rehearsed(refunds(declared=True))
    assert report.kept, f"{report}"


def test_a_counter_entry_that_is_not_declared_is_told_of() -> None:
    found = told(rehearsed(refunds(declared=False)))
    for promise in (Promise.ONCE, Promise.NOTHING_SILENT):
        assert "entries-2 was booked by undo refund: if that is a counter-entry" in found[promise, "charge"]
        assert "ledger.reverse()" in found[promise, "charge"]


def test_a_second_counter_entry_is_a_second_refund() -> None:
    found = told(rehearsed(refunds(declared=True, sends_key=False)))
    assert "entries-1 was cancelled 2 times" in found[Promise.UNDONE_ONCE, "charge"]


# --- one in the place of another


def confirms(*, declared: bool, undone: bool = True) -> Shop:
    """One step holds a room, the next confirms it: under a new name, and the hold is gone."""
    rooms = FakeService("rooms", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    def confirmed(ledger: Ledger, held: str, key: str) -> Booking:
        if declared:
            return ledger.replace(held, key=key)
        booking = ledger.book(key=key)
        ledger.cancel(held)
        return booking

    async def cancel(id: str | None) -> None:
        if undone or call().step == "hold":
            await rooms.cancel(id or "", of=call().do_key)
        else:
            await rooms.find(id or "")

    @agent.action(undo=cancel)
    async def hold(guest: str) -> str:
        return (await rooms.book(key=call().key, guest=guest)).id

    @agent.action(undo=cancel)
    async def confirm(held: str) -> str:
        key = call().key
        return (await rooms.call(lambda ledger: confirmed(ledger, held, key))).id

    @plan
    def stay(guest: str) -> None:
        step(confirm, held=step(hold, guest))
        step(shops.pay, guest)

    return Shop(stay, [agent])


def test_what_takes_the_place_of_a_hold_keeps_it_done() -> None:
    report = rehearsed(confirms(declared=True))
    assert report.kept, f"{report}"
    assert report.rows[0].ends == "Completed"


def test_a_hold_that_another_step_cancels_is_told_of() -> None:
    found = told(rehearsed(confirms(declared=False)))
    assert "rooms-1 was cancelled by step confirm" in found[Promise.DONE_IS_DONE, "hold"]
    assert "ledger.replace()" in found[Promise.DONE_IS_DONE, "hold"]


def test_what_took_the_place_of_a_hold_must_be_undone() -> None:
    found = told(rehearsed(confirms(declared=True, undone=False)))
    assert "rooms-2 is in effect, and the record says" in found[Promise.NOTHING_SILENT, "confirm"]
