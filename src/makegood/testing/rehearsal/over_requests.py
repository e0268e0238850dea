"""A fake service below a session of requests', in place of the network."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse, Timeout

from makegood.testing.rehearsal.fakes import FakeService
from makegood.testing.rehearsal.ledgers import Ledger


class RequestsAdapter(HTTPAdapter):
    """What a session of requests' mounts, so that a fake service answers its requests.

    `answer(ledger, request)` runs inside the service, when and if the request arrives there. The session
    hears it as FakeService.http says, and waits as long as its own timeout: then it raises
    requests.ReadTimeout.
    """

    def __init__(
        self, service: FakeService, answer: Callable[[Ledger, requests.PreparedRequest], object]
    ) -> None:
        super().__init__()
        self._service = service
        self._answer = answer

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        *args: Any,
        **how: Any,
    ) -> requests.Response:
        """Carry one request to the service, and its answer back."""
        try:
            said = self._service.sync.http(
                lambda ledger: self._answer(ledger, request), within=_patience(timeout)
            )
        except TimeoutError:
            raise requests.ReadTimeout("no answer", request=request) from None
        heard = HTTPResponse(BytesIO(said.content), said.headers, said.status, preload_content=False)
        return self.build_response(request, heard)


def _patience(timeout: Any) -> float | None:
    """The seconds until an answer, of requests' `timeout`: None, a number, a pair, or urllib3's."""
    if isinstance(timeout, tuple):
        _, timeout = timeout
    waits: float | None = timeout.read_timeout if isinstance(timeout, Timeout) else timeout
    return waits
