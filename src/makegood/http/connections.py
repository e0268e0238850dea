"""Connections that are cut when their call must be over, and that pass on no answer which breaks off."""

import io
import socket
import struct
import threading
from contextlib import suppress
from contextvars import ContextVar
from http import HTTPStatus
from http.client import HTTPResponse, RemoteDisconnected
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection

from makegood.agents.call import Call
from makegood.errors import Transient
from makegood.http.exchange import TOO_LATE, check_time, time_for

DROPS = struct.pack("ii", 1, 0)
"""SO_LINGER, on and 0 s: closing waits for nothing and drops what is in the buffer."""


class Watch:
    """One request: it is not sent after its call's time, and is cut off when that is nearly over."""

    def __init__(self, current: Call) -> None:
        self.cut = False
        self._late = False
        self._call = current
        self._socket: socket.socket | None = None
        self._turn = threading.Lock()
        self._timer = threading.Timer(time_for(current), self._time_out)
        self._timer.daemon = True

    def start(self) -> None:
        """Have the time run."""
        self._timer.start()

    def end(self) -> None:
        """The request is over: from now on nothing is cut."""
        self._timer.cancel()
        self.let_go()

    def let_go(self) -> None:
        """Another request has its connection now, which is not to be cut for this one."""
        with self._turn:
            self._socket = None

    def sends(self, connection: "Connection") -> None:
        """It sends something over this connection. Raises Transient if that is the first and too late."""
        if connection.sock is self._socket:
            return
        if connection.watch is not None:
            connection.watch.let_go()  # of an answer that was read as a stream
        with self._turn:
            check_time(self._call)
            if self._late:  # it took that long to connect, and nobody would cut it any more
                raise Transient(TOO_LATE)
            self._socket = connection.sock
        connection.watch = self

    def _time_out(self) -> None:
        with self._turn:
            self._late = True
            if self._socket is not None:
                self.cut = True
                _cut(self._socket)


def _cut(sock: socket.socket) -> None:
    """Wake the thread that waits on it: it closes it, which drops what is not sent yet."""
    with suppress(OSError):  # it is closed already
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, DROPS)
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


current_watch: ContextVar[Watch | None] = ContextVar("makegood_http_watch", default=None)
"""Of the request that is being made in this thread."""


class Arriving(io.RawIOBase):
    """What arrives at a socket: where a watch has cut it, it breaks off, and does not end."""

    def __init__(self, raw: io.RawIOBase, watch: Watch | None) -> None:
        self._raw = raw
        self._watch = watch

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any, /) -> int | None:
        count = self._raw.readinto(buffer)
        if not count and self._watch is not None and self._watch.cut:
            raise ConnectionAbortedError("its call was over")
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class WholeLines(io.BufferedReader):
    """Where a line breaks off, neither a head nor a body in chunks ends."""

    def readline(self, size: int | None = -1, /) -> bytes:
        """A line, or as much of it as asked for. Raises RemoteDisconnected where there is no more of it."""
        line = super().readline(size)
        if not line.endswith(b"\n") and len(line) != size:
            raise RemoteDisconnected("the connection was closed in the middle of the answer")
        return line


class Answer(HTTPResponse):
    """One that is whole, or raises: http.client takes the end of a connection for the end of a head."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = WholeLines(Arriving(self.fp.detach(), current_watch.get()))

    def begin(self) -> None:
        """Read the head; one that only informs comes before it, and http.client knows but the first kind."""
        super().begin()
        while HTTPStatus.SWITCHING_PROTOCOLS < self.status < HTTPStatus.OK:
            self.headers = None  # type: ignore[assignment]  # so that it begins again
            super().begin()
        if self.status == HTTPStatus.SWITCHING_PROTOCOLS:
            self.will_close = True  # no other request can go over this connection


class Connection(HTTPConnection):
    """A connection that knows which request it is used for."""

    response_class = Answer
    watch: Watch | None = None

    def send(self, data: Any) -> None:
        """Connect if need be, then send while there is time."""
        if self.sock is None:
            self.connect()
        watch = current_watch.get()
        if watch is not None:
            watch.sends(self)
        super().send(data)


class SecureConnection(Connection, HTTPSConnection):
    """The same over TLS."""
