"""Lengths of time, as arguments give them."""

from datetime import timedelta

from makegood.errors import MakegoodError

LONGEST = 1e11
"""Seconds, 3,000 years: more is taken for as much."""


def in_seconds(name: str, length: object) -> float:
    """A length of time in seconds; `name` is the argument's. Raises MakegoodError for what is none."""
    seconds = length.total_seconds() if isinstance(length, timedelta) else length
    if not isinstance(seconds, int | float) or seconds is True or not seconds >= 0:  # which NaN is not
        raise MakegoodError(
            f"{name}={length!r} is no length of time: give seconds, 0 or more, or a timedelta; {name}=30 say"
        )
    return float(min(seconds, LONGEST))
