"""What exceptions mean that no library made as it does, and what `Retry-After` is taken for."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from makegood.agents.classify import meaning_of, meaning_of_status
from makegood.core.events import Reply
from makegood.errors import Transient, Unknown

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


@pytest.mark.parametrize("kind", [Transient, Unknown])
@pytest.mark.parametrize("wait", [90, 90.0, timedelta(seconds=90)])
def test_a_wait_is_given_in_seconds_or_as_a_timedelta(
    kind: type[Transient | Unknown], wait: float | timedelta
) -> None:
    assert meaning_of(kind("busy", retry_after=wait)).retry_after == 90_000


def of(library: str, name: str, base: type[Exception] = Exception, **attributes: object) -> Exception:
    """An exception that is called like one of a library, and is otherwise as given."""
    kind = type(name, (base,), {"__module__": f"{library}.inner"})
    error: Exception = kind("it fails")
    vars(error).update(attributes)
    return error


def test_whatever_is_not_known_is_unknown() -> None:
    for error in (
        ValueError(),
        TimeoutError(),
        ConnectionResetError(),
        KeyboardInterrupt(),
        of("mine", "Odd"),
    ):
        assert meaning_of(error).reply is Reply.UNKNOWN


def test_what_derives_from_a_known_exception_is_taken_for_it() -> None:
    class Mine(ConnectionRefusedError):
        pass

    assert meaning_of(Mine()).reply is Reply.TRANSIENT


def test_an_exception_of_your_own_hides_what_it_wraps() -> None:
    """It may have been raised after much else."""
    wrapped = ValueError("nobody there")
    wrapped.__cause__ = ConnectionRefusedError()
    assert meaning_of(wrapped).reply is Reply.UNKNOWN


@pytest.mark.parametrize(
    "error",
    [
        of("requests", "HTTPError", response=None),
        of("requests", "ConnectionError"),
        of("httpx", "HTTPStatusError"),
        of("aiohttp", "ClientResponseError", status="no", headers=5, history=()),
        of("botocore", "ClientError", response={}),
        of("botocore", "SSLError", kwargs=None),
        of("urllib3", "MaxRetryError", reason=None),
        of("psycopg", "Error"),
        of("sqlite3", "Error", sqlite_errorname=None),
        of("urllib", "URLError", reason="no host given"),
    ],
    ids=repr,
)
def test_what_is_not_as_its_library_makes_it_is_unknown(error: Exception) -> None:
    assert meaning_of(error).reply is Reply.UNKNOWN


def test_a_class_without_a_proper_module_is_unknown() -> None:
    kind = type("Odd", (Exception,), {"__module__": 5})
    assert meaning_of(kind()).reply is Reply.UNKNOWN
