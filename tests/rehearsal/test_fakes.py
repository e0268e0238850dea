"""Fake services: how they are, and that they are only there where they should be."""

import asyncio
from math import inf

import pytest

from makegood import Makegood
from makegood.core.record import ERROR_KEPT, Kind
from makegood.errors import Compensated, PlanError, Refused
from makegood.testing import FakeService, NothingThere
from makegood.testing.observer import Flight
from makegood.testing.rehearsal.ledgers import Habits, Ledger
from makegood.testing.services import Message
from tests.rehearsal import shops

FLIGHT = Flight("trip-1", 0, 1, Message("trip-1", Kind.DO, "k", "k", None), 0, 0)


def ledger(habits: Habits, at: float = 0.0) -> Ledger:
    made = Ledger("hotels", habits)
    made.serve(FLIGHT, at)
    return made


def test_outside_of_a_rehearsal_there_is_none() -> None:
    service = FakeService("hotels")
    with pytest.raises(Refused, match=r"outside of a rehearsal.*makegood rehearse APP:PLAN"):
        asyncio.run(service.book())
    with pytest.raises(Refused, match=r"only there: --stage, a fixture$") as raised:
        asyncio.run(FakeService("a-name-of-24-characters-").book())
    assert len(str(raised.value)) < ERROR_KEPT, "a record has the whole of it"
    with pytest.raises(Refused, match="outside of a rehearsal"):
        service.sync.book()


@pytest.mark.parametrize("keyed", [True, False])
def test_an_app_that_is_not_rehearsed_leaves_nothing_in_doubt(keyed: bool, makegood_store: str) -> None:
    shop = shops.keyed(FakeService("hotels")) if keyed else shops.makes_up_a_result(faulty=False)

    async def book() -> None:
        async with Makegood(makegood_store, agents=[shop.agent, shops.bank]) as makegood:
            await (await makegood.submit(shop.plan, "ann")).result(30)

    with pytest.raises(Compensated, match="fake service hotels was called outside of a rehearsal"):
        asyncio.run(book())


def test_a_key_is_heeded_as_long_as_it_is_known() -> None:
    hotels = ledger(Habits(keyed=5.0))
    first = hotels.book(key="k", room=1)
    assert hotels.book(key="k", room=1) is first
    hotels.serve(FLIGHT, 6.0)
    assert hotels.book(key="k", room=1).id == "hotels-2"
    assert len(ledger(Habits()).bookings) == 0


def test_a_booking_is_found_by_id_key_and_details() -> None:
    hotels = ledger(Habits(shows_after=10))
    booking = hotels.book(key="k", room=1, guest="ann")
    assert hotels.find(booking.id) is None
    hotels.serve(FLIGHT, 10.0)
    assert hotels.find(booking.id) is hotels.find(of="k") is hotels.find(guest="ann") is booking
    assert hotels.find(guest="bob") is None
    assert hotels.cancel(booking.id)
    assert hotels.find(booking.id) is None


def test_what_is_cancelled_again_is_as_the_service_is() -> None:
    for again, counted in (("fine", 1), ("repeats", 2)):
        hotels = ledger(Habits(cancels_again=again))  # type: ignore[arg-type]  # the literals, in a loop
        booking = hotels.book()
        assert hotels.cancel(booking.id)
        assert hotels.cancel(booking.id) is (again == "repeats")
        assert (booking.cancelled, booking.gone_at < inf) == (counted, True)
    hotels = ledger(Habits(cancels_again="fails"))
    with pytest.raises(NothingThere, match="no hotels-1 to cancel"):
        hotels.cancel("hotels-1")


def test_a_buried_key_books_nothing() -> None:
    hotels = ledger(Habits(keyed=True, tombstone=True))
    assert not hotels.cancel(of="k")
    with pytest.raises(Refused, match="cancelled before"):
        hotels.book(key="k")


def test_habits_that_cannot_be_are_refused() -> None:
    with pytest.raises(PlanError, match="say one of fine, fails, repeats"):
        FakeService("hotels", cancels_again="explodes")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(PlanError, match="tombstone=True needs keyed=True"):
        FakeService("hotels", tombstone=True)
