"""Faults: what can go wrong with a call, which call is hit, and what its client sees of it."""

import math
import random
import threading
import time
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from .call import Answer


class Fault(StrEnum):
    """What befalls a call. `before`: nothing was done. `after`: it was done, and the client cannot know."""

    LATENCY = "latency"  # done and answered, only later
    ERROR_BEFORE = "500-before"
    ERROR_AFTER = "500-after"
    THROTTLED = "429"  # nothing done; Retry-After says when to come again
    RESET_BEFORE = "reset-before"
    RESET_AFTER = "reset-after"  # the lost answer
    HANG_BEFORE = "hang-before"  # no answer at all: it is the client who gives up
    HANG_AFTER = "hang-after"
    LATE = "late"  # done only after the client gave up, within `settle`
    DOWN = "down"  # this call and every other is reset for a while


WITHOUT_EFFECT = frozenset(
    {Fault.ERROR_BEFORE, Fault.THROTTLED, Fault.RESET_BEFORE, Fault.HANG_BEFORE, Fault.DOWN}
)
HANGS = frozenset({Fault.HANG_BEFORE, Fault.HANG_AFTER})
CARDS = sorted({*Fault} - {Fault.DOWN}) * 2 + [Fault.DOWN]  # one outage hits many calls
CARDS_READING = [Fault.LATENCY, Fault.ERROR_BEFORE, Fault.RESET_BEFORE]
SHARES = {"none": 0.0, "some": 0.1, "high": 0.35}  # of all calls, how many are hit
RETRY_AFTER_SECONDS = 1
LATENCY_SECONDS = (0.05, 0.4)
OUTAGE_SECONDS = (0.5, 1.5)
HANG_SECONDS_MAX = 8.0
SETTLING = (0.1, 0.8)  # when a late effect happens, in shares of `settle` after the client gave up
SETTLED = 0.9  # no effect begins after this share of it, so that its commit is within


def shown(fault: Fault | None, answer: Answer) -> Answer | None:
    """What the client gets to see in place of `answer`; None where the connection breaks without any."""
    match fault:
        case None | Fault.LATENCY:
            return answer
        case Fault.ERROR_BEFORE | Fault.ERROR_AFTER:
            return Answer(500, {"error": "something went wrong here"})
        case Fault.THROTTLED:
            return Answer(429, {"error": "too many requests"})
        case _:
            return None


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long things last, in seconds; `scale` shortens or stretches latency, outages and hangs."""

    client_timeout: float = 1.0  # how long the clients are known to wait
    settle: float = 1.0  # how long after a client gave up its call may still have an effect
    scale: float = 1.0


class Faults:
    """Deals faults to calls: what was armed first, else from a seeded deck.

    A deck rather than dice: within a few dozen calls the level's share is exact and every kind has come up.
    """

    def __init__(self, level: str, seed: str, pace: Pace, often: tuple[Fault, ...] = ()) -> None:
        self.pace = pace
        self._share = SHARES[level]
        self._random = random.Random(seed)  # noqa: S311 - no secrets here
        self._writing = Deck([*CARDS, *often], self._share, self._random)
        self._reading = Deck(CARDS_READING, self._share, self._random)
        self._armed: deque[Fault] = deque()
        self._down_until = 0.0
        self._lock = threading.Lock()

    @property
    def down(self) -> bool:
        return time.monotonic() < self._down_until

    def arm(self, fault: Fault, count: int) -> None:
        """The next `count` calls are hit by it, whatever the level."""
        with self._lock:
            self._armed.extend([fault] * count)

    def go_down(self, seconds: float) -> None:
        self._down_until = time.monotonic() + seconds

    def strike(self, *, reading: bool) -> Fault | None:
        """The fault that hits the call now coming in; None: it is spared."""
        with self._lock:
            if self.down:
                return Fault.DOWN
            if self._armed:
                fault: Fault | None = self._armed.popleft()
            else:
                fault = (self._reading if reading else self._writing).deal()
            if fault is Fault.DOWN:
                self.go_down(self._between(OUTAGE_SECONDS) * self.pace.scale)
            return fault

    def latency(self) -> float:
        return self._between(LATENCY_SECONDS) * self.pace.scale

    def settling(self) -> float:
        """How long after the client gave up a late effect happens."""
        return self._between(SETTLING) * self.pace.settle

    def _between(self, bounds: tuple[float, float]) -> float:
        return self._random.uniform(*bounds)


class Deck:
    """Fault cards among blanks, shuffled anew whenever all are dealt; with a share of 0 all are blank."""

    def __init__(self, faults: list[Fault], share: float, shuffler: random.Random) -> None:
        blanks = math.floor(len(faults) / share) - len(faults) if share else 1
        self._cards: list[Fault | None] = [*(faults if share else []), *[None] * blanks]
        self._random = shuffler
        self._left: list[Fault | None] = []

    def deal(self) -> Fault | None:
        if not self._left:
            self._left = self._cards.copy()
            self._random.shuffle(self._left)
        return self._left.pop()
