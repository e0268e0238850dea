"""Moments as people are shown them: in UTC, with a Z, as logs of services and --json have them."""

from collections.abc import Iterable
from datetime import UTC, datetime

from makegood.core.plan import Millis
from makegood.reading.story import Line

COLUMNS = ("WHEN", "WHO", "WHAT")


def utc(at: Millis) -> datetime:
    """The moment in UTC, whatever the time zone of this machine."""
    return datetime.fromtimestamp(at / 1000, UTC)


def in_short(at: Millis) -> str:
    """Day and time of a moment that is not long ago: `11-30 22:22:05Z`."""
    return f"{utc(at):%m-%d %H:%M:%S}Z"


class Diary:
    """A history as rows of COLUMNS. A row of its own says the day, once."""

    def __init__(self) -> None:
        self._day = ""

    def rows(self, lines: Iterable[Line]) -> list[tuple[str, str, str]]:
        """The next lines."""
        made: list[tuple[str, str, str]] = []
        for line in lines:
            at = utc(line.at)
            day = f"{at:%Y-%m-%d}"
            if day != self._day:
                made.append((day, "", ""))
                self._day = day
            made.append((f"{at:%H:%M:%S}Z", line.who, line.what))
        return made
