"""Backoff as arithmetic: whole milliseconds, no clock, jitter given."""

from makegood.core.document import Retry, UndoRetry
from makegood.core.plan import Millis, millis

RETRY_AFTER_MAX: Millis = 24 * 3600 * 1000
AFTER_PIVOT_CAP: Millis = 600 * 1000
JITTER_MAX = 250
"""Thousandths of the delay that jitter may add; it never takes away."""


def backoff(policy: Retry | UndoRetry, retries: int, jitter: int, *, cap: Millis | None = None) -> Millis:
    """How long to wait before the retry with this number (the first is 1); `jitter` in thousandths."""
    limit = millis(policy.cap) if cap is None else cap
    delay = _grown(policy, retries - 1, limit)
    return delay + delay * min(max(jitter, 0), JITTER_MAX) // 1000


def _grown(policy: Retry | UndoRetry, times: int, limit: Millis) -> Millis:
    try:
        seconds = policy.delay * policy.factor**times
    except OverflowError:
        return limit
    return limit if seconds * 1000 >= limit else millis(seconds)
