"""A small HTTP/1.1 client on asyncio streams, for the demo's agents: one request, one connection.

When the call is cut off at its timeout the connection is aborted, so that nothing lingers in a buffer.
"""

import asyncio
import json
import socket
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from makegood import MakegoodError, Transient, call, raise_for_status

ACKNOWLEDGED_WITHIN = 1_000
"""Milliseconds after which the kernel gives up on bytes the other side never acknowledged."""


class Reply(NamedTuple):
    """A whole reply; `body` is JSON, None where there is none."""

    status: int
    headers: dict[str, str]
    body: Any


async def request(
    method: str, url: str, body: Any = None, headers: dict[str, str] | None = None, *, keyed: bool = False
) -> Any:
    """The JSON answer of a request that succeeded. Raises Refused, Transient, Unknown, or as sockets do.

    `keyed`: the service does a thing once per key, so that a conflict is no refusal.
    """
    reply = await _exchange(method, url, body, headers or {})
    said = reply.body.get("error", "") if isinstance(reply.body, dict) else ""
    raise_for_status(reply.status, reply.headers, said or f"{method} answered {reply.status}", keyed=keyed)
    return reply.body


async def _exchange(method: str, url: str, body: Any, headers: dict[str, str]) -> Reply:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        writer.get_extra_info("socket").setsockopt(
            socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, ACKNOWLEDGED_WITHIN
        )
        if _too_late():
            raise Transient("too late to send")
        writer.write(_head_and_body(method, parts.netloc, url, body, headers))
        await writer.drain()
        return await _read(reader)
    except asyncio.IncompleteReadError:
        raise ConnectionResetError("the connection was closed in the middle of an answer") from None
    finally:
        writer.transport.abort()


def _too_late() -> bool:
    """Whether the call's life is over, though the process only now comes to send; a listing is no call."""
    try:
        return call().time_left <= 0
    except MakegoodError:
        return False


def _head_and_body(method: str, host: str, url: str, body: Any, headers: dict[str, str]) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    target = url.split(host, 1)[1] or "/"
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(content)}", "Content-Type: application/json", "", ""]
    return "\r\n".join(lines).encode() + content


async def _read(reader: asyncio.StreamReader) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    status = int(head[0].split(" ", 2)[1])
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    return Reply(status, headers, json.loads(content) if content else None)
