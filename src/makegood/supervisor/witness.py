"""What this process has itself seen pass: wall clocks jump, so a wait-out needs a monotonic witness.

Nor do they agree: another process may have made a call at a moment that this one's store time had passed
before. But whatever is stamped before a mark of the store was decided on an answer that the store gave before
that mark was seen, and no process decides on an answer that is older than FRESH.
"""

from bisect import bisect_right

from makegood.core.plan import Millis
from makegood.desk import FRESH
from makegood.store.protocol import Stamp

SPACING = 0.2
"""Seconds of which only the first and the last stamp are kept: a wait-out may take so much longer than it
must, where stamps come as often."""
KEPT_MAX = 20_000


class Witness:
    """The store's marks as this process read them, each with its own monotonic moment."""

    def __init__(self) -> None:
        self._marks: list[Millis] = []
        self._seen: list[float] = []

    def note(self, stamp: Stamp) -> None:
        """Keep a mark, and drop the one before it where those beside that are about as good."""
        if self._marks and stamp.mark <= self._marks[-1]:
            return
        if len(self._seen) > 1 and stamp.seen < self._seen[-2] + SPACING:
            del self._marks[-1], self._seen[-1]
        self._marks.append(stamp.mark)
        self._seen.append(stamp.seen)
        if len(self._marks) > KEPT_MAX:
            self._thin()

    def left(self, since: Millis, span: Millis, monotonic: float) -> float:
        """Seconds until `span` will have passed since whatever was decided at the moment `since`.

        0: it has passed.
        """
        first = bisect_right(self._marks, since)
        seen = self._seen[first] if first < len(self._marks) else monotonic
        return max(0.0, seen + FRESH + span / 1000 - monotonic)

    def _thin(self) -> None:
        """Forget every other of the older half: long waits only get a little longer."""
        half = KEPT_MAX // 2
        self._marks[:half] = self._marks[:half:2]
        self._seen[:half] = self._seen[:half:2]
