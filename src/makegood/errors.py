"""Every error makegood raises, in one tree.

MakegoodError
├── PlanError          an app, agent, plan or document that cannot keep the promises, an id that is none
├── PayloadError       a value that cannot be written exactly; names its path
├── UnknownTask        no task has this id
├── SubmissionConflict the id is taken by a task with another plan or input
├── ActRefused         an act that would break a promise; says which
├── TaskEnded          a task that a caller waited for did not complete
│   ├── Compensated    everything it did is undone
│   └── Failed         it is parked and waits for a person
├── StoreError
│   ├── StoreUncertain the answer to a commit was lost: it may have happened
│   ├── StoreUnavailable the store is not there, or cannot be reached or written now
│   │   └── StoreGone  its file was taken away: this process can use it no more
│   └── SchemaMismatch the store's schema is not the one this code knows
└── CallOutcome        raised by an action, an undo or a probe to say how its call ended
    ├── Refused        the service said no; certainly no effect; do not try again
    ├── Transient      certainly no effect; try again
    ├── Unknown        it may have worked
    ├── StillRunning   (probe) the first call is still being worked on
    └── CannotTell     (probe) the service cannot say whether the effect exists
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit


class MakegoodError(Exception):
    """The root of the tree."""


class PlanError(MakegoodError):
    """What cannot be run as written: an app that cannot be imported; an agent, a plan or a document that
    cannot keep the promises; a task id, a start or a deadline that is none."""


class PayloadError(MakegoodError):
    """A value that cannot be written exactly, or read as the declared type; the message names its path."""


class UnknownTask(MakegoodError):
    """No task in this store has the id."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"no task {task_id!r} in this store; `makegood list` shows those that are there")
        self.task_id = task_id


class SubmissionConflict(MakegoodError):
    """The task id is taken by a task with another plan or another input; nothing was written of it."""

    entered: Sequence[Any] = ()
    """Of submit_many: the tasks that are entered all the same."""


class ActRefused(MakegoodError):
    """A cancel, retry, skip, resolve, pause or resume that would break a promise; nothing was changed."""


class TaskEnded(MakegoodError):
    """A task that a caller waited for ended otherwise than Completed."""

    def __init__(self, task_id: str, reason: str) -> None:
        super().__init__(f"task {task_id}: {reason}")
        self.task_id = task_id
        self.reason = reason


class Compensated(TaskEnded):
    """Everything the task did is undone, save effects that a named person accepted as kept."""


class Failed(TaskEnded):
    """The task is parked: something is in effect or in doubt that only a person can settle."""


class StoreError(MakegoodError):
    """The state store could not do what was asked."""


class StoreUncertain(StoreError):
    """The answer to a commit was lost: the batch may be in the store, or not. Re-read to learn which."""


class StoreUnavailable(StoreError):
    """The store is not there, or cannot be reached or written now; nothing of the batch is in it."""


class StoreGone(StoreUnavailable):
    """The store's file, or its log, was deleted, replaced or cut while open. It stays so for this process."""


class SchemaMismatch(StoreError):
    """The store was made by another version of makegood, or is no makegood store."""


class CallOutcome(MakegoodError):
    """How a call ended, said by the user's own code."""


class Refused(CallOutcome):
    """The service said no: certainly no effect, and no use in trying again."""


class Transient(CallOutcome):
    """Certainly no effect; worth another try, not before `retry_after` (seconds) if the service named it."""

    def __init__(self, message: str = "", *, retry_after: float | timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = _in_seconds(retry_after)


class Unknown(CallOutcome):
    """The call may have worked: nobody knows until the service is asked."""

    def __init__(self, message: str = "", *, retry_after: float | timedelta | None = None) -> None:
        super().__init__(message)
        self.retry_after = _in_seconds(retry_after)


class StillRunning(CallOutcome):
    """Raised by a probe: the service is still working on the first call."""


class CannotTell(CallOutcome):
    """Raised by a probe: the service cannot say whether the effect exists."""


def _in_seconds(length: float | timedelta | None) -> float | None:
    return length.total_seconds() if isinstance(length, timedelta) else length


TEXT_MAX = 10_000
"""Characters of what an exception says that are kept."""


def plain(text: str) -> str:
    """Text that any store can hold: no lone surrogates, and no more than TEXT_MAX characters."""
    return _storable(text[:TEXT_MAX])


def _storable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def in_words(error: BaseException, *, at_most: int | None = TEXT_MAX) -> str:
    """What kind of exception this is, and what it says of itself: one of the user's may not be able to.

    `at_most` characters of it; None: all, so that secrets can be hidden before it is cut.
    """
    name = type(error).__name__
    try:
        said = _storable(_said_by(error)[:at_most])
    except BaseException:  # not even SystemExit is meant for us
        return name
    return f"{name}: {said}" if said else name


def _said_by(error: BaseException) -> str:
    """What it says; of a status that httpx or requests raise, what was answered, and of what httpx raises
    otherwise, what was asked, which they leave out."""
    said = str(error)
    library = type(error).__module__.partition(".")[0]
    with suppress(Exception):  # it was made by hand, say, and has neither
        if library in ("httpx", "requests") and " for url" in said:
            return _answer_of(error)
        if library == "httpx":
            return _asked_of(error, said)
    return said


def _answer_of(error: Any) -> str:
    """What was answered; `error` has the response, as those of both libraries have."""
    answer = error.response
    body = getattr(answer, "_content", b"")  # what has been read: to read more could take long
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else ""
    url = without_secrets(f"{answer.request.url}")
    return answered(answer.request.method, url, answer.status_code, text)


def _asked_of(error: Any, said: str) -> str:
    """What it says behind what was asked, if that does not stand in front of it already."""
    method, url = error.request.method, without_secrets(f"{error.request.url}")
    return said if said.startswith(f"{method} ") else f"{method} {url}" + (f": {said}" if said else "")


def answered(method: str, url: str, status: int, body: str) -> str:
    """What came of a request that was no success."""
    return f"{method} {url} answered {status}" + (f": {body}" if body else "")


def without_secrets(url: str) -> str:
    """An address, or a path, as people may read it: without user, password, query and fragment.

    Nothing of what is no address and holds an `@`: nobody knows where a password in it begins and ends.
    """
    with suppress(ValueError):  # of a host or a port that is none
        parts = urlsplit(url)
        if url.startswith("/") or (parts.hostname and parts.port != 0):
            return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return "***" if "@" in url else re.split("[?#]", url)[0]
