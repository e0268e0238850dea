"""The service as a process: HTTP/1.1 on 127.0.0.1, a thread for each connection, until SIGTERM.

Control, never hit by faults: `GET /health`; `PUT /faults {"kind": ..., "count": n}` arms the next n calls;
`PUT /down {"seconds": s}` resets every call for that long.
"""

import argparse
import dataclasses
import json
import os
import signal
import socket
import struct
import sys
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from .call import Answer, Call, Json
from .faults import (
    HANG_SECONDS_MAX,
    HANGS,
    RETRY_AFTER_SECONDS,
    SETTLED,
    SHARES,
    WITHOUT_EFFECT,
    Fault,
    Faults,
    Pace,
    shown,
)
from .ledger import Ledger, now
from .office import NO_SUCH_ADDRESS, Office, Service

RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER for no time: closing resets
PARENT_CHECK_SECONDS = 0.2


class Counter(BaseHTTPRequestHandler):
    """Serves one connection: reads a call, lets a fault strike, has the office act, answers or breaks off."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one packet

    def __init__(self, office: Office, faults: Faults, *rest: Any) -> None:
        self.office = office
        self.faults = faults
        super().__init__(*rest)  # serves until the connection ends

    def do_GET(self) -> None:
        self._receive()

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the base class looks for these names

    def log_message(self, format: str, *args: object) -> None:
        """Stays silent: the ledger has every call."""

    def _receive(self) -> None:
        arrived = time.monotonic()
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) < length:
            self._break_off()
            return
        call = Call(
            method=self.command,
            path=tuple(unquote(part) for part in url.path.strip("/").split("/")),
            query=dict(parse_qsl(url.query)),
            key=self.headers.get("Idempotency-Key"),
            body=json_object(body),
            at=now(),
            arrived=arrived,
        )
        if call.path[0] == "reservations":
            self._serve(call)
        else:
            self._send(self._control(call))

    def _control(self, call: Call) -> Answer:
        match call.method, call.path:
            case "GET", ("health",):
                return Answer(200, {"service": self.office.service.name, "down": self.faults.down})
            case "PUT", ("down",):
                self.faults.go_down(float(call.body["seconds"]))
            case "PUT", ("faults",) if call.body.get("kind") in list(Fault):
                self.faults.arm(Fault(call.body["kind"]), int(call.body["count"]))
            case "PUT", ("faults",):
                return Answer(422, {"error": "kind must be one of " + ", ".join(Fault)})
            case _:
                return NO_SUCH_ADDRESS
        return Answer(200, {})

    def _serve(self, call: Call) -> None:
        fault = self.faults.strike(reading=call.method == "GET")
        if fault in WITHOUT_EFFECT:
            answer = shown(fault, Answer(204, {}))
            self.office.turn_away(call, fault, answer)
        else:
            by = self._hold_up(call, fault)
            answer = shown(fault, self.office.act(call, fault, by))
        if fault in HANGS:
            self._client_leaves_within(HANG_SECONDS_MAX * self.faults.pace.scale)
        if answer is None:
            self._break_off()
        else:
            self._send(answer)

    def _hold_up(self, call: Call, fault: Fault | None) -> float:
        """Waits as the fault says. Returns the monotonic time after which the call may have no effect.

        It counts from when the client gave up, seen as its hanging up: a client may have less patience left
        than it began with. One that stays on the line counts as gone after the usual time.
        """
        pace = self.faults.pace
        gone_at = call.arrived + pace.client_timeout
        if fault in (Fault.LATENCY, Fault.LATE):
            wait = self.faults.latency() if fault is Fault.LATENCY else pace.client_timeout
            if self._client_leaves_within(wait):
                gone_at = min(gone_at, time.monotonic())
        if fault is Fault.LATE:
            time.sleep(self.faults.settling())
        return gone_at + SETTLED * pace.settle

    def _client_leaves_within(self, seconds: float) -> bool:
        """Waits that long, or until the client hangs up."""
        self.connection.settimeout(max(seconds, 0.001))
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        finally:
            self.connection.settimeout(None)

    def _send(self, answer: Answer) -> None:
        content = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if answer.status == 429:
            self.send_header("Retry-After", str(RETRY_AFTER_SECONDS))
        self.end_headers()
        self.wfile.write(content)

    def _break_off(self) -> None:
        """Resets the connection; no answer comes."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        socket.close(self.connection.detach())


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False  # a hanging call must not keep the process from ending
    parent = os.getppid()

    def service_actions(self) -> None:
        """Leaves when the parent process is gone: nobody else would end this one."""
        if os.getppid() != self.parent:
            sys.exit()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error here."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def json_object(body: bytes) -> Json:
    """The object, or an empty one where the bytes are none: what it lacks is then refused by name."""
    try:
        value: object = json.loads(body)
    except ValueError:
        return {}
    return cast(Json, value) if isinstance(value, dict) else {}


def run(service: Service) -> None:
    """Reads the command line and serves. Says `listening on http://127.0.0.1:PORT` when ready."""
    options = arguments(service)
    pace = Pace(client_timeout=options.client_timeout, settle=options.settle, scale=options.pace)
    faults = Faults(options.faults, f"{options.seed}/{service.name}", pace, service.often)
    ledger = Ledger(options.ledger)
    office = Office(
        service=dataclasses.replace(service, sold_out=options.sold_out),
        ledger=ledger,
        seed=options.seed,
        keys=options.keys == "on",
        undo=options.undo == "on",
    )
    signal.signal(signal.SIGTERM, leave)
    with Server(("127.0.0.1", options.port), partial(Counter, office, faults)) as server:
        print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
        try:
            server.serve_forever(poll_interval=PARENT_CHECK_SECONDS)
        finally:
            ledger.close()


def leave(signum: int, frame: FrameType | None) -> None:
    sys.exit()


def arguments(service: Service) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=service.name, description=f"The {service.name} booking service.")
    parser.add_argument("--ledger", required=True, metavar="PATH", help="the SQLite file; made if not there")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--seed", type=int, default=0, help="for faults and for what is sold out")
    parser.add_argument("--faults", choices=list(SHARES), default="none", help="how many calls are hit")
    parser.add_argument("--keys", choices=["on", "off"], default="on", help="off: ignore Idempotency-Key")
    parser.add_argument("--undo", choices=["on", "off"], default="on", help="off: cancel in word only")
    parser.add_argument("--sold-out", type=float, default=service.sold_out, help="share of requests")
    parser.add_argument("--client-timeout", type=float, default=Pace.client_timeout, help="in seconds")
    parser.add_argument("--settle", type=float, default=Pace.settle, help="latest effect after that")
    parser.add_argument("--pace", type=float, default=Pace.scale, help="factor on latency, outages, hangs")
    return parser.parse_args()
