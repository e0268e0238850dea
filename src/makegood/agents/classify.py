"""What an exception means: did the call certainly have no effect, or may it have worked?

Everything that is not known to be raised before the request left is Unknown, bugs included.
"""

import socket
from collections.abc import Mapping
from typing import Any, NamedTuple

from makegood.core.events import Reply
from makegood.core.plan import Millis, millis
from makegood.errors import CallOutcome, Refused, Transient, Unknown

TEXT_MAX = 10_000
"""Characters of an error that are kept."""
SECONDS_MAX = 1e9
NOT_LEFT = (ConnectionRefusedError, socket.gaierror)
NOT_LEFT_BY_NAME = frozenset(
    f"httpx.{name}"
    for name in ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "InvalidURL")
)
"""Raised before anything of the request left: certainly no effect."""


class Meaning(NamedTuple):
    """How a call ended, in the words of a report; `retry_after` in milliseconds, 0 if none."""

    reply: Reply
    error: str
    retry_after: Millis = 0


def meaning_of(error: BaseException, *, keyed: bool = False) -> Meaning:
    """Classify what an action or an undo raised; `keyed`: its service honours the key that was sent."""
    if isinstance(error, CallOutcome):
        return _said(error)
    if isinstance(error, NOT_LEFT):
        return Meaning(Reply.TRANSIENT, _text(error))
    known: Any = error
    match f"{type(error).__module__}.{type(error).__name__}":  # by name: nobody pays for a library unused
        case "ssl.SSLCertVerificationError":
            return Meaning(Reply.TRANSIENT, _text(error))
        case "urllib.error.HTTPError":
            return meaning_of_status(known.code, dict(known.headers), _text(error), keyed=keyed)
        case "urllib.error.URLError" if isinstance(known.reason, BaseException):
            return meaning_of(known.reason, keyed=keyed)
        case "httpx.HTTPStatusError":
            reply = known.response
            return meaning_of_status(reply.status_code, reply.headers, _text(error), keyed=keyed)
        case name if name in NOT_LEFT_BY_NAME:
            return Meaning(Reply.TRANSIENT, _text(error))
        case _:
            return Meaning(Reply.UNKNOWN, _text(error))


def meaning_of_status(
    status: int, headers: Mapping[str, str], text: str = "", *, keyed: bool = False
) -> Meaning:
    """Classify an HTTP status of 300 and more. `Retry-After` is a floor for the next try."""
    wait = _retry_after(headers)
    said = text or f"HTTP {status}"
    if status in (425, 429):
        return Meaning(Reply.TRANSIENT, said, wait)
    if status == 408 or status >= 500 or status < 400 or (status == 409 and keyed):
        return Meaning(Reply.UNKNOWN, said, wait)
    return Meaning(Reply.REFUSED, said)


def raise_for_status(
    status: int, headers: Mapping[str, str] | None = None, text: str = "", *, keyed: bool = False
) -> None:
    """Raise Refused, Transient or Unknown for an HTTP status that is no success."""
    if 200 <= status < 300:
        return
    meaning = meaning_of_status(status, headers or {}, text, keyed=keyed)
    wait = meaning.retry_after / 1000 if meaning.retry_after else None
    match meaning.reply:
        case Reply.REFUSED:
            raise Refused(meaning.error)
        case Reply.TRANSIENT:
            raise Transient(meaning.error, retry_after=wait)
        case _:
            raise Unknown(meaning.error, retry_after=wait)


def _said(error: CallOutcome) -> Meaning:
    match error:
        case Refused():
            return Meaning(Reply.REFUSED, _text(error))
        case Transient(retry_after=wait):
            return Meaning(Reply.TRANSIENT, _text(error), _floor(wait))
        case Unknown(retry_after=wait):
            return Meaning(Reply.UNKNOWN, _text(error), _floor(wait))
        case _:
            return Meaning(Reply.UNKNOWN, _text(error))


def _retry_after(headers: Mapping[str, str]) -> Millis:
    """`Retry-After` in milliseconds; a date counts from the service's own `Date`: its clock is not ours."""
    lower = {name.lower(): value for name, value in headers.items()}
    value = lower.get("retry-after", "").strip()
    if value.isdecimal() and value.isascii():
        return int(value[:10]) * 1000
    from email.utils import parsedate_to_datetime  # rarely needed, and slow to import

    try:
        sent = parsedate_to_datetime(lower.get("date", ""))
        return max(0, int((parsedate_to_datetime(value) - sent).total_seconds() * 1000))
    except (TypeError, ValueError):
        return 0


def plain(text: str) -> str:
    """Text that any store can hold: no lone surrogates, and no more than TEXT_MAX characters."""
    return text[:TEXT_MAX].encode("utf-8", "backslashreplace").decode()


def _text(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = plain(str(error))
    except BaseException:  # the user's own, which cannot say what it is; not even SystemExit is meant for us
        return name
    if isinstance(error, CallOutcome):
        return text or name
    return f"{name}: {text}" if text else name


def _floor(wait: object) -> Millis:
    """A `retry_after` as the user gave it, in milliseconds; 0 for what is no length of time."""
    if not isinstance(wait, int | float) or not 0 < wait < SECONDS_MAX:
        return 0
    return millis(wait)
