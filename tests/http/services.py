"""Services that answer badly, or not at all, on real sockets."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

Answer = Callable[[socket.socket, bytes], None]
"""What a service does with a connection and what it was sent."""

SELF_SIGNED = Path(__file__).with_name("self_signed.pem")


@contextmanager
def service(answer: Answer, *, tls: bool = False) -> Iterator[str]:
    """A service on this machine that does this with every connection; its URL."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        accepting = threading.Thread(target=_accept, args=(listening, answer, tls))
        accepting.start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()


def _accept(listening: socket.socket, answer: Answer, tls: bool) -> None:
    with ExitStack() as stack:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return  # it is closed
            serving = threading.Thread(target=_serve, args=(connection, answer, tls))
            serving.start()
            stack.callback(serving.join)


def _serve(connection: socket.socket, answer: Answer, tls: bool) -> None:
    with suppress(OSError), ExitStack() as stack:
        stack.enter_context(connection)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(SELF_SIGNED)
            connection = stack.enter_context(context.wrap_socket(connection, server_side=True))
        answer(connection, _request(connection))


def _request(connection: socket.socket) -> bytes:
    """A whole request: its head, and as much of a body as the head announces."""
    said = b""
    while b"\r\n\r\n" not in said and (more := connection.recv(65536)):
        said += more
    head, _, body = said.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().splitlines() if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < length and (more := connection.recv(65536)):
        body += more
    return head + b"\r\n\r\n" + body


def says(status: int, body: str = "", **headers: str) -> Answer:
    """Answer every request alike; in the names of headers, `_` stands for `-`."""
    lines = [f"HTTP/1.1 {status} So", f"Content-Length: {len(body)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return lambda connection, request: connection.sendall("\r\n".join([*lines, "", body]).encode())


def breaks_off(said: bytes) -> Answer:
    """Say this much, and close the connection."""
    return lambda connection, request: connection.sendall(said)


def falls_silent(said: bytes) -> Answer:
    """Say this much, and nothing more until the other side closes the connection, or does not within 3 s."""

    def answer(connection: socket.socket, request: bytes) -> None:
        connection.settimeout(3)
        connection.sendall(said)
        connection.recv(1)

    return answer


def cuts(connection: socket.socket, request: bytes) -> None:
    """Cut the connection in the middle of the answer."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")


def tunnels(connection: socket.socket, request: bytes) -> None:
    """A proxy that makes the connection it is asked for."""
    host, _, port = request.split()[1].decode().partition(":")
    with socket.create_connection((host, int(port))) as further:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        back = threading.Thread(target=_pass_on, args=(further, connection))
        back.start()
        _pass_on(connection, further)
        back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while said := source.recv(65536):
            target.sendall(said)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def hangs_up(connection: socket.socket, request: bytes) -> None:
    """Close the connection without an answer."""


def in_turn(*answers: Answer) -> Answer:
    """Answer the first request like this, the second like that."""
    left = iter(answers)
    return lambda connection, request: next(left)(connection, request)


@contextmanager
def silent() -> Iterator[str]:
    """A service that takes connections and requests and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"


@contextmanager
def crowded() -> Iterator[str]:
    """A service so crowded that no connection to it comes about."""
    with ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"


@contextmanager
def refused() -> Iterator[str]:
    """A port where nobody listens."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/"


@contextmanager
def nowhere() -> Iterator[str]:
    """A name that is not there."""
    yield "http://nowhere.invalid/"
