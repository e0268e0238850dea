"""The tables of docs/services.md are those of the code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from makegood.agents.databases import SQLITE_CODES, SQLSTATES
from makegood.agents.libraries import INVALID, NOT_SENT, RULES
from makegood.agents.statuses import UNKNOWN, of_status
from makegood.core.events import Reply

DOCUMENT = (Path(__file__).parents[2] / "docs" / "services.md").read_text("utf-8")
OF_PYTHON = ("builtins", "socket", "ssl", "urllib")


def rows(first_column: str) -> Iterator[list[str]]:
    """The cells of the table whose first column is called so."""
    table = DOCUMENT.partition(f"\n| {first_column} |")[2].partition("\n\n")[0]
    for line in table.splitlines()[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def exceptions() -> Iterator[str]:
    """The rows of the table of exceptions, as they must be."""
    libraries: dict[str, list[list[str]]] = {}
    for name, rule in RULES.items():
        library, _, exception = name.partition(".")
        columns = libraries.setdefault("Python" if library in OF_PYTHON else library, [[], [], []])
        if rule is NOT_SENT:
            columns[0].append(f"`{exception}`")
        elif rule.words == "what it wraps":
            columns[1].append(f"`{exception}`")
        elif rule is INVALID:
            columns[2].append(f"`{exception}` (refused)")
        else:
            columns[2].append(f"`{exception}`")
    for library, columns in libraries.items():
        yield f"| {library} | " + " | ".join(", ".join(names) for names in columns) + " |"


def test_the_table_of_exceptions_is_that_of_the_code() -> None:
    table = DOCUMENT.partition("\n| library |")[2].partition("\n\n")[0]
    assert table.splitlines()[2:] == list(exceptions())


def test_the_table_of_statuses_is_true() -> None:
    told = {int(status): said.split(";")[0] for cells in rows("status") for status, said in told_in(cells)}
    assert len(told) >= 17
    assert of_status(409, {}, keyed=True).reply is Reply.UNKNOWN
    for status in range(300, 600):
        reply = of_status(status, {}).reply
        other = "refused" if 400 <= status < 500 else "unknown"
        assert reply == Reply(told.get(status, other)), status


def test_the_table_of_sqlstates_is_true() -> None:
    for cells in rows("SQLSTATE"):
        for state, said in told_in([cells[0], cells[2]]):
            assert SQLSTATES.get(state, UNKNOWN).reply == Reply(said), state


def test_the_table_of_sqlite_is_true() -> None:
    told = [(code, said) for cells in rows("SQLite") for code, said in told_in(cells)]
    assert len(told) >= 10
    for code, said in told:
        assert SQLITE_CODES.get(code, UNKNOWN).reply == Reply(said), code


def told_in(cells: list[str]) -> Iterator[tuple[str, str]]:
    names, said = cells
    for name in re.split(r",\s*", names):
        yield name, said


@pytest.mark.parametrize("library", ["httpx", "aiohttp", "requests", "botocore", "psycopg", "sqlite3"])
def test_every_library_that_is_named_has_rules(library: str) -> None:
    assert library in DOCUMENT
    assert [name for name in RULES if name.startswith(f"{library}.")]
