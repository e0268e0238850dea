"""requests' Session, kept to the call it serves: a thread cannot be cancelled, so its connection is cut."""

import socket
import struct
import threading
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import Timeout
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from makegood.agents.call import Call
from makegood.agents.runner import THREADS_MAX
from makegood.http.exchange import (
    ACKNOWLEDGED_WITHIN,
    CONNECT_WITHIN,
    KEY_HEADER,
    SAFE,
    add_key,
    check_time,
    complaint,
    current_call,
    socket_options,
    time_for,
    within,
)

DROPS = struct.pack("ii", 1, 0)
"""SO_LINGER, on and 0 s: closing waits for nothing and drops what is in the buffer."""


class Watch:
    """One request: it is not sent after its call's time, and is cut off when that is nearly over."""

    def __init__(self, current: Call) -> None:
        self.cut = False
        self._over = False
        self._call = current
        self._connection: Connection | None = None
        self._turn = threading.Lock()
        self._timer = threading.Timer(time_for(current), self._time_out)
        self._timer.daemon = True

    def start(self) -> None:
        """Have the time run."""
        self._timer.start()

    def end(self) -> None:
        """The request is over: from now on nothing is cut."""
        self._timer.cancel()
        with self._turn:
            self._over = True

    def sends(self, connection: "Connection") -> None:
        """It sends something over this connection. Raises Transient if that is the first and too late."""
        if self._connection is not None:
            return
        with self._turn:
            check_time(self._call)
            self._connection = connection
        if connection.watch is not None:
            connection.watch.end()  # of an answer that was read as a stream
        connection.watch = self

    def _time_out(self) -> None:
        with self._turn:
            if self._connection is not None and not self._over:
                self.cut = True
                self._connection.cut()


_watch: ContextVar[Watch | None] = ContextVar("makegood_http_watch", default=None)


class Connection(HTTPConnection):
    """A connection that knows which request it is used for."""

    watch: Watch | None = None

    def send(self, data: Any) -> None:
        """Connect if need be, then send while there is time."""
        if self.sock is None:
            self.connect()
        watch = _watch.get()
        if watch is not None:
            watch.sends(self)
        super().send(data)

    def cut(self) -> None:
        """Wake the thread that waits on it: it closes it, which drops what is not sent yet."""
        if self.sock is not None:
            with suppress(OSError):  # it is closed already
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, DROPS)
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)


class SecureConnection(Connection, HTTPSConnection):
    """The same over TLS."""


class Pool(HTTPConnectionPool):
    """Makes such connections."""

    ConnectionCls = Connection


class SecurePool(HTTPSConnectionPool):
    """Makes such connections."""

    ConnectionCls = SecureConnection


class Adapter(HTTPAdapter):
    """Connects with the socket options of an action's requests, and tries nothing again."""

    def __init__(self, acknowledged_within: float) -> None:
        self._sockets = socket_options(acknowledged_within)
        super().__init__(pool_maxsize=THREADS_MAX, max_retries=0)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **options: Any) -> None:
        """The pools for requests without a proxy."""
        super().init_poolmanager(connections, maxsize, block, socket_options=self._sockets, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": Pool, "https": SecurePool}

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """The pools for requests through this proxy."""
        manager = super().proxy_manager_for(proxy, socket_options=self._sockets, **options)
        manager.pool_classes_by_scheme = {"http": Pool, "https": SecurePool}
        return manager


class Session(requests.Session):
    """A `requests.Session` for actions.

    A request is cut off at the end of its call, body and all, whatever `timeout` says; outside of a call only
    `timeout` bounds it. Every status that is no success raises requests.HTTPError unless
    `raise_for_status=False`. `key_header`: the name of the header that carries the call's key, None for none.
    `acknowledged_within` is in seconds, for TCP_USER_TIMEOUT.
    """

    def __init__(
        self,
        *,
        key_header: str | None = KEY_HEADER,
        raise_for_status: bool = True,
        acknowledged_within: float = ACKNOWLEDGED_WITHIN,
    ) -> None:
        super().__init__()
        self._key_header = key_header
        self._raises = raise_for_status
        for scheme in ("http://", "https://"):
            self.mount(scheme, Adapter(acknowledged_within))

    def send(self, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        """Every request that is made goes through here, each hop of a redirect too."""
        current, method = current_call(), request.method or ""
        check_time(current)
        add_key(request.headers, current, method, self._key_header)
        if method not in SAFE:
            how["allow_redirects"] = False
        how["timeout"] = _bounded(current, how.get("timeout"))
        response = super().send(request, **how) if current is None else self._watched(current, request, how)
        on_its_way = response.is_redirect and method in SAFE
        if self._raises and not on_its_way and not 200 <= response.status_code < 300:
            said = complaint(method, request.url or "", response.status_code, response.text)
            raise requests.HTTPError(said, request=request, response=response)
        return response

    def _watched(
        self, current: Call, request: requests.PreparedRequest, how: dict[str, Any]
    ) -> requests.Response:
        watch = Watch(current)
        before = _watch.set(watch)
        watch.start()
        try:
            return super().send(request, **how)
        except requests.RequestException as error:
            if watch.cut:
                raise requests.ReadTimeout("no answer before its call was over", request=request) from error
            raise
        finally:
            _watch.reset(before)
            if not how.get("stream"):  # the time of a stream runs on
                watch.end()


def _bounded(current: Call | None, timeout: Any) -> Any:
    """requests' `timeout`: None, a number, a pair (to connect, between bytes) or urllib3's, which is kept."""
    if isinstance(timeout, Timeout):
        return timeout
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    if current is not None and connect is None:
        connect = CONNECT_WITHIN
    return within(current, connect), within(current, read)
