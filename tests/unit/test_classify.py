"""What a service's `Retry-After` is taken for: a floor for the next try, or nothing."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from makegood.agents.classify import meaning_of_status
from makegood.core.events import Reply

SENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "wait"),
    [
        ("0", 0),
        ("120", 120_000),
        ("9" * 5000, 9_999_999_999_000),  # no int can be made of so many digits
        ("\u0663", 0),  # a digit, but no number of HTTP's
        ("-1", 0),
        ("soon", 0),
        (format_datetime(SENT + timedelta(seconds=30)), 30_000),  # by the service's own clock
        (format_datetime(SENT - timedelta(seconds=30)), 0),
    ],
)
def test_what_retry_after_says(said: str, wait: int) -> None:
    headers = {"retry-AFTER": said, "Date": format_datetime(SENT)}
    meaning = meaning_of_status(429, headers)
    assert (meaning.reply, meaning.retry_after) == (Reply.TRANSIENT, wait)
