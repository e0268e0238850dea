"""requests' Session, kept to the call it serves: a thread cannot be cancelled, so its connection is cut."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from requests.exceptions import InvalidSchema, InvalidURL, MissingSchema
from urllib3 import Retry, Timeout
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from makegood.agents.call import Call
from makegood.agents.runner import THREADS_MAX
from makegood.errors import without_secrets
from makegood.http.connections import Connection, SecureConnection, Watch, current_watch
from makegood.http.exchange import (
    ACKNOWLEDGED_WITHIN,
    CONNECT_WITHIN,
    CUT_OFF,
    KEY_HEADER,
    SAFE,
    add_key,
    asked,
    check_time,
    complaint,
    current_call,
    socket_options,
    within,
)


class Pool(HTTPConnectionPool):
    """Makes such connections."""

    ConnectionCls = Connection


class SecurePool(HTTPSConnectionPool):
    """Makes such connections."""

    ConnectionCls = SecureConnection


class Never(Retry):
    """Tries nothing again, and gives up in words that tell no secret."""

    def increment(self, method: Any = None, url: Any = None, *args: Any, **told: Any) -> "Never":
        """Raises what the request failed of, with the address that it was made to."""
        return super().increment(method, without_secrets(url), *args, **told)


class Adapter(HTTPAdapter):
    """Connects with the socket options of an action's requests, and tries nothing again."""

    def __init__(self, acknowledged_within: float) -> None:
        self._sockets = socket_options(acknowledged_within)
        super().__init__(pool_maxsize=THREADS_MAX, max_retries=Never(0, read=False))

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

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """Raises requests' MissingSchema or InvalidURL for an address that is none."""
        with _discreet(f"{request.url!s}"):
            return super().prepare_request(request)

    def get_adapter(self, url: str) -> BaseAdapter:
        """Raises requests' InvalidSchema for an address that nothing can be sent to."""
        with _discreet(url):
            return super().get_adapter(url)

    def resolve_redirects(self, *args: Any, **how: Any) -> Any:
        """Follow them: only the last answer counts, which is judged by who asked first."""
        return super().resolve_redirects(*args, **how, is_hop=True)

    def send(
        self, request: requests.PreparedRequest, *, is_hop: bool = False, **how: Any
    ) -> requests.Response:
        """Every request that is made goes through here, each hop of a redirect too."""
        current, method = current_call(), request.method or ""
        check_time(current)
        request = request.copy()  # the caller's may be sent again, in another call
        add_key(request.headers, current, method, self._key_header)
        if method not in SAFE:
            how["allow_redirects"] = False
        how["timeout"] = _bounded(current, how.get("timeout"))
        with _named(request):
            response = (
                super().send(request, **how) if current is None else self._watched(current, request, how)
            )
        if self._raises and not is_hop and not 200 <= response.status_code < 300:
            last, status = response.request, response.status_code
            said = complaint(current, last.method or "", last.url or "", status, response.text)
            raise requests.HTTPError(said, request=last, response=response)
        return response

    def _watched(
        self, current: Call, request: requests.PreparedRequest, how: dict[str, Any]
    ) -> requests.Response:
        watch = Watch(current)
        before = current_watch.set(watch)
        watch.start()
        try:
            return super().send(request, **how)
        finally:
            current_watch.reset(before)
            if not how.get("stream"):  # the time of a stream runs on
                watch.end()
            if watch.cut:  # whatever it seems to have come to
                raise requests.ReadTimeout(CUT_OFF, request=request)


@contextmanager
def _discreet(url: str) -> Iterator[None]:
    """What requests says of an address that is none would tell all of it."""
    try:
        yield
    except (InvalidSchema, InvalidURL, MissingSchema) as error:
        error.args = (f"nothing can be sent to {without_secrets(url)!r}",)
        raise error from None


@contextmanager
def _named(request: requests.PreparedRequest) -> Iterator[None]:
    """What came of no answer says what was asked for where.

    It says so in the error of urllib3 that it wraps, if it does: by that it is judged.
    """
    try:
        yield
    except requests.RequestException as error:
        last = error.request = error.request or request  # of a redirect it may be another
        told = error.args[0] if error.args and isinstance(error.args[0], Exception) else error
        told.args = (asked(last.method or "", last.url or "", f"{told}"),)
        raise


def _bounded(current: Call | None, timeout: Any) -> Any:
    """requests' `timeout`: None, a number, a pair (to connect, between bytes) or urllib3's, which is kept."""
    if isinstance(timeout, Timeout):
        return timeout
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    if current is not None and connect is None:
        connect = CONNECT_WITHIN
    return within(current, connect), within(current, read)
