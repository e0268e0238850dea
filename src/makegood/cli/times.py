"""Moments as the clock on the reader's wall shows them; documents have them in UTC, to the millisecond."""

from collections.abc import Iterable
from datetime import datetime

from makegood.core.plan import Millis
from makegood.reading.story import Line

COLUMNS = ("WHEN", "WHO", "WHAT")


def local(at: Millis) -> datetime:
    """The moment in this machine's time zone."""
    return datetime.fromtimestamp(at / 1000).astimezone()


class Diary:
    """A history as rows of COLUMNS. A row of its own says the day, once."""

    def __init__(self) -> None:
        self._day = ""

    def rows(self, lines: Iterable[Line]) -> list[tuple[str, str, str]]:
        """The next lines."""
        made: list[tuple[str, str, str]] = []
        for line in lines:
            at = local(line.at)
            day = f"{at:%Y-%m-%d}, times in {at:%Z}"
            if day != self._day:
                made.append(("", "", day))
                self._day = day
            made.append((f"{at:%H:%M:%S}", line.who, line.what))
        return made
