"""The only place that reads time; everything else is given a Clock."""

import time
from typing import Protocol

from makegood.core.plan import Millis


class Clock(Protocol):
    """Where a process takes its time from."""

    def wall(self) -> Millis:
        """Milliseconds since 1970-01-01 UTC as this machine believes; may jump either way."""

    def monotonic(self) -> float:
        """Seconds since some moment of this process; never falls, never jumps."""


class SystemClock:
    """The machine's own clocks."""

    def wall(self) -> Millis:
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
