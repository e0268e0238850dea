"""Just enough of PostgreSQL's side of its protocol to fail as a server can; the client is the real one."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

READY = b"Z" + struct.pack("!i", 5) + b"T"
EXTENDED = b"1\0\0\0\x04" + b"2\0\0\0\x04" + b"n\0\0\0\x04"
"""Parsed, bound, no rows to describe."""


@contextmanager
def postgres(*, fails_at: bytes, sqlstate: str = "") -> Iterator[str]:
    """A server that reports `sqlstate` at this statement, or closes the connection; a conninfo for it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        serving = threading.Thread(target=_serve, args=(listening, fails_at, sqlstate))
        serving.start()
        host, port = listening.getsockname()
        yield f"host={host} port={port} user=ann dbname=shop sslmode=disable gssencmode=disable"
        serving.join()


def _serve(listening: socket.socket, fails_at: bytes, sqlstate: str) -> None:
    connection, _ = listening.accept()
    with connection, suppress(OSError):
        _message(connection, typed=False)
        connection.sendall(b"R" + struct.pack("!ii", 8, 0) + READY)
        statement = b""
        while message := _message(connection):
            kind, body = message[:1], message[1:]
            statement = body if kind in b"PQ" else statement
            if kind in b"SQ" and fails_at in statement:
                if not sqlstate:
                    return
                connection.sendall(_error(sqlstate) + READY)
            elif kind in b"SQ":
                tag = b"C" + struct.pack("!i", 4 + len(b"BEGIN\0")) + b"BEGIN\0"
                connection.sendall((EXTENDED if kind == b"S" else b"") + tag + READY)


def _message(connection: socket.socket, *, typed: bool = True) -> bytes:
    """The next message of the client: its type, where it has one, and its body; b"" at the end."""
    head = connection.recv(5 if typed else 4, socket.MSG_WAITALL)
    if not head or head[:1] == b"X":
        return b""
    [length] = struct.unpack("!i", head[-4:])
    return head[:-4] + connection.recv(length - 4, socket.MSG_WAITALL)


def _error(sqlstate: str) -> bytes:
    fields = b"".join(
        kind + text.encode() + b"\0" for kind, text in ((b"S", "ERROR"), (b"C", sqlstate), (b"M", "it fails"))
    )
    return b"E" + struct.pack("!i", 4 + len(fields) + 1) + fields + b"\0"
