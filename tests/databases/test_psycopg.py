"""What psycopg's errors mean, raised by psycopg itself."""

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from urllib.parse import urlsplit

import psycopg
import pytest

from makegood.agents.classify import meaning_of
from makegood.core.events import Reply
from tests.databases.server import postgres
from tests.http.services import crowded, nowhere, refused, silent


def raised(work: Callable[[], None]) -> Exception:
    try:
        work()
    except psycopg.Error as error:
        return error
    raise AssertionError("nothing was raised")


def book(conninfo: str) -> None:
    """One transaction, as an action would do it."""
    with closing(psycopg.connect(conninfo)) as connection, connection:
        connection.execute("INSERT INTO booking VALUES (%s)", ["ann"])


@pytest.mark.parametrize("ill", [refused, nowhere, crowded, silent])
def test_a_connection_that_never_stood_is_certain(ill: Callable[[], AbstractContextManager[str]]) -> None:
    with ill() as url:
        parts = urlsplit(url)
        error = raised(lambda: book(f"host={parts.hostname} port={parts.port or 5432} connect_timeout=2"))
    assert meaning_of(error).reply is Reply.TRANSIENT


@pytest.mark.parametrize("statement", [b"INSERT", b"COMMIT"])
def test_a_connection_that_is_lost_is_in_doubt(statement: bytes) -> None:
    """Nobody can say how far the server came."""
    with postgres(fails_at=statement) as conninfo:
        assert meaning_of(raised(lambda: book(conninfo))).reply is Reply.UNKNOWN


@pytest.mark.parametrize(
    ("sqlstate", "statement", "reply"),
    [
        ("23505", b"INSERT", Reply.REFUSED),
        ("23503", b"COMMIT", Reply.REFUSED),  # a constraint that is deferred
        ("22003", b"INSERT", Reply.REFUSED),
        ("42P01", b"INSERT", Reply.REFUSED),
        ("P0001", b"INSERT", Reply.REFUSED),
        ("40001", b"COMMIT", Reply.TRANSIENT),
        ("40P01", b"INSERT", Reply.TRANSIENT),
        ("55P03", b"INSERT", Reply.TRANSIENT),
        ("57014", b"INSERT", Reply.TRANSIENT),
        ("53300", b"INSERT", Reply.TRANSIENT),
        ("40003", b"COMMIT", Reply.UNKNOWN),
        ("57P01", b"COMMIT", Reply.UNKNOWN),
        ("08006", b"COMMIT", Reply.UNKNOWN),
        ("XX000", b"INSERT", Reply.UNKNOWN),
        ("ZZ999", b"INSERT", Reply.UNKNOWN),
    ],
)
def test_an_error_that_the_server_reports(sqlstate: str, statement: bytes, reply: Reply) -> None:
    with postgres(fails_at=statement, sqlstate=sqlstate) as conninfo:
        error = raised(lambda: book(conninfo))
    assert isinstance(error, psycopg.Error)
    assert error.sqlstate == sqlstate
    assert meaning_of(error).reply is reply
