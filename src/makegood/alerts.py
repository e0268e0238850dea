"""Alert hooks: how people are told of a task that is parked and waits for one of them.

A hook is an async function of an Alert. Give it to `Makegood(..., alerts=[...])`, or name a command or an
address to `makegood up --alert-command`, `--alert-url`. One that raises is tried again a minute later.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from signal import SIGKILL
from threading import Semaphore
from typing import Any, NamedTuple, Self, TypeAlias, cast
from urllib.parse import urljoin, urlsplit

import msgspec

from makegood.apart import in_thread
from makegood.errors import MakegoodError, without_secrets

TOLD = ("taskId", "plan", "planVersion", "state", "paused", "reason", "createdAt", "tags", "direction")
LISTED = ("blocking", "inEffect", "inDoubt", "acts", "waiting")
ANSWER_TIMEOUT = 10.0
"""Seconds in which an address must have answered."""
LAST_WORDS = 0.5
"""Seconds in which a command that has exited is heard to its end."""
SAID_MAX = 500
"""Bytes of what a command says that are kept: the last."""
STDERR = 2
POSTS_MAX = 10
"""Posts to one address at the same time, with those that nobody waits for any more."""


class Alert(NamedTuple):
    """What a person needs to know of a parked task.

    `why` is what `makegood why` prints; `document` the same as JSON values: what blocks it, what is in effect
    and in doubt, and the commands that settle it. It holds no inputs and no results.
    """

    task_id: str
    plan: str
    reason: str
    why: str
    document: dict[str, Any]

    @classmethod
    def of(cls, record: Mapping[str, Any], why: str) -> Self:
        """The alert of an exported record."""
        document = {name: record[name] for name in (*TOLD, *LISTED) if name in record} | {"why": why}
        return cls(record["taskId"], record["plan"], record.get("reason", ""), why, document)


Hook: TypeAlias = Callable[[Alert], Awaitable[None]]


def name_of(hook: Hook) -> str:
    """How the history names a hook."""
    return str(getattr(hook, "name", "")) or getattr(hook, "__name__", type(hook).__name__)


SHELL_WORDS = frozenset({"|", "||", "&", "&&", ";", "<", ">", ">>", "2>&1"})


class Command:
    """Runs a command: the document is JSON on its standard input, MAKEGOOD_TASK_ID in its environment.

    No shell reads it. It is over once that has exited; what it left in the background goes on. Cancelled, it
    is killed with all that it started. Raises MakegoodError when it exits with another code than 0, and, when
    it is made, for a command line that is none, or a program that is not there.
    """

    def __init__(self, command: str) -> None:
        import shlex  # both are slow to import, and most use no command
        import shutil

        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise MakegoodError(f"alert command {command!r}: {error}") from None
        if not self._words:
            raise MakegoodError("the alert command is empty; name a program")
        if for_a_shell := SHELL_WORDS.intersection(self._words):
            raise MakegoodError(
                f"alert command {command!r}: no shell reads it, so {min(for_a_shell)!r} means nothing; write "
                "sh -c '...'"
            )
        if shutil.which(self._words[0]) is None:
            raise MakegoodError(
                f"alert command {command!r}: there is no program {self._words[0]!r} that can be run; name it "
                "by its path, or make it executable"
            )
        self.name = f"command {os.path.basename(self._words[0])}"

    async def __call__(self, alert: Alert) -> None:
        transport, run = await asyncio.get_running_loop().subprocess_exec(
            _Run,
            *self._words,
            stdout=asyncio.subprocess.DEVNULL,
            env=os.environ | {"MAKEGOOD_TASK_ID": alert.task_id},
            start_new_session=True,
        )
        try:
            _give(transport, msgspec.json.encode(alert.document) + b"\n")
            await run.exited.wait()
            if code := transport.get_returncode():
                words = await run.last_words()
                raise MakegoodError(f"it exited {code}{words and f': {words}'}")
        except BaseException:
            if transport.get_returncode() is None:
                with suppress(ProcessLookupError):
                    os.killpg(transport.get_pid(), SIGKILL)
                await run.exited.wait()
            raise
        finally:
            transport.close()


def _give(transport: asyncio.SubprocessTransport, document: bytes) -> None:
    """Write it to the standard input, as far as that is read."""
    stdin = cast(asyncio.WriteTransport, transport.get_pipe_transport(0))
    stdin.write(document)
    stdin.write_eof()


class _Run(asyncio.SubprocessProtocol):
    """A command that runs. It is over with its process: what that has started may hold its standard error."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self._said = b""
        self._has_said_all = asyncio.Event()

    def process_exited(self) -> None:
        self.exited.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._said = (self._said + data)[-SAID_MAX:]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == STDERR:
            self._has_said_all.set()

    async def last_words(self) -> str:
        """The end of what it said on standard error, once it has exited."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._has_said_all.wait(), LAST_WORDS)
        return self._said.decode(errors="replace").strip()


class WebHook:
    """Posts the document as JSON to an address. Raises OSError, or MakegoodError for what is no success."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._headers = {"Content-Type": "application/json"} | dict(headers or {})
        self.name = f"web hook {_host_of(url)}"
        self._lines = Semaphore(POSTS_MAX)

    async def __call__(self, alert: Alert) -> None:
        body = msgspec.json.encode(alert.document)
        await in_thread(lambda: self._post(body), "makegood-web-hook")

    def _post(self, body: bytes) -> None:
        if not self._lines.acquire(timeout=ANSWER_TIMEOUT):
            raise MakegoodError(f"{POSTS_MAX} posts to it are under way already, and none has ended")
        try:
            self._send(body)
        finally:
            self._lines.release()

    def _send(self, body: bytes) -> None:
        from urllib.error import HTTPError  # half of what makegood costs to import, for the few who need it
        from urllib.request import Request

        request = Request(self._url, body, self._headers)  # noqa: S310 - http only, see below
        try:
            _opener().open(request, timeout=ANSWER_TIMEOUT).close()
        except HTTPError as error:
            error.close()
            place = _place(self._url, error.headers.get("Location"))
            raise MakegoodError(f"it answered {error.code} {error.reason}{place}") from None


def _opener() -> Any:
    """urllib's, but for its way with redirects: it follows them by a GET, which carries no document."""
    from urllib import request as of

    opener = of.OpenerDirector()
    for handler in (of.ProxyHandler, of.HTTPHandler, of.HTTPSHandler, of.HTTPErrorProcessor):
        opener.add_handler(handler())
    opener.add_handler(of.HTTPDefaultErrorHandler())
    return opener


def _place(url: str, location: str | None) -> str:
    """Where a redirect leads, in words; empty for what is none."""
    if location is None:
        return ""
    with suppress(ValueError):  # of a location that is none
        location = urljoin(url, location)
    return f", which leads to {without_secrets(location)}; give the address that takes the POST itself"


def _host_of(url: str) -> str:
    """Raises MakegoodError for what nothing can be sent to."""
    with suppress(ValueError):  # of a port or a host that is none
        parts = urlsplit(url)
        if "@" in parts.netloc:
            raise MakegoodError(
                f"alert address {without_secrets(url)!r} is given with a user or a password, which are not "
                "sent; leave them out, and give WebHook a header: headers={'Authorization': ...}"
            )
        is_plain = url.isascii() and url.isprintable() and " " not in url
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and is_plain:
            return parts.netloc
    raise MakegoodError(
        f"alert address {without_secrets(url)!r} is no http:// or https:// address; give one, "
        "https://pager.example.org/parked say"
    )
