"""What the user's functions said of their calls, held against what their services really held by then."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from makegood.core.events import Answer, Offered, Probed, Reply, Reported
from makegood.core.plan import StepPlan
from makegood.core.record import Kind
from makegood.reading.words import span
from makegood.testing.observer import Run
from makegood.testing.rehearsal.ledgers import Booking, ids
from makegood.testing.rehearsal.scene import Scene, StagedService
from makegood.testing.virtual import EPOCH

HASTE = 0.05
"""Seconds that a word may be on its way to the record while the service acts."""
NETWORK = ("TimeoutError", "ReadTimeout", "ConnectionResetError")
"""How errors begin that a network raises."""


Dated = tuple[float, str]
"""A moment, in seconds since the world began, and what is to be said of it."""


class Testimony(NamedTuple):
    """A word that was not true, or a promise that a service did not keep; `at` seconds."""

    at: float
    step: str
    what: str


def false_words(run: Run, scene: Scene) -> list[Testimony]:
    """Everything that was said or declared and is not so, oldest first."""
    found = [
        *_overdue(run, scene),
        *(told for step in run.plan.steps for told in _of_step(run, step, scene.services[step.name])),
    ]
    return sorted(found)


def _overdue(run: Run, scene: Scene) -> Iterator[Testimony]:
    """Calls that reached their service later than their timeout and settle time allow."""
    for flight, at in scene.network.overdue:
        step = run.plan.steps[flight.step]
        late = span(int((at * 1000 + EPOCH) - flight.lands_by))
        yield Testimony(
            at,
            step.name,
            f"{_call(step, flight.message.kind)} reached its service {late} after its life was over (timeout "
            f"{span(step.timeout)} and settle {span(step.settle)}): declare a longer settle",
        )


def _of_step(run: Run, step: StepPlan, service: StagedService) -> Iterator[Testimony]:
    told = [*_keys(run, step, service), *_unburied(run, step, service), *_unread(run, step)]
    unanswered = service.scene.network.left_unanswered(step.name, Kind.UNDO)
    for at, fact in _said(run, step.index):
        if unanswered and isinstance(fact, Reported) and fact.kind is Kind.UNDO and raised_by_itself(fact):
            continue  # that is what it makes of no answer
        told += [(at, what) for what in _untrue(at, fact, step, service)]
    return (Testimony(at, step.name, what) for at, what in told)


def _untrue(at: float, fact: Reported | Probed, step: StepPlan, service: StagedService) -> Iterator[str]:
    """What is not so about a function's word, heard at a moment."""
    booked = [booking for booking in service.bookings if booking.at <= at]
    live = [booking for booking in booked if booking.live_at(at)]
    for_nothing = "though nothing was there to undo: let it return then"
    match fact:
        case Reported(kind=Kind.DO, reply=Reply.REFUSED | Reply.TRANSIENT):
            if made := [booking for booking in booked if booking.attempt == fact.attempt]:
                said = f"raised {fact.reply.value.capitalize()} (certainly no effect: {fact.error})"
                yield f"{step.action} {said} though its call had booked {ids(made)}"
        case Reported(kind=Kind.DO, reply=Reply.DONE) if service.bookable and not step.reads and not booked:
            yield f"{step.action} returned a result though nothing was booked"
        case Reported(kind=Kind.UNDO, reply=Reply.DONE) if live:
            yield f"undo {step.undo} returned though {ids(live)} was in effect"
        case Reported(kind=Kind.UNDO, reply=Reply.REFUSED) if not live:
            yield f"undo {step.undo} raised Refused ({fact.error}) {for_nothing}"
        case Reported(kind=Kind.UNDO) if not live and raised_by_itself(fact):
            yield f"undo {step.undo} raised {fact.error} {for_nothing}"
        case Probed(answer=Answer.ABSENT):
            if seen := [booking for booking in live if booking.at < at - HASTE]:
                yield f"probe {step.probe} said it is not there though {ids(seen)} was in effect"
        case Probed(answer=Answer.THERE) if booked and not live:
            yield f"probe {step.probe} said it is there though nothing was"
        case _:
            pass


def raised_by_itself(fact: Reported) -> bool:
    """Whether the function raised something of its own, not for want of an answer."""
    return fact.reply is Reply.UNKNOWN and not fact.error.startswith(NETWORK)


def needed_its_key(fact: Reported) -> bool:
    """Whether a call that did not read its key had, or may have had, an effect."""
    certainly_none = fact.reply in (Reply.REFUSED, Reply.TRANSIENT) or raised_by_itself(fact)
    return not fact.key_read and not certainly_none


def _said(run: Run, step: int) -> Iterator[tuple[float, Reported | Probed]]:
    for row in run.rows:
        for fact in row.facts:
            if isinstance(fact, Reported | Probed) and fact.step == step:
                yield (row.at - EPOCH) / 1000, fact


# --- keys


def _keys(run: Run, step: StepPlan, service: StagedService) -> Iterator[Dated]:
    """What keys were declared to do, and did not."""
    given = {f.key for row in run.rows for f in row.facts if isinstance(f, Offered) and f.step == step.index}
    first: dict[tuple[str, str], Booking] = {}
    bookings = service.bookings if step.keyed else []
    for number, booking in enumerate(bookings):
        twin = first.setdefault((booking.service, booking.key), booking)
        if not booking.key:
            yield booking.at, f"{step.action} sent no key, though its agent declares keyed"
        elif _is_of_its_own(booking, given, bookings[:number]):
            yield booking.at, f"{step.action} sent the key {booking.key}, which is not the one of call().key"
        elif twin is not booking:
            yield booking.at, _twice(step, twin, booking)


def _is_of_its_own(booking: Booking, given: set[str], earlier: Sequence[Booking]) -> bool:
    """Whether its key is not the call's; one that begins with it may do, for one of several things."""
    if booking.key in given:
        return False
    alike = (b for b in earlier if (b.service, b.details) == (booking.service, booking.details))
    return not booking.key.startswith(tuple(given)) or any(b.key != booking.key for b in alike)


def _twice(step: StepPlan, first: Booking, again: Booking) -> str:
    after = span(int((again.at - first.at) * 1000))
    declared = "keyed" if step.keyed_for is None else f"keyed for {span(step.keyed_for)}"
    return f"its service booked again for the same key, {after} later; its agent declares {declared}"


def _unburied(run: Run, step: StepPlan, service: StagedService) -> Iterator[Dated]:
    """A do that took effect after its key was undone: where tombstones are declared, it must be refused."""
    undone = [
        at
        for at, fact in _said(run, step.index)
        if isinstance(fact, Reported) and fact.kind is Kind.UNDO and fact.reply is Reply.DONE
    ]
    for booking in service.bookings if step.tombstone and undone else ():
        if booking.at > undone[0]:
            yield (
                booking.at,
                "its service acted on a key that was undone before; its agent declares tombstone",
            )


def _unread(run: Run, step: StepPlan) -> Iterator[Dated]:
    for at, fact in _said(run, step.index):
        if isinstance(fact, Reported) and needed_its_key(fact):
            name = _call(step, fact.kind)
            yield (
                at,
                f"{name} ran without reading call().key or call().headers, though its agent declares keyed",
            )


# --- words


def _call(step: StepPlan, kind: Kind) -> str:
    return {Kind.DO: step.action, Kind.UNDO: f"undo {step.undo}", Kind.PROBE: f"probe {step.probe}"}[kind]
