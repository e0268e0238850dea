"""A clock that a test turns by hand."""

from makegood.core.plan import Millis


class TurnedClock:
    """Stands still until it is told to go on; its wall side can also be set to anything."""

    def __init__(self, wall: Millis = 1_790_000_000_000) -> None:
        self._wall = float(wall)
        self._seconds = 1000.0

    def wall(self) -> Millis:
        return int(self._wall)

    def monotonic(self) -> float:
        return self._seconds

    def go_on(self, seconds: float) -> None:
        """Let time pass."""
        self._seconds += seconds
        self._wall += seconds * 1000

    def turn(self, millis: Millis) -> None:
        """Set the wall clock forward or back."""
        self._wall += millis

    async def sleep(self, seconds: float) -> None:
        """Take no time at all, yet let it pass."""
        self.go_on(seconds)
