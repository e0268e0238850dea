"""What a fake service says, as an HTTP client hears it."""

from math import ceil
from typing import Final, NamedTuple

import msgspec

from makegood.errors import Refused, Transient
from makegood.testing.rehearsal.ledgers import NothingThere


class HttpAnswer(NamedTuple):
    """An answer over HTTP; `content` is JSON."""

    status: int
    headers: dict[str, str]
    content: bytes


JSON: Final = {"Content-Type": "application/json"}


def success(said: object) -> HttpAnswer:
    """What was returned. Raises TypeError for what JSON cannot say."""
    return HttpAnswer(200, JSON, msgspec.json.encode(said))


def failure(error: Refused | Transient) -> HttpAnswer:
    """What was raised in its place, as the status that services have for it."""
    content = msgspec.json.encode({"error": f"{error}"})
    if isinstance(error, Transient):
        wait = {"Retry-After": f"{ceil(error.retry_after)}"} if error.retry_after else {}
        return HttpAnswer(429, JSON | wait, content)
    return HttpAnswer(404 if isinstance(error, NothingThere) else 422, JSON, content)
