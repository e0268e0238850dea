"""What an exception means: did the call certainly have no effect, or may it have worked?

Everything that is not known to be raised before the request left is Unknown, bugs included.
"""

from collections.abc import Mapping
from typing import NamedTuple

from makegood.agents.libraries import verdict_of
from makegood.agents.statuses import of_status
from makegood.core.events import Reply
from makegood.core.plan import Millis, millis
from makegood.errors import CallOutcome, Refused, Transient, Unknown, in_words

SECONDS_MAX = 1e9


class Meaning(NamedTuple):
    """How a call ended, in the words of a report; `retry_after` in milliseconds, 0 if none."""

    reply: Reply
    error: str
    retry_after: Millis = 0


def meaning_of(error: BaseException, *, keyed: bool = False) -> Meaning:
    """Classify what an action or an undo raised; `keyed`: its service honours the key that was sent."""
    if isinstance(error, CallOutcome):
        return _said(error)
    verdict = verdict_of(error, keyed)
    return Meaning(verdict.reply, _text(error), verdict.retry_after)


def meaning_of_status(
    status: int, headers: Mapping[str, str], text: str = "", *, keyed: bool = False
) -> Meaning:
    """Classify an HTTP status that is no success; what it says if there is no better text."""
    verdict = of_status(status, headers, keyed=keyed)
    return Meaning(verdict.reply, text or f"HTTP {status}", verdict.retry_after)


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


def _text(error: BaseException) -> str:
    said = in_words(error, at_most=None)
    return said.removeprefix(f"{type(error).__name__}: ") if isinstance(error, CallOutcome) else said


def _floor(wait: object) -> Millis:
    """A `retry_after` as the user gave it, in milliseconds; 0 for what is no length of time."""
    if not isinstance(wait, int | float) or not 0 < wait < SECONDS_MAX:
        return 0
    return millis(wait)
