"""httpx's AsyncClient, kept to the call it serves."""

import asyncio
from copy import copy
from typing import Any

import httpx

from makegood.agents.call import Call
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

OF_THE_TRANSPORT = frozenset(("cert", "http1", "http2", "limits", "proxy", "trust_env", "verify"))
SENDS = "send_request_headers.started"
"""How the event ends that httpcore tells of right before the first byte."""


class AsyncClient(httpx.AsyncClient):
    """An `httpx.AsyncClient` for actions; `options` are httpx's own.

    A request is aborted at the end of its call, body and all; outside of a call only `timeout` bounds it.
    Every status that is no success raises httpx.HTTPStatusError unless `raise_for_status=False`.
    `key_header`: the name of the header that carries the call's key, None for none. `acknowledged_within` is
    in seconds, for TCP_USER_TIMEOUT. A proxy is what `proxy=` says; none is taken from the environment.
    """

    def __init__(
        self,
        *,
        key_header: str | None = KEY_HEADER,
        raise_for_status: bool = True,
        acknowledged_within: float = ACKNOWLEDGED_WITHIN,
        **options: Any,
    ) -> None:
        options.setdefault("timeout", httpx.Timeout(None, connect=CONNECT_WITHIN, pool=CONNECT_WITHIN))
        if "transport" not in options:
            settings = {name: options.pop(name) for name in OF_THE_TRANSPORT & options.keys()}
            sockets = socket_options(acknowledged_within)
            options["transport"] = httpx.AsyncHTTPTransport(**settings, retries=0, socket_options=sockets)
        super().__init__(**options)
        self._key_header = key_header
        self._raises = raise_for_status

    async def send(self, request: httpx.Request, **how: Any) -> httpx.Response:
        """Every request of this client goes through here, whichever method made it."""
        current = current_call()
        check_time(current)
        request = self._prepared(request, current)
        if request.method not in SAFE:
            how["follow_redirects"] = False
        try:
            async with asyncio.timeout(None if current is None else current.time_left):
                return await self._exchange(request, current, how)
        except TimeoutError:
            raise TimeoutError(_asked(request, CUT_OFF)) from None
        except httpx.RequestError as error:
            error.args = (_asked(_last(error) or request, f"{error}"),)
            raise

    async def _exchange(
        self, request: httpx.Request, current: Call | None, how: dict[str, Any]
    ) -> httpx.Response:
        response = await super().send(request, **how)
        if self._raises and not response.is_success:
            await response.aread()
            await response.aclose()
            last = response.request
            said = complaint(current, last.method, str(last.url), response.status_code, response.text)
            raise httpx.HTTPStatusError(said, request=last, response=response)
        return response

    def _prepared(self, request: httpx.Request, current: Call | None) -> httpx.Request:
        """A copy for this call; the caller's may be sent again, in another one."""
        own = copy(request)  # without the two that httpx leaves out
        own.stream, own.headers = request.stream, request.headers.copy()
        add_key(own.headers, current, request.method, self._key_header)
        waits = request.extensions.get("timeout", {})
        bounded = {name: within(current, wait) for name, wait in waits.items()}
        trace = request.extensions.get("trace")

        async def check(event: str, told: dict[str, Any]) -> None:
            if event.endswith(SENDS):
                check_time(current)
            if trace is not None:
                await trace(event, told)

        own.extensions = {**request.extensions, "timeout": bounded, "trace": check}
        return own


def _last(error: httpx.RequestError) -> httpx.Request | None:
    """The request that failed, after redirects; None where a hook or an auth of the user's says none."""
    try:
        return error.request
    except RuntimeError:
        return None


def _asked(request: httpx.Request, came_of_it: str) -> str:
    url = f"{request.url}"
    if not request.url.host and "@" in url:
        url = "***"  # httpx takes what comes after a user for a path, be it a password
    return asked(request.method, url, came_of_it)
