"""A fake service below a client of httpx's, in place of the network."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from makegood.testing.rehearsal.fakes import FakeService
from makegood.testing.rehearsal.ledgers import Ledger
from makegood.testing.rehearsal.over_http import HttpAnswer


class HttpxTransport(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """The `transport=` of a client of httpx's whose requests a fake service answers.

    `answer(ledger, request)` runs inside the service, when and if the request arrives there. The client hears
    it as FakeService.http says, and waits as long as its own timeout: then it raises httpx.ReadTimeout.
    """

    def __init__(self, service: FakeService, answer: Callable[[Ledger, httpx.Request], object]) -> None:
        self._service = service
        self._answer = answer

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """For an AsyncClient."""
        await request.aread()
        with _waiting(request) as within:
            said = await self._service.http(lambda ledger: self._answer(ledger, request), within=within)
        return _response(said)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """For a Client, in plain functions."""
        request.read()
        with _waiting(request) as within:
            said = self._service.sync.http(lambda ledger: self._answer(ledger, request), within=within)
        return _response(said)


@contextmanager
def _waiting(request: httpx.Request) -> Iterator[float | None]:
    """The seconds that its client waits for an answer, None: as long as its call lasts."""
    try:
        yield request.extensions["timeout"]["read"]
    except TimeoutError:
        raise httpx.ReadTimeout("no answer", request=request) from None


def _response(said: HttpAnswer) -> httpx.Response:
    return httpx.Response(said.status, headers=said.headers, content=said.content)
