"""What every run must keep to; and what a user may have left unsaid where a promise seems to be broken."""

from collections.abc import Sequence
from enum import StrEnum

from makegood.core.plan import Plan, StepPlan
from makegood.testing.rehearsal.ledgers import Booking, ids
from makegood.testing.rehearsal.scene import StagedService


class Promise(StrEnum):
    """What a run must keep to; what is worst to break comes first."""

    WORKS = "works"
    """With no trouble at all it completes."""
    ONCE = "once"
    """No step is in effect twice at one moment."""
    NOTHING_SILENT = "nothingSilent"
    """What is in effect outside is in effect in the record."""
    DONE_IS_DONE = "doneIsDone"
    """What the record says is done is in effect outside."""
    UNDONE_ONCE = "undoneOnce"
    """Nothing is undone twice: no second refund."""
    SETTLES = "settles"
    """It ends, or is parked with its cause in plain sight."""
    NEEDS_NOBODY = "needsNobody"
    """It waits for no person where its services answer."""
    IN_TIME = "inTime"
    """No call reaches a service later than timeout and settle allow."""
    SENDS_KEYS = "sendsKeys"
    """What is declared keyed is called with its key."""
    ENGINE = "engine"
    """makegood keeps its own invariants."""


def hint(promise: Promise, plan: Plan, step: StepPlan, service: StagedService) -> str:
    """How a fake service would say that this is as it should be, if it is; empty: no way is known."""
    bookings = service.bookings
    if promise in (Promise.ONCE, Promise.NOTHING_SILENT):
        if by_undo := [booking for booking in bookings if booking.by_undo]:
            return (
                f"{ids(by_undo)} was booked by undo {step.undo}: if that is a counter-entry, have the fake "
                "service make it with ledger.reverse()"
            )
        if promise is Promise.ONCE and (together := _of_one_call(bookings)):
            return (
                f"one call of {step.action} made {ids(together)}, by a request each: if they are different "
                "things, name the detail that tells them apart: FakeService(apart_by=...)"
            )
    by_another = [booking for booking in bookings if booking.ended_for not in (-1, step.index)]
    if promise is Promise.DONE_IS_DONE and by_another:
        other = plan.steps[by_another[0].ended_for].name
        return (
            f"{ids(by_another)} was cancelled by step {other}: if something took its place, have the fake "
            "service say so with ledger.replace()"
        )
    return ""


def _of_one_call(bookings: Sequence[Booking]) -> list[Booking]:
    """The bookings of the first call that made some of one service, by several requests."""
    by_call: dict[tuple[int, str], list[Booking]] = {}
    for booking in bookings:
        by_call.setdefault((booking.attempt, booking.service), []).append(booking)
    several = (made for made in by_call.values() if len({booking.request for booking in made}) > 1)
    return next(several, [])
