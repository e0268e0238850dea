"""Store time for stores that have no clock of their own."""

from makegood.clock import Clock
from makegood.core.plan import Millis
from makegood.store.protocol import Stamp


class StoreTime:
    """Wall time that never falls: behind no mark read from the store, and behind no answer of its own.

    While the wall clock is behind, time goes on from the latest moment seen by the monotonic clock. A store
    keeps the mark and moves it with every commit, so no recorded moment is ever in the future.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._latest: Millis = 0
        self._latest_seen = clock.monotonic()
        self.stamp = Stamp(at=0, seen=0.0, round_trip=0.0, mark=0)

    def now(self, mark: Millis) -> Millis:
        """Store time, given the mark as the store holds it."""
        wall = self._clock.wall()
        seen = self._clock.monotonic()  # last: a process frozen just here must not carry that time on twice
        carried = self._latest + int((seen - self._latest_seen) * 1000)
        now = max(carried, wall, mark)
        if now > carried:  # only then: begun anew from a rounded moment each time, time would stand still
            self._latest, self._latest_seen = now, seen
        return now

    def asked(self) -> float:
        """The monotonic moment in which a verb begins."""
        return self._clock.monotonic()

    def answered(self, at: Millis, mark: Millis, asked: float) -> None:
        """Keep the stamp of a verb that was done at store time `at`, and left the store with this mark."""
        seen = self._clock.monotonic()
        if at >= self.stamp.at:
            self.stamp = Stamp(at=at, seen=seen, round_trip=seen - asked, mark=mark)
