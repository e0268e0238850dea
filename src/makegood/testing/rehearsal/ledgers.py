"""What services really hold while a plan is rehearsed: bookings, who made them, and what became of them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import Any, Final, Literal

import msgspec

from makegood.core.events import NULL
from makegood.core.record import Kind
from makegood.errors import PlanError, Refused
from makegood.testing.observer import Flight
from makegood.testing.services import Effect

CancelsAgain = Literal["fine", "fails", "repeats"]
"""What a service does that is to cancel what is not there: nothing; say no; or do it once more."""
CANCELS_AGAIN: Final = ("fine", "fails", "repeats")


class NothingThere(Refused):
    """A service says no because there is nothing to cancel, as by an HTTP 404."""


@dataclass(eq=False)
class Booking(Effect):
    """Something that a service did. Seconds count from the beginning of the rehearsed run.

    `id` is the service's own name for it, `details` what it was booked with; `attempt` made it, at `at`, and
    it was in effect until `gone_at`; `cancelled` counts how often cancelling it took effect.

    `request`: what a service booked for one and the same request belongs together. `by_undo`: an undo asked
    for it. `ended_for` is the step (its number) that cancelled it, `replaced_by` what took its place.
    """

    service: str = ""
    attempt: int = 0
    request: int = 0
    by_undo: bool = False
    ended_for: int = -1
    replaced_by: "Booking | None" = None
    at: float = 0.0
    gone_at: float = inf
    cancelled: int = 0
    details: dict[str, Any] = field(default_factory=dict)
    made: msgspec.Raw = field(default_factory=lambda: NULL)

    @property
    def id(self) -> str:
        return f"{self.service}-{self.number}"

    @property
    def result(self) -> msgspec.Raw:
        return self.made

    def live_at(self, seconds: float) -> bool:
        """Whether it was in effect at a moment."""
        return self.at <= seconds < self.gone_at

    @property
    def stands(self) -> bool:
        """Whether it is in effect, or what took its place is."""
        return self.live or (self.replaced_by is not None and self.replaced_by.stands)

    def cancel(self, seconds: float) -> None:
        """It is cancelled (again)."""
        self.cancelled += 1
        self.end(seconds)

    def end(self, seconds: float) -> None:
        """It is in effect no more."""
        self.live = False
        self.gone_at = min(self.gone_at, seconds)


def ids(bookings: Iterable[Booking]) -> str:
    """Their names, for people."""
    return ", ".join(booking.id for booking in bookings)


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How a service is, whatever is declared of it. Seconds; see FakeService."""

    keyed: bool | float = False
    tombstone: bool = False
    cancels_again: CancelsAgain = "fine"
    settle: float | None = None
    slow: float = 0.0
    shows_after: float = 0.0
    apart_by: str = ""

    def __post_init__(self) -> None:
        if self.cancels_again not in CANCELS_AGAIN:
            raise PlanError(f"cancels_again={self.cancels_again!r}: say one of {', '.join(CANCELS_AGAIN)}")
        if self.tombstone and not self.keyed:
            raise PlanError("tombstone=True needs keyed=True: a tombstone is left for a key")


class Ledger:
    """The inside of a fake service, in one rehearsed run: what it holds and what it remembers.

    `memory` is for whatever else a service of yours must remember.
    """

    def __init__(self, name: str, habits: Habits) -> None:
        self.name = name
        self.habits = habits
        self.bookings: list[Booking] = []
        self.memory: dict[str, Any] = {}
        self.notes: list[str] = []
        self.tombs: set[str] = set()
        self._answers: dict[str, tuple[float, Any]] = {}
        self._flight: Flight | None = None
        self._requests = 0
        self._numbers = count(1)
        self._now = 0.0

    def serve(self, flight: Flight, now: float) -> None:
        """A request of this flight has arrived."""
        self._flight, self._now = flight, now
        self._requests += 1

    def knows(self, key: str, now: float) -> bool:
        """Whether a call with this key would be answered as before."""
        keyed = self.habits.keyed
        if not keyed or key not in self._answers:
            return False
        return keyed is True or now < self._answers[key][0] + keyed

    # --- what a service can be asked

    def book(self, *, key: str = "", **details: Any) -> Booking:
        """Book something; the same key again is the same booking. Raises Refused for a buried key."""
        known = self._known(key)
        if known is not None:
            return known
        booking = self._enter(key, details)
        self.bookings.append(booking)
        self.notes.append(f"books {booking.id}" + (f" for key {key}" if key else ""))
        return booking

    def replace(self, id: str = "", *, of: str = "", key: str = "", **details: Any) -> Booking:
        """Book something in the place of a booking, as a confirmation takes that of a hold.

        What it replaces is in effect as long as it is. Raises NothingThere where nothing can be replaced.
        """
        known = self._known(key)
        if known is not None:
            return known
        found = [booking for booking in self.bookings if booking.live and self._is_meant(booking, id, of)]
        if not found:
            self.notes.append(f"refuses to replace {id or of}: it is not there")
            raise NothingThere(f"{self.name}: there is no {id or of} to replace")
        booking = self._enter(key, details)
        self.bookings.append(booking)
        for replaced in found:
            replaced.end(self._now)
            replaced.replaced_by = booking
            self.notes.append(f"puts {booking.id} in the place of {replaced.id}")
        return booking

    def cancel(self, id: str = "", *, of: str = "", key: str = "") -> bool:
        """Cancel a booking by its id, or by the key `of` which it was made; False: nothing was there.

        `key` is this call's own: the same again is the same cancellation. Raises NothingThere
        where there is nothing to cancel and the service minds.
        """
        if self.knows(key, self._now):
            known: bool = self._answers[key][1]
            self.notes.append(f"knows key {key}, and does nothing more")
            return known
        done = self._cancelled(id, of)
        self._remember(key, done)
        return done

    def reverse(self, id: str = "", *, of: str = "", key: str = "", **details: Any) -> Booking | None:
        """Cancel a booking by a counter-entry, such as a refund: an entry that is no effect by itself.

        The entry, or None where nothing was there; otherwise as `cancel`.
        """
        if self.knows(key, self._now):
            known: Booking | None = self._answers[key][1]
            self.notes.append(f"knows key {key}, and does nothing more")
            return known
        done = self._cancelled(id, of)
        entry = self._enter(key, details) if done else None
        if entry is None:
            self._remember(key, None)
        else:
            self.notes.append(f"enters {entry.id} against {id or of}")
        return entry

    def find(self, id: str = "", *, of: str = "", **details: Any) -> Booking | None:
        """A booking that is in effect, by its id, by the key `of` which it was made, or by its details."""
        shown = (b for b in reversed(self.bookings) if b.live and b.at <= self._now - self.habits.shows_after)
        named = (b for b in shown if not (id or of) or self._is_meant(b, id, of))
        return next((b for b in named if details.items() <= b.details.items()), None)

    # --- how it does so

    @property
    def _serving(self) -> Flight:
        assert self._flight is not None, "a ledger is used by a call"
        return self._flight

    def most_alike(self, bookings: Iterable[Booking]) -> int:
        """How many of these bookings are of the same thing, where one request made no more than one."""
        requests: dict[str, set[int]] = {}
        for booking in bookings:
            thing = repr(booking.details.get(self.habits.apart_by))
            requests.setdefault(thing, set()).add(booking.request)
        return max(map(len, requests.values()), default=0)

    def _known(self, key: str) -> Booking | None:
        """What was booked for this key, if the service heeds it. Raises Refused for a buried key."""
        if self.knows(key, self._now):
            known: Booking = self._answers[key][1]
            self.notes.append(f"knows key {key}, and answers {known.id} again")
            return known
        if key in self.tombs:
            self.notes.append(f"refuses key {key}: it was cancelled before")
            raise Refused(f"{self.name}: key {key} was cancelled before")
        return None

    def _enter(self, key: str, details: dict[str, Any]) -> Booking:
        flight = self._serving
        entry = Booking(next(self._numbers), flight.task_id, key, service=self.name, details=details)
        entry.attempt, entry.at, entry.request = flight.attempt, self._now, self._requests
        entry.by_undo = flight.message.kind is Kind.UNDO
        self._remember(key, entry)
        return entry

    def _is_meant(self, booking: Booking, id: str, of: str) -> bool:
        return booking.id == id if id else bool(of) and booking.key == of

    def _cancelled(self, id: str, of: str) -> bool:
        named, found = id or of, [booking for booking in self.bookings if self._is_meant(booking, id, of)]
        if of and self.habits.tombstone:
            self.tombs.add(of)
        live = [booking for booking in found if booking.live]
        if not live and self.habits.cancels_again == "fails":
            self.notes.append(f"refuses to cancel {named}: it is not there")
            raise NothingThere(f"{self.name}: there is no {named} to cancel")
        again = found if self.habits.cancels_again == "repeats" else live
        for booking in again:
            once_more = "" if booking.live else " once more: it takes effect again"
            self.notes.append(f"cancels {booking.id}{once_more}")
            booking.cancel(self._now)
            booking.ended_for = self._serving.step
        if not again:
            self.notes.append(f"finds no {named} to cancel")
        return bool(again)

    def _remember(self, key: str, answer: Any) -> None:
        if key and self.habits.keyed:
            self._answers[key] = (self._now, answer)

    def take_notes(self) -> Iterator[str]:
        """What was written down since the last call arrived."""
        notes, self.notes = self.notes, []
        yield from notes
