"""What sqlite3's errors mean, raised by real files."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from makegood.agents.classify import meaning_of
from makegood.core.events import Reply

Work = Callable[[sqlite3.Connection], object]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "shop.db", timeout=0)) as connection:
        connection.execute("CREATE TABLE booking (guest TEXT UNIQUE NOT NULL)")
        yield connection


def reply_to(connection: sqlite3.Connection, work: Work) -> Reply:
    with pytest.raises(sqlite3.Error) as raised:
        work(connection)
    return meaning_of(raised.value).reply


def test_a_database_that_is_locked_is_tried_again(database: sqlite3.Connection, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert reply_to(database, lambda db: db.execute("INSERT INTO booking VALUES ('ann')")) == "transient"


def test_a_commit_that_finds_it_busy_is_tried_again(database: sqlite3.Connection, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM booking").fetchall()
        database.execute("INSERT INTO booking VALUES ('ann')")
        assert reply_to(database, lambda db: db.commit()) is Reply.TRANSIENT
    database.rollback()


def insert_twice(database: sqlite3.Connection) -> None:
    with database:
        database.execute("INSERT INTO booking VALUES ('ann')")
        database.execute("INSERT INTO booking VALUES ('ann')")


@pytest.mark.parametrize(
    ("work", "reply"),
    [
        (insert_twice, Reply.REFUSED),
        (lambda db: db.execute("INSERT INTO booking VALUES (NULL)"), Reply.REFUSED),
        (lambda db: db.execute("INSERT INTO bookings VALUES (1)"), Reply.REFUSED),
        (lambda db: db.execute("INSERT INTO booking VALUES (?)"), Reply.UNKNOWN),  # the module's own words
    ],
)
def test_what_it_reports(database: sqlite3.Connection, work: Work, reply: Reply) -> None:
    assert reply_to(database, work) is reply
    assert database.execute("SELECT count(*) FROM booking").fetchone() == (0,)


def test_a_file_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError) as raised:
        sqlite3.connect(tmp_path / "no" / "shop.db")
    assert meaning_of(raised.value).reply is Reply.TRANSIENT
