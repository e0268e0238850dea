"""`call()`: what an action, an undo or a probe may know of the call it is making."""

from collections.abc import Callable
from contextvars import ContextVar

from makegood.core.record import Kind
from makegood.errors import MakegoodError

_current: ContextVar["Call"] = ContextVar("makegood_call")


class Call:
    """The current call. Times are seconds; `task_id`, `step`, `kind` and `attempt` name it.

    `result_known` is False in an undo whose first argument is None because nobody knows the result.
    """

    __slots__ = (
        "_do_key",
        "_key",
        "_left",
        "attempt",
        "cancelled",
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
        left: Callable[[], float],
    ) -> None:
        self.task_id = task_id
        self.step = step
        self.kind = kind
        self.attempt = attempt
        self._do_key = do_key
        self.result_known = result_known
        self.cancelled = False
        """The task is being undone: a long action may stop early and raise."""
        self.key_read = False
        self._key = key
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
