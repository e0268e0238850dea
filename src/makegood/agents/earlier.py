"""Whether a library had made another request before the one that failed: by a redirect, or by trying again.

Then that the last request never left says nothing: an earlier one may have had its effect. No library says so
in its exceptions; the frames it was raised through do.
"""

from collections.abc import Callable, Iterator, Mapping
from traceback import walk_tb
from types import FrameType
from typing import Any

Locals = Mapping[str, Any]


def _of_aiohttp(variables: Locals) -> bool:
    """A redirect; or a connection that broke, whereupon it sends again what it takes to be idempotent."""
    sent_again = variables.get(AIOHTTP_MAY_RETRY) is False and variables.get("method") in AIOHTTP_RETRIES
    return sent_again or bool(variables.get("history"))


def _redirected(name: str) -> Callable[[Locals], bool]:
    """Redirects are counted in a list of this name, from the first answer on."""
    return lambda variables: bool(variables.get(name))


def _tried_again(variables: Locals) -> bool:
    """urllib3 keeps a row of what it tried, botocore a number; the failed request itself is in both."""
    history, attempts = variables.get("history", ()), variables.get("attempts", 1)
    return len(history) > 1 or attempts > 1


AIOHTTP_MAY_RETRY = "retry_persistent_connection"
AIOHTTP_RETRIES = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"))
EARLIER: dict[str, Callable[[Locals], bool]] = {
    "aiobotocore": _tried_again,
    "aiohttp": _of_aiohttp,
    "botocore": _tried_again,
    "httpx": _redirected("history"),
    "requests": _redirected("hist"),
    "urllib3": _tried_again,
}
URLLIB_REDIRECTS = "http_error_302"


def requested_before(error: BaseException) -> bool:
    """Whether the frames of this exception tell of an earlier request."""
    for library, frame in _frames(error):
        if library in EARLIER and EARLIER[library](frame.f_locals):
            return True
        if library == "urllib" and frame.f_code.co_name == URLLIB_REDIRECTS:
            return True
    return False


def aiohttp_hides_it(error: Any) -> bool:
    """Whether aiohttp may have sent this request twice, and the frames do not go back to where it would."""
    shown = any(
        AIOHTTP_MAY_RETRY in frame.f_locals for library, frame in _frames(error) if library == "aiohttp"
    )
    return error.request_info.method in AIOHTTP_RETRIES and not shown


def _frames(error: BaseException) -> Iterator[tuple[str, FrameType]]:
    """The frames that it was raised through, each with the library it is of."""
    for frame, _ in walk_tb(error.__traceback__):
        yield str(frame.f_globals.get("__name__")).partition(".")[0], frame
