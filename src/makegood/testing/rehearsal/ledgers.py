"""What services really hold while a plan is rehearsed: bookings, who made them, and what became of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Literal

import msgspec

from makegood.core.events import NULL
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
    """

    service: str = ""
    attempt: int = 0
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

    def end(self, seconds: float) -> None:
        """It is cancelled (again)."""
        self.cancelled += 1
        self.live = False
        self.gone_at = min(self.gone_at, seconds)


@dataclass(frozen=True, kw_only=True)
class Habits:
    """How a service is, whatever is declared of it. Seconds; see FakeService."""

    keyed: bool | float = False
    tombstone: bool = False
    cancels_again: CancelsAgain = "fine"
    settle: float | None = None
    slow: float = 0.0
    shows_after: float = 0.0

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
        self._now = 0.0

    def serve(self, flight: Flight, now: float) -> None:
        """A call of this flight has arrived."""
        self._flight, self._now = flight, now

    def knows(self, key: str, now: float) -> bool:
        """Whether a call with this key would be answered as before."""
        keyed = self.habits.keyed
        if not keyed or key not in self._answers:
            return False
        return keyed is True or now < self._answers[key][0] + keyed

    # --- what a service can be asked

    def book(self, *, key: str = "", **details: Any) -> Booking:
        """Book something; the same key again is the same booking. Raises Refused for a buried key."""
        if self.knows(key, self._now):
            known: Booking = self._answers[key][1]
            self.notes.append(f"knows key {key}, and answers {known.id} again")
            return known
        if key in self.tombs:
            self.notes.append(f"refuses key {key}: it was cancelled before")
            raise Refused(f"{self.name}: key {key} was cancelled before")
        assert self._flight is not None, "a ledger is used by a call"
        booking = Booking(
            len(self.bookings) + 1, self._flight.task_id, key, service=self.name, details=details
        )
        booking.attempt, booking.at = self._flight.attempt, self._now
        self.bookings.append(booking)
        self._remember(key, booking)
        self.notes.append(f"books {booking.id}" + (f" for key {key}" if key else ""))
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
        found = [booking for booking in self.bookings if self._is_meant(booking, id, of)]
        if of and self.habits.tombstone:
            self.tombs.add(of)
        done = self._cancelled(found, id or of)
        self._remember(key, done)
        return done

    def find(self, id: str = "", *, of: str = "", **details: Any) -> Booking | None:
        """A booking that is in effect, by its id, by the key `of` which it was made, or by its details."""
        shown = (b for b in reversed(self.bookings) if b.live and b.at <= self._now - self.habits.shows_after)
        named = (b for b in shown if not (id or of) or self._is_meant(b, id, of))
        return next((b for b in named if details.items() <= b.details.items()), None)

    # --- how it does so

    def _is_meant(self, booking: Booking, id: str, of: str) -> bool:
        return booking.id == id if id else bool(of) and booking.key == of

    def _cancelled(self, found: list[Booking], named: str) -> bool:
        live = [booking for booking in found if booking.live]
        if not live and self.habits.cancels_again == "fails":
            self.notes.append(f"refuses to cancel {named}: it is not there")
            raise NothingThere(f"{self.name}: there is no {named} to cancel")
        again = found if self.habits.cancels_again == "repeats" else live
        for booking in again:
            once_more = "" if booking.live else " once more: it takes effect again"
            self.notes.append(f"cancels {booking.id}{once_more}")
            booking.end(self._now)
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
