"""What holds for every request of an action, whichever library makes it."""

import socket
from collections.abc import MutableMapping

from makegood.agents.call import Call, call
from makegood.core.record import Kind
from makegood.errors import MakegoodError, Transient, answered, without_secrets

KEY_HEADER = "Idempotency-Key"
CONNECT_WITHIN = 5.0
"""Seconds in which a connection must stand. One that does not is certain, while no answer is not."""
ACKNOWLEDGED_WITHIN = 5.0
"""Seconds in which the other side must acknowledge what was sent: below `settle`, which is 10 by default."""
LEAVE_BEFORE = 0.1
"""Seconds, at most a tenth of what is left, by which a request is over before its call is: so that a thread
has come back by then, and does not pass for one that cannot be stopped."""
BODY_SHOWN = 500
"""Characters of a body that an error shows."""

TOO_LATE = "too late to send"
CUT_OFF = "no answer before its call was over"
SAFE = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods of requests that have no effect."""

SocketOption = tuple[int, int, int]


def current_call() -> Call | None:
    """The call being made, or None outside of one."""
    try:
        return call()
    except MakegoodError:
        return None


def add_key(headers: MutableMapping[str, str], current: Call | None, method: str, name: str | None) -> None:
    """The call's key, under this name, for a request that may have an effect and says no key itself.

    A probe only asks: its requests carry none.
    """
    if current is None or current.kind is Kind.PROBE or method in SAFE:
        return
    if name is not None and name not in headers:
        headers[name] = current.key


def check_time(current: Call | None) -> None:
    """Right before anything is sent. Raises Transient when the call's time is over."""
    if current is not None and current.time_left <= 0:
        raise Transient(TOO_LATE)


def time_for(current: Call) -> float:
    """Seconds that a request of this call may take; never 0, which libraries refuse or take for no bound."""
    left = current.time_left
    return max(0.001, left - min(LEAVE_BEFORE, left / 10))


def within(current: Call | None, seconds: float | None) -> float | None:
    """These seconds (None: no bound), but no more than the call has."""
    if current is None:
        return seconds
    return time_for(current) if seconds is None else min(seconds, time_for(current))


def asked(method: str, url: str, came_of_it: str) -> str:
    """What was asked for where, and what came of it, unless that says so itself."""
    what = f"{method} {_address(current_call(), url)}"
    if not came_of_it or came_of_it.startswith(what):
        return came_of_it or what
    return f"{what}: {came_of_it}"


def complaint(current: Call | None, method: str, url: str, status: int, body: str) -> str:
    """What an answer says that is no success.

    The call's own secrets are hidden before the body is cut, since nobody would know the beginning of one.
    """
    shown = (body if current is None else current.hides(body))[:BODY_SHOWN]
    return answered(method, _address(current, url), status, shown)


def _address(current: Call | None, url: str) -> str:
    """What may be told of a URL: its query may not, and what a secret put behind a "?" cuts that secret."""
    return without_secrets(url if current is None else current.hides(url))


def socket_options(acknowledged_within: float) -> list[SocketOption]:
    """For connections whose kernel gives up (on Linux) on what the other side does not acknowledge in time.

    So what was sent right before a connection was cut arrives within that time, or never.
    """
    options: list[SocketOption] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        options.append((socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(acknowledged_within * 1000)))
    return options
