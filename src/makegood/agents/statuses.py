"""What an HTTP status means."""

from collections.abc import Mapping
from typing import NamedTuple

from makegood.core.events import Reply
from makegood.core.plan import Millis


class Verdict(NamedTuple):
    """How a call ended, and the floor for its next try in milliseconds (0: none)."""

    reply: Reply
    retry_after: Millis = 0


UNKNOWN = Verdict(Reply.UNKNOWN)
REFUSED = Verdict(Reply.REFUSED)
TRANSIENT = Verdict(Reply.TRANSIENT)


def of_status(status: int, headers: Mapping[str, str], *, keyed: bool = False) -> Verdict:
    """Classify an HTTP status that is no success. `Retry-After` is a floor for the next try."""
    if status in (425, 429):
        return Verdict(Reply.TRANSIENT, _retry_after(headers))
    if status == 408 or status >= 500 or status < 400 or (status == 409 and keyed):
        return Verdict(Reply.UNKNOWN, _retry_after(headers))
    return REFUSED


def _retry_after(headers: Mapping[str, str]) -> Millis:
    """`Retry-After` in milliseconds; a date counts from the service's own `Date`: its clock is not ours."""
    lower = {name.lower(): value for name, value in headers.items()}
    value = lower.get("retry-after", "").strip()
    if value.isdecimal() and value.isascii():
        return int(value[:10]) * 1000
    from email.utils import parsedate_to_datetime  # rarely needed, and slow to import

    try:
        sent = parsedate_to_datetime(lower.get("date", ""))
        return max(0, int((parsedate_to_datetime(value) - sent).total_seconds() * 1000))
    except (TypeError, ValueError):
        return 0
