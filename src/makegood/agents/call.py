"""`call()`: what an action, an undo or a probe may know of the call it is making."""

import logging
import sys
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

from makegood.core.plan import Millis
from makegood.core.record import Kind
from makegood.errors import MakegoodError

log = logging.getLogger("makegood.call")

_current: ContextVar["Call"] = ContextVar("makegood_call")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CallLogger(logging.LoggerAdapter[logging.Logger]):
    """Logs under "makegood.call"; each record has `task_id`, `step`, `attempt` and `kind`, and says them."""

    def __init__(self, call: "Call") -> None:
        kind = call.kind.name.lower()
        named = {"task_id": call.task_id, "step": call.step, "attempt": call.attempt, "kind": kind}
        super().__init__(log, named)
        self._hides = call.hides
        self._named: dict[str, object] = named
        self._prefix = label(call.task_id, call.step, call.kind, call.attempt)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """The message with the call in front, and the caller's own `extra` beside the call's."""
        return f"{self._prefix}: {msg}", {**kwargs, "extra": {**(kwargs.get("extra") or {}), **self._named}}

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log, with what the call was given as a secret hidden in the message and in an error's traceback.

        A traceback that shows one becomes a part of the message. Never raises over what is to be said.
        """
        if not self.isEnabledFor(level):
            return
        said, traced = _message(msg, args), _traceback(kwargs.get("exc_info"))
        if self._hides(traced) != traced:
            said, kwargs["exc_info"] = f"{said}\n{traced}", None
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        super().log(level, self._hides(said), **kwargs)


def _message(msg: object, args: tuple[object, ...]) -> str:
    """A message as the standard library puts it together, or its pieces where they do not fit."""
    try:
        return logging.LogRecord("", 0, "", 0, msg, args, None).getMessage()
    except Exception:  # the call may have had its effect: a slip in what it says of it must not undo that
        return " ".join(map(_shown, (msg, *args)))


def _shown(part: object) -> str:
    try:
        return str(part)
    except Exception:
        return f"<a {type(part).__name__} that cannot be shown>"


def _traceback(exc_info: Any) -> str:
    """The traceback that goes with a message, as the standard library writes it; empty if there is none."""
    if isinstance(exc_info, BaseException):
        exc_info = (type(exc_info), exc_info, exc_info.__traceback__)
    elif exc_info and not isinstance(exc_info, tuple):
        exc_info = sys.exc_info()
    return logging.Formatter().formatException(exc_info) if exc_info and exc_info[1] else ""


def label(task_id: str, step: str, kind: Kind, attempt: int) -> str:
    """How the log names a call: by task, step, what is called, and which call of its task that is."""
    return f"{task_id} {step} ({kind.name.lower()}, call {attempt})"


class Call:
    """The current call. Times are seconds; `task_id`, `step`, `kind` and `attempt` name it.

    `result_known` is False in an undo whose first argument is None because nobody knows the result.
    """

    __slots__ = (
        "_complete_by",
        "_do_key",
        "_key",
        "_left",
        "attempt",
        "cancelled",
        "hides",
        "key_read",
        "kind",
        "result_known",
        "step",
        "task_id",
    )

    def __init__(
        self,
        *,
        task_id: str,
        step: str,
        kind: Kind,
        attempt: int,
        key: str,
        do_key: str,
        result_known: bool,
        complete_by: Millis,
        left: Callable[[], float],
        hides: Callable[[str], str] = str,
    ) -> None:
        self.task_id = task_id
        self.step = step
        self.kind = kind
        self.attempt = attempt
        self.hides = hides
        """A text without the secrets that this call was given."""
        self._do_key = do_key
        self.result_known = result_known
        self.cancelled = False
        """The task is being undone: a long action may stop early and raise."""
        self.key_read = False
        self._key = key
        self._complete_by = complete_by
        self._left = left

    @property
    def key(self) -> str:
        """The idempotency key of this intended effect: the same over retries, crashes and takeovers.

        In an undo it is the undo's own key, in a probe the key of the do-call it asks about.
        """
        self.key_read = True
        return self._key

    @property
    def do_key(self) -> str:
        """The key of the do-call: what an undo undoes, or a probe asks about.

        An undo that tells its service this key names its one effect as surely as by its own.
        """
        self.key_read = True
        return self._do_key

    @property
    def headers(self) -> dict[str, str]:
        """The key as the HTTP header that services of this kind read."""
        return {"Idempotency-Key": self.key}

    @property
    def time_left(self) -> float:
        """Seconds until this call's timeout; hand it to the client library as its own timeout."""
        return max(0.0, self._left())

    @property
    def deadline(self) -> datetime:
        """When this call must be over, in UTC: the record's `completeBy`, for others to keep.

        A moment, since seconds left mean nothing to a service that reads them later. It is the store's
        time: for a timeout of your own take `time_left`, which no wall clock can stretch.
        """
        return _EPOCH + timedelta(milliseconds=self._complete_by)

    @property
    def logger(self) -> CallLogger:
        """A logger whose records name this call."""
        return CallLogger(self)


def call() -> Call:
    """The call being made. Raises MakegoodError outside of an action, undo or probe run by an agent."""
    try:
        return _current.get()
    except LookupError:
        raise MakegoodError(
            "call() was used outside of a call; it is there only inside an action, an undo or a probe that "
            "an agent runs"
        ) from None


def enter(current: Call) -> None:
    """Make this the current call of the running context (each call has a context of its own)."""
    _current.set(current)
