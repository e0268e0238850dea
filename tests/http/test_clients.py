"""The clients for actions, against services that dawdle, refuse and send elsewhere."""

import asyncio
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import httpx
import pytest
import requests
from urllib3.connection import HTTPConnection

import makegood.http
from makegood import Agent, Makegood, PlanDefinition, Transient, plan, step
from makegood.agents.classify import meaning_of
from makegood.core.events import Reply
from makegood.core.record import Kind
from tests.http.calls import in_call
from tests.http.services import (
    Answer,
    breaks_off,
    crowded,
    cuts,
    falls_silent,
    hangs_up,
    in_turn,
    refused,
    says,
    service,
    silent,
    tunnels,
)

Request = Callable[..., tuple[int, str]]
"""Method and URL, what the client and the request are to be like; the status and body of the answer."""


def by_httpx(method: str, url: str, *, request: Any = None, **client: Any) -> tuple[int, str]:
    async def send() -> tuple[int, str]:
        async with makegood.http.AsyncClient(**client) as http:
            answer = await http.request(method, url, **(request or {}))
            return answer.status_code, answer.text

    return asyncio.run(send())


def by_requests(method: str, url: str, *, request: Any = None, **client: Any) -> tuple[int, str]:
    with makegood.http.Session(**client) as http:
        answer = http.request(method, url, **(request or {}))
        return answer.status_code, answer.text


both = pytest.mark.parametrize("send", [by_httpx, by_requests])


def echoes(connection: socket.socket, request: bytes) -> None:
    """Answers with the request."""
    says(200, request.decode())(connection, request)


LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
LAST = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n"
TO_THE_END = b"HTTP/1.0 200 OK\r\n\r\n"
"""A body that ends with its connection."""


class Drips:
    """Answers a byte at a time, for ever; `broken` is set when nobody listens any more."""

    def __init__(self, head: bytes = LONG) -> None:
        self.head = head
        self.sent_at = 0.0
        self.broken_at = 0.0

    def __call__(self, connection: socket.socket, request: bytes) -> None:
        connection.sendall(self.head)
        self.sent_at = time.monotonic()
        try:
            while time.monotonic() < self.sent_at + 10:
                connection.sendall(b"x")
                time.sleep(0.02)
        except OSError:
            self.broken_at = time.monotonic()


@both
@pytest.mark.parametrize(
    ("tls", "head"),
    [(False, LONG), (True, LONG), (False, LAST), (True, LAST), (False, TO_THE_END)],
    ids=["plain", "tls", "last", "tls, last", "to the end"],
)
def test_a_body_that_drips_is_cut_off_at_the_calls_end(send: Request, tls: bool, head: bytes) -> None:
    drips, trusting = Drips(head), ({"verify": False} if tls and send is by_httpx else {})
    how = {"verify": False} if tls and send is by_requests else {}
    with service(drips, tls=tls) as url, pytest.warns() if how else nullcontext():
        began = time.monotonic()
        with pytest.raises((TimeoutError, requests.ReadTimeout)) as raised:
            in_call(lambda: send("POST", url, request=how, **trusting), seconds=0.7)
        took = time.monotonic() - began
    assert 0.6 < took < 1.5
    assert drips.broken_at - began < 1.7, "the connection stays open"
    assert meaning_of(raised.value).reply is Reply.UNKNOWN


def test_a_request_through_a_tunnel_is_cut_off_too() -> None:
    with service(Drips(LAST), tls=True) as url, service(tunnels) as proxy:
        how = {"verify": False, "proxies": {"https": proxy}}
        began = time.monotonic()
        with pytest.warns(), pytest.raises(requests.ReadTimeout):
            in_call(lambda: by_requests("POST", url, request=how), seconds=0.5)
        assert 0.4 < time.monotonic() - began < 1.3


BROKEN = {
    "status": b"HTTP/1.1 200",
    "header": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "head": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n",
    "hints": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "body": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nroo",
    "last body": b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nroo",
    "chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nroo",
    "size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nroo\r\n0",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nroo\r\n0\r\n",
}
"""Beginnings of an answer, by what breaks off."""
broken = pytest.mark.parametrize("said", BROKEN.values(), ids=BROKEN.keys())


@both
@broken
def test_an_answer_that_breaks_off_is_in_doubt(send: Request, said: bytes) -> None:
    with service(breaks_off(said)) as url:
        with pytest.raises((httpx.RemoteProtocolError, requests.RequestException)) as raised:
            in_call(lambda: send("GET", url), kind=Kind.PROBE)
    assert meaning_of(raised.value).reply is Reply.UNKNOWN


@broken
def test_an_answer_that_was_cut_off_is_in_doubt(said: bytes) -> None:
    with service(falls_silent(said)) as url, pytest.raises(requests.ReadTimeout, match="its call was over"):
        in_call(lambda: by_requests("GET", url), seconds=0.2, kind=Kind.PROBE)


def test_what_only_informs_is_no_answer() -> None:
    def informs(connection: socket.socket, request: bytes) -> None:
        connection.settimeout(3)
        while request:
            connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n")
            time.sleep(0.05)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + request.split()[1][-4:])
            request = connection.recv(65536)

    with service(informs) as url, makegood.http.Session() as http:
        assert in_call(lambda: http.post(f"{url}/anna").text) == "anna"
        assert in_call(lambda: http.post(f"{url}/berg").text) == "berg"


def test_a_connection_that_speaks_another_protocol_is_not_used_again() -> None:
    switches = falls_silent(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    with makegood.http.Session() as http, service(in_turn(switches, says(200, "here"))) as url:
        with pytest.raises(requests.HTTPError, match="answered 101"):
            in_call(lambda: http.post(url))
        assert in_call(lambda: http.post(url).text, seconds=1) == "here"


@both
def test_a_service_that_never_answers_is_given_the_whole_call(send: Request) -> None:
    """Not less, as the defaults of the library would have it, and not more."""
    with silent() as url:
        began = time.monotonic()
        with pytest.raises((TimeoutError, httpx.ReadTimeout, requests.ReadTimeout)) as raised:
            in_call(lambda: send("POST", url), seconds=0.5)
    assert 0.4 < time.monotonic() - began < 1.3
    assert meaning_of(raised.value).reply is Reply.UNKNOWN


@both
def test_a_connection_that_does_not_come_about_is_certain(
    send: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("of_httpx", "of_requests"):
        monkeypatch.setattr(f"makegood.http.{module}.CONNECT_WITHIN", 0.3)
    with crowded() as url, pytest.raises((httpx.ConnectTimeout, requests.ConnectTimeout)) as raised:
        in_call(lambda: send("POST", url), seconds=5)
    assert meaning_of(raised.value).reply is Reply.TRANSIENT


@both
def test_nothing_is_sent_when_the_time_is_over(send: Request) -> None:
    asked: list[bytes] = []
    with service(lambda connection, request: asked.append(request)) as url:
        with pytest.raises(Transient, match="too late to send"):
            in_call(lambda: send("POST", url), seconds=0)
    assert asked == []


def test_a_process_that_was_frozen_sends_nothing_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its last look at the time and the first byte; the connection stands already."""
    asked: list[bytes] = []
    connect = HTTPConnection.connect

    def freeze(connection: HTTPConnection) -> None:
        connect(connection)
        time.sleep(0.5)

    async def freeze_at(event: str, told: Any) -> None:
        if event == "connection.connect_tcp.complete":
            time.sleep(0.5)  # noqa: ASYNC251 - the loop stands still as well

    monkeypatch.setattr(HTTPConnection, "connect", freeze)
    with service(lambda connection, request: asked.append(request)) as url:
        with pytest.raises(Transient, match="too late to send"):
            in_call(lambda: by_requests("POST", url), seconds=0.3)
        with pytest.raises((Transient, TimeoutError)):  # the loop may find time to look at its own clock
            in_call(lambda: by_httpx("POST", url, request={"extensions": {"trace": freeze_at}}), seconds=0.3)
    assert [request for request in asked if request.strip()] == []


@both
def test_the_key_goes_with_what_may_have_an_effect(send: Request) -> None:
    def sent(method: str = "POST", *, kind: Kind = Kind.DO, **how: Any) -> bool:
        body = in_call(lambda: send(method, url, **how), kind=kind)[1]
        return "\nidempotency-key: trip-1-book\r" in body.lower()

    with service(echoes) as url:
        assert sent("POST")
        assert sent("DELETE", kind=Kind.UNDO)
        assert not sent("GET")
        assert not sent("POST", kind=Kind.PROBE)
        assert not sent(key_header=None)
        assert not sent(request={"headers": {"idempotency-key": "mine"}})
        assert "\nx-key: trip-1-book\r" in in_call(lambda: send("POST", url, key_header="X-Key"))[1].lower()
        assert "idempotency-key" not in send("POST", url)[1].lower(), "outside of a call there is none"


def test_a_connection_that_took_all_the_time_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would cut it any more."""
    asked: list[bytes] = []
    connect = HTTPConnection.connect

    def dawdle(connection: HTTPConnection) -> None:
        connect(connection)
        time.sleep(0.95)

    monkeypatch.setattr(HTTPConnection, "connect", dawdle)
    with service(lambda connection, request: asked.append(request)) as url:
        with pytest.raises(Transient, match="too late to send"):
            in_call(lambda: by_requests("POST", url), seconds=1)
    assert [request for request in asked if request.strip()] == []


def test_a_request_that_is_sent_by_two_calls_has_the_key_and_the_time_of_each() -> None:
    client, session = makegood.http.AsyncClient(), makegood.http.Session()

    def post_by_httpx() -> str:
        return asyncio.run(client.send(of_httpx)).text

    def post_by_requests() -> str:
        return session.send(of_requests).text

    with service(echoes) as url:
        of_httpx = client.build_request("POST", url)
        of_requests = session.prepare_request(requests.Request("POST", url))
        for post in (post_by_httpx, post_by_requests):
            assert "\nidempotency-key: trip-1-book\r" in in_call(post, seconds=0.2).lower()
            time.sleep(0.2)
            assert "\nidempotency-key: trip-2-book\r" in in_call(post, task_id="trip-2").lower()
            assert "idempotency-key" not in post().lower()


@both
def test_of_a_secret_where_a_body_or_an_address_is_cut_nothing_is_shown(send: Request) -> None:
    def hides(text: str) -> str:
        return text.replace("4111-2222", "***").replace("ab?cd", "***")

    with service(says(422, "x" * 495 + "4111-2222")) as url:
        with pytest.raises((httpx.HTTPStatusError, requests.HTTPError), match=r"/cards/\*\*\* .*x\*\*\*$"):
            in_call(lambda: send("POST", f"{url}cards/ab?cd"), hides=hides)


@both
@pytest.mark.parametrize(
    ("status", "reply"),
    [(422, Reply.REFUSED), (429, Reply.TRANSIENT), (500, Reply.UNKNOWN), (303, Reply.UNKNOWN)],
)
def test_no_success_is_an_error_that_says_what_the_service_said(
    send: Request, status: int, reply: Reply
) -> None:
    with service(says(status, "sold out", Location="/elsewhere")) as url:
        with pytest.raises((httpx.HTTPStatusError, requests.HTTPError)) as raised:
            in_call(lambda: send("POST", f"{url.replace('//', '//ann:password@')}rooms?token=secret"))
        meaning = meaning_of(raised.value)
        assert meaning.reply is reply
        assert meaning.error.endswith(f"POST {url}rooms answered {status}: sold out")
        assert send("POST", url, raise_for_status=False) == (status, "sold out")


def redirects(send: Request, *, follow: bool) -> dict[str, bool]:
    return {"follow_redirects" if send is by_httpx else "allow_redirects": follow}


ON = says(307, Location="/there?token=secret")


@both
def test_only_what_is_safe_follows_a_redirect(send: Request) -> None:
    follows = redirects(send, follow=True)
    with service(in_turn(ON, ON, says(200, "here"))) as url:
        assert in_call(lambda: send("GET", url, request=follows)) == (200, "here")
    with service(in_turn(ON, says(200, "here"))) as url:
        with pytest.raises((httpx.HTTPStatusError, requests.HTTPError), match="answered 307"):
            in_call(lambda: send("POST", url, request=follows))


@both
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_redirect_that_is_not_followed_is_no_success(send: Request, method: str) -> None:
    """A probe that is sent to a login page has found nothing."""
    with service(ON) as url, pytest.raises((httpx.HTTPStatusError, requests.HTTPError), match="answered 307"):
        in_call(lambda: send(method, url, request=redirects(send, follow=False)))


@both
def test_what_is_no_success_after_a_redirect_is_not_certain(send: Request) -> None:
    with service(in_turn(ON, ON, says(404))) as url:
        with pytest.raises((httpx.HTTPStatusError, requests.HTTPError)) as raised:
            in_call(lambda: send("GET", url, request=redirects(send, follow=True)))
    assert str(raised.value) == f"GET {url}there answered 404"
    assert meaning_of(raised.value).reply is Reply.UNKNOWN


AMISS = {
    "nobody listens": ("http://ann:pa55@127.0.0.1:1/rooms?token=pa55", "/rooms "),
    "no such host": ("http://ann:pa55@nowhere.invalid/rooms?token=a@pa55", "/rooms "),
    "no host": ("http://?token=pa55", "'http://'"),
    "no port": ("https://ann:pa55@127.0.0.1:port/?token=pa55", "'***'"),
    "no scheme": ("rooms.example/rooms?token=pa55", "'rooms.example/rooms'"),
    "no scheme and a user": ("ann:pa55@rooms.example?token=a@pa55", "'***'"),
    "another scheme": ("ftp://ann:pa55@rooms.example/rooms?token=pa55", "'ftp://rooms.example/rooms'"),
}
"""Addresses of which nothing comes, and how an error of requests tells them."""


@both
@pytest.mark.parametrize(("url", "told"), AMISS.values(), ids=AMISS.keys())
def test_an_error_tells_no_secret_of_an_address(send: Request, url: str, told: str) -> None:
    with pytest.raises((httpx.TransportError, httpx.InvalidURL, requests.RequestException)) as raised:
        send("POST", url)
    assert "pa55" not in "".join(traceback.format_exception(raised.value))
    if send is by_requests:
        assert told in str(raised.value)
        assert meaning_of(raised.value).reply is Reply.TRANSIENT


ILLS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "nobody listens": refused,
    "silent": silent,
    "hangs up": partial(service, hangs_up),
    "breaks off": partial(service, cuts),
    "another certificate": partial(service, hangs_up, tls=True),
}


@both
@pytest.mark.parametrize("ill", ILLS.values(), ids=ILLS.keys())
def test_what_came_of_no_answer_says_what_was_asked(
    send: Request, ill: Callable[[], AbstractContextManager[str]]
) -> None:
    with ill() as url:
        with pytest.raises((httpx.TransportError, TimeoutError, requests.RequestException)) as raised:
            in_call(lambda: send("POST", f"{url.replace('//', '//ann:pa55@')}rooms?token=pa55"), seconds=0.5)
    kind, asked, *_ = meaning_of(raised.value).error.split(": ")
    assert (kind, asked) == (type(raised.value).__name__, f"POST {url}rooms")


@both
@pytest.mark.parametrize("ill", [hangs_up, cuts])
def test_after_a_redirect_the_last_address_is_told_once(send: Request, ill: Answer) -> None:
    with service(in_turn(ON, ill)) as url:
        with pytest.raises((httpx.TransportError, requests.RequestException)) as raised:
            in_call(lambda: send("GET", url, request=redirects(send, follow=True)))
    assert str(raised.value).startswith(f"GET {url}there: ")
    assert str(raised.value).count("GET") == 1
    assert meaning_of(raised.value).reply is Reply.UNKNOWN


def test_what_a_hook_raises_of_no_request_says_what_was_asked() -> None:
    async def hook(request: httpx.Request) -> None:
        raise httpx.ReadError("no token")

    with pytest.raises(httpx.ReadError, match=r"^GET http://rooms\.example/: no token$"):
        by_httpx("GET", "http://rooms.example/", event_hooks={"request": [hook]})


@both
def test_nothing_is_tried_again(send: Request) -> None:
    asked: list[bytes] = []
    with service(lambda connection, request: asked.append(request)) as url:
        with pytest.raises((httpx.RemoteProtocolError, requests.ConnectionError)) as raised:
            in_call(lambda: send("PUT", url))
    assert len(asked) == 1
    assert meaning_of(raised.value).reply is Reply.UNKNOWN


def test_sockets_forget_what_is_not_acknowledged() -> None:
    async def of_httpx() -> int:
        async with makegood.http.AsyncClient(acknowledged_within=1.5) as http, http.stream("GET", url) as got:
            return timeout_of(got.extensions["network_stream"].get_extra_info("socket"))

    def of_requests() -> int:
        with makegood.http.Session(acknowledged_within=1.5) as http, http.get(url, stream=True) as got:
            connection: Any = got.raw.connection
            return timeout_of(connection.sock)

    def timeout_of(connection: socket.socket) -> int:
        return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)

    with service(cuts) as url:
        assert asyncio.run(of_httpx()) == of_requests() == 1500


@pytest.mark.parametrize("head", [LONG, LAST, TO_THE_END], ids=["long", "last", "to the end"])
def test_a_stream_is_cut_off_too(head: bytes) -> None:
    def read_all() -> None:
        with makegood.http.Session() as http, http.post(url, stream=True) as got:
            assert list(got.iter_content(1000))

    with service(Drips(head)) as url:
        began = time.monotonic()
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            in_call(read_all, seconds=0.5)
        assert time.monotonic() - began < 1.5


def test_a_stream_that_was_read_spares_the_next_request_on_its_connection() -> None:
    def answers_twice(connection: socket.socket, request: bytes) -> None:
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"
        connection.sendall(answer)
        assert connection.recv(65536)
        time.sleep(0.6)
        connection.sendall(answer)

    with service(answers_twice) as url, makegood.http.Session() as http:

        def read_all() -> bytes:
            with http.post(url, stream=True) as got:
                return got.content

        assert in_call(read_all, seconds=0.4) == b"x"
        assert in_call(lambda: http.post(url).content, seconds=5) == b"x"


desk = Agent("desk", timeout=1, settle=0.2)
address: list[str] = []


@desk.action(undo=None)
async def ask() -> None:
    async with makegood.http.AsyncClient() as http:
        await http.post(address[-1])


@desk.action(undo=None)
def ask_in_a_thread() -> None:
    with makegood.http.Session() as http:
        http.post(address[-1])


@plan
def asking() -> None:
    step(ask)


@plan
def asking_in_a_thread() -> None:
    step(ask_in_a_thread)


@pytest.mark.parametrize("asks", [asking, asking_in_a_thread])
def test_an_agent_is_not_held_up(asks: PlanDefinition[None, None], caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> str:
        async with Makegood("memory:", [desk]) as engine:
            task = await engine.submit(asks)
            assert await task.wait(5) == "Failed"
            return str((await task.record())["steps"][0])

    with service(Drips()) as url:
        address.append(url)
        said = asyncio.run(run())
    assert "'outcome': 'unknown'" in said
    assert "cannot be stopped" not in caplog.text


def test_a_client_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AttributeError, match="has no Client; it has AsyncClient and Session"):
        makegood.http.Client  # noqa: B018
    monkeypatch.delitem(sys.modules, "makegood.http.of_requests")
    monkeypatch.setitem(sys.modules, "requests", None)
    with pytest.raises(ImportError, match=r"http\.Session needs requests, .*: pip install requests"):
        makegood.http.Session  # noqa: B018


def test_nobody_pays_for_a_library_that_is_not_used() -> None:
    program = "import makegood.http, sys; print({'httpx', 'requests', 'urllib3'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "set()\n"
