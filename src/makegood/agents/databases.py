"""What the errors of databases mean: psycopg by SQLSTATE, sqlite3 by the name of its result code.

An error that the database itself reports has undone its transaction. What is not settled by that is a
connection that is lost: it may have been lost after the commit.
"""

from typing import Any

from makegood.agents.statuses import REFUSED, TRANSIENT, UNKNOWN, Verdict

SQLSTATES: dict[str, Verdict] = {
    "08001": TRANSIENT,  # the connection could not be made,
    "08004": TRANSIENT,  # or was turned away
    "08": UNKNOWN,  # it was lost
    "0A": REFUSED,
    "21": REFUSED,
    "22": REFUSED,  # data
    "23": REFUSED,  # integrity
    "25": TRANSIENT,  # read-only (a standby, say), or idle in transaction for too long
    "26": REFUSED,
    "28": TRANSIENT,  # not authorized, until somebody corrects that
    "34": REFUSED,
    "3D": TRANSIENT,
    "3F": REFUSED,
    "40": TRANSIENT,  # serialization, deadlock
    "40002": REFUSED,
    "40003": UNKNOWN,  # "statement completion unknown"
    "42": REFUSED,  # syntax, names, rights
    "44": REFUSED,
    "53": TRANSIENT,  # out of connections, memory, disk
    "54": REFUSED,
    "55": TRANSIENT,  # locked, in use
    "57014": TRANSIENT,  # cancelled, by a timeout as well
    "57P03": TRANSIENT,  # starting up: "cannot connect now"
    "57": UNKNOWN,  # shut down, perhaps when the commit was written and not yet confirmed
    "P0": REFUSED,  # raised by a function of the database
}
"""By the whole SQLSTATE or its class; what is not here is unknown."""

SQLITE_CODES: dict[str, Verdict] = {
    "SQLITE_AUTH": REFUSED,
    "SQLITE_BUSY": TRANSIENT,
    "SQLITE_CANTOPEN": TRANSIENT,
    "SQLITE_CONSTRAINT": REFUSED,
    "SQLITE_ERROR": REFUSED,  # the statement does not fit the schema, or is no SQL
    "SQLITE_FULL": TRANSIENT,
    "SQLITE_LOCKED": TRANSIENT,
    "SQLITE_MISMATCH": REFUSED,
    "SQLITE_NOTADB": TRANSIENT,
    "SQLITE_RANGE": REFUSED,
    "SQLITE_READONLY": TRANSIENT,
    "SQLITE_TOOBIG": REFUSED,
}
"""By the name of the code or of the code that it refines; what is not here (an I/O error, say) is unknown."""

NAME_UNRESOLVED = "failed to resolve host"


def of_psycopg(error: Any) -> Verdict:
    """By SQLSTATE; where the server said none, a connection that never stood is certain."""
    state = error.sqlstate
    if state is None:
        return TRANSIENT if error.pgconn is not None or str(error).startswith(NAME_UNRESOLVED) else UNKNOWN
    return SQLSTATES.get(state) or SQLSTATES.get(state[:2]) or UNKNOWN


def of_sqlite(error: Any) -> Verdict:
    """By the result code; an error of the module itself, which has none, is unknown."""
    words = error.sqlite_errorname.split("_")
    return SQLITE_CODES.get("_".join(words[:2]), UNKNOWN)
