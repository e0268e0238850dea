"""The demo's services as their callers meet them: real processes, real HTTP, and the ledger as the truth."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

SERVICES = Path(__file__).parents[2] / "src" / "makegood" / "demo" / "services"
ALONE = [sys.executable, "-E", "-S"]
"""No site-packages, no PYTHONPATH: what imports more than the standard library does not start."""

PATIENT = ["--sold-out", "0", "--client-timeout", "10"]
"""Where a test says nothing else: a slow machine must not make a service too busy to answer."""

ASKS: dict[str, dict[str, Any]] = {
    "flight": {"origin": "LIS", "destination": "OSL", "day": "2026-05-01"},
    "hotel": {"city": "Oslo", "arrives": "2026-05-01T15:40:00Z", "nights": 3},
    "car": {"pickup": "12 Station Road, Oslo", "days": 3},
}
ALL = pytest.mark.parametrize("name", list(ASKS))

WITHOUT_EFFECT = ["500-before", "429", "reset-before", "hang-before", "down"]
WITH_EFFECT = ["latency", "500-after", "reset-after", "hang-after", "late"]
SEEN = {"latency": 201, "500-before": 500, "500-after": 500, "429": 429}
"""What the client is answered under a fault; under the others it never gets an answer."""


@dataclass
class Service:
    name: str
    process: subprocess.Popen[str]
    ledger: Path
    http: httpx.Client

    def book(self, reference: str = "trip-1", key: str | None = None, **more: Any) -> httpx.Response:
        body = {"reference": reference, "traveller": "Ann", **ASKS[self.name], **more}
        return self.http.post("/reservations", json=body, headers=headers(key))

    def cancel(self, path: str, key: str | None = None) -> httpx.Response:
        return self.http.delete(f"/reservations/{path}", headers=headers(key))

    def live(self, reference: str = "trip-1") -> list[dict[str, Any]]:
        reply = self.http.get("/reservations", params={"reference": reference})
        return list(reply.json()["reservations"])

    def arm(self, kind: str, count: int = 1) -> None:
        assert self.http.put("/faults", json={"kind": kind, "count": count}).status_code == 200

    def rows(self, sql: str) -> list[Any]:
        """Read in the file itself, as an auditor would."""
        with closing(sqlite3.connect(f"file:{self.ledger}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    def states(self) -> list[str]:
        return [state for (state,) in self.rows("SELECT state FROM reservations ORDER BY id")]

    def last_call(self) -> Any:
        """(fault, status, effect) of the last call but lookups."""
        return self.rows(
            "SELECT fault, status, effect FROM calls WHERE method <> 'GET' ORDER BY id DESC LIMIT 1"
        )[0]


Start = Callable[..., Service]


def headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def outcome(call: Callable[[], httpx.Response]) -> int | None:
    """The status answered; None where no answer came."""
    try:
        return call().status_code
    except httpx.TransportError:
        return None


def eventually(seen: Callable[[], bool], within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while not seen():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    running: list[Service] = []

    def start(name: str, *options: str, timeout: float = 5.0) -> Service:
        ledger = tmp_path / f"{name}.db"
        process = subprocess.Popen(
            [*ALONE, str(SERVICES / f"{name}.py"), "--ledger", str(ledger), *PATIENT, *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        words = process.stdout.readline().split()
        assert words[:2] == ["listening", "on"]
        http = httpx.Client(base_url=words[2], timeout=timeout, verify=False, trust_env=False)
        running.append(Service(name, process, ledger, http))
        return running[-1]

    yield start
    for service in running:
        service.http.close()
        service.process.kill()
        service.process.communicate()


# What every one of them does


@ALL
def test_books_looks_up_and_answers_what_the_next_step_needs(start: Start, name: str) -> None:
    service = start(name)
    reply = service.book()
    assert reply.status_code == 201
    told = {"flight": "arrives", "hotel": "address", "car": "pickup"}[name]
    [found] = service.live()
    assert {"confirmation": found["confirmation"], told: found[told]} == reply.json()
    assert found.items() >= ({"reference": "trip-1", "traveller": "Ann"} | ASKS[name]).items()
    assert service.live("another trip") == []
    assert service.http.get("/health").json() == {"service": name, "down": False}


@ALL
def test_refuses_what_it_cannot_understand(start: Start, name: str) -> None:
    service = start(name)
    for content in (b"", b"{", b"[]", b'{"reference": "trip-1"}'):
        reply = service.http.post("/reservations", content=content)
        assert reply.status_code == 422
        assert "traveller" in reply.json()["error"]
    assert service.http.get("/nowhere").status_code == 404
    assert service.cancel("a/b/c").status_code == 404
    assert service.http.put("/faults", json={"kind": "flood", "count": 1}).status_code == 422
    assert service.states() == []


@ALL
def test_says_sold_out_where_the_request_asks_for_it(start: Start, name: str) -> None:
    service = start(name)
    for _ in range(2):
        reply = service.book(key="k", sold_out=True)
        assert (reply.status_code, reply.json()) == (422, {"error": "sold out"})
    assert service.states() == []


@ALL
def test_what_it_answered_is_in_the_ledger_after_sigkill(start: Start, name: str) -> None:
    first = start(name)
    booked = first.book(key="k").json()
    first.process.kill()
    first.process.wait()
    assert first.states() == ["live"]
    second = start(name)
    assert second.live()[0]["confirmation"] == booked["confirmation"]
    again = second.book(key="k")
    if name == "car":
        assert again.json()["confirmation"] != booked["confirmation"]
    else:
        assert (again.status_code, again.json()) == (200, booked)


@ALL
def test_every_call_is_written_down(start: Start, name: str) -> None:
    service = start(name)
    confirmation = service.book(key="k").json()["confirmation"]
    service.cancel("by-key/k" if name == "flight" else confirmation, key="k-undo")
    service.live()
    calls = service.rows("SELECT method, path, key, reference, fault, status, effect FROM calls ORDER BY id")
    path = "/reservations/by-key/k" if name == "flight" else f"/reservations/{confirmation}"
    assert calls == [
        ("POST", "/reservations", "k", "trip-1", None, 201, "booked"),
        ("DELETE", path, "k-undo", None, None, 200, "cancelled"),
        ("GET", "/reservations", None, "trip-1", None, 200, None),
    ]
    [(created_at, cancelled_at)] = service.rows("SELECT created_at, cancelled_at FROM reservations")
    assert created_at.endswith("Z")
    assert created_at <= cancelled_at


# Keys, tombstones, cancelling


@pytest.mark.parametrize("name", ["flight", "hotel"])
def test_a_key_books_once_and_brings_the_first_answer_again(start: Start, name: str) -> None:
    service = start(name)
    with ThreadPoolExecutor(60) as callers:
        replies = list(callers.map(lambda _: service.book(key="k"), range(60)))
    assert Counter(reply.status_code for reply in replies) == {201: 1, 200: 59}
    assert len({reply.text for reply in replies}) == 1
    assert service.states() == ["live"]
    assert service.book(key="k", reference="trip-2").status_code == 422
    assert service.book(key="k2", reference="trip-2").status_code == 201


def test_the_car_rental_ignores_keys(start: Start) -> None:
    car = start("car")
    assert [car.book(key="k").status_code for _ in range(2)] == [201, 201]
    assert len(car.live()) == 2
    assert car.cancel("by-key/k").status_code == 404


def test_a_flight_cancelled_by_key_can_never_be_booked_under_it(start: Start) -> None:
    flight = start("flight")
    assert flight.cancel("by-key/early", key="early-undo").json() == {"cancelled": False}
    assert flight.book(key="early").status_code == 410
    assert flight.book(key="k").status_code == 201
    assert flight.cancel("by-key/k", key="k-undo").json() == {"cancelled": True}
    assert flight.book(key="k").status_code == 410
    assert flight.cancel("by-key/k", key="k-undo~2").json() == {"cancelled": False}, "nothing was live"
    assert flight.states() == ["cancelled"]
    assert flight.rows("SELECT key FROM tombstones ORDER BY at") == [("early",), ("k",)]


def test_a_hotel_room_cancelled_too_early_is_booked_all_the_same(start: Start) -> None:
    hotel = start("hotel")
    assert hotel.cancel("by-key/k", key="k-undo").json() == {"cancelled": False}
    assert hotel.book(key="k").status_code == 201
    assert hotel.cancel("by-key/k", key="k-undo").json() == {"cancelled": False}, "the first answer again"
    assert hotel.states() == ["live"]
    assert hotel.cancel("by-key/k", key="k-undo~2").json() == {"cancelled": True}
    assert hotel.states() == ["cancelled"]


@pytest.mark.parametrize("name", ["flight", "hotel"])
def test_an_undo_key_brings_the_first_answer_again(start: Start, name: str) -> None:
    service = start(name)
    service.book(key="k")
    replies = [service.cancel("by-key/k", key="k-undo") for _ in range(2)]
    assert [(reply.status_code, reply.json()) for reply in replies] == [(200, {"cancelled": True})] * 2
    assert service.cancel("by-key/k2", key="k-undo").status_code == 422
    assert service.rows("SELECT effect FROM calls WHERE method = 'DELETE'") == [
        ("cancelled",),
        (None,),
        (None,),
    ]


@pytest.mark.parametrize("name", ["hotel", "car"])
def test_cancels_by_confirmation_once(start: Start, name: str) -> None:
    service = start(name)
    confirmation = service.book().json()["confirmation"]
    assert service.cancel(confirmation).json() == {"cancelled": True}
    assert service.cancel(confirmation).status_code == 404
    assert service.live() == []
    assert service.states() == ["cancelled"]


def test_the_same_cars_are_sold_out_however_often_one_asks(start: Start) -> None:
    car = start("car", "--sold-out", "0.3", "--seed", "7")
    trips = [f"trip-{number}" for number in range(60)]
    rounds = [[car.book(trip).status_code for trip in trips] for _ in range(2)]
    assert rounds[0] == rounds[1]
    assert 6 <= rounds[0].count(422) <= 30
    assert set(rounds[0]) == {201, 422}


# Broken on purpose: what a check of the ledgers must find


@pytest.mark.parametrize("name", ["flight", "hotel"])
def test_with_keys_off_a_retry_books_twice(start: Start, name: str) -> None:
    service = start(name, "--keys", "off")
    assert [service.book(key="k").status_code for _ in range(2)] == [201, 201]
    assert service.rows("SELECT key, state FROM reservations") == [("k", "live")] * 2


@ALL
def test_with_undo_off_it_says_cancelled_and_keeps_the_booking(start: Start, name: str) -> None:
    service = start(name, "--undo", "off")
    confirmation = service.book(key="k").json()["confirmation"]
    reply = service.cancel("by-key/k" if name == "flight" else confirmation, key="k-undo")
    assert (reply.status_code, reply.json()) == (200, {"cancelled": True})
    assert service.states() == ["live"]


# Faults on command


@ALL
def test_faults_before_the_effect(start: Start, name: str) -> None:
    service = start(name, "--pace", "0.02", timeout=2.0)
    for kind in WITHOUT_EFFECT:
        service.arm(kind)
        assert outcome(service.book) == SEEN.get(kind)
        assert service.last_call() == (kind, SEEN.get(kind), None)
    assert service.states() == []
    assert eventually(lambda: outcome(service.book) == 201), "all that was for those calls only"


@ALL
def test_faults_after_the_effect(start: Start, name: str) -> None:
    service = start(name, "--pace", "0.02", "--client-timeout", "0.05", "--settle", "1", timeout=2.0)
    for kind in WITH_EFFECT:
        service.arm(kind)
        assert outcome(partial(service.book, key=kind)) == SEEN.get(kind)
        assert service.last_call() == (kind, SEEN.get(kind), "booked")
    assert service.states() == ["live"] * len(WITH_EFFECT)


def test_a_cancelling_whose_answer_is_lost_is_done_and_can_be_asked_again(start: Start) -> None:
    hotel = start("hotel", "--pace", "0.02")
    for kind in ("reset-after", "500-after", "hang-after"):
        hotel.book(key=kind)
        hotel.arm(kind)
        assert outcome(partial(hotel.cancel, f"by-key/{kind}", key=f"{kind}-undo")) == SEEN.get(kind)
        assert hotel.states()[-1] == "cancelled"
        assert hotel.cancel(f"by-key/{kind}", key=f"{kind}-undo").json() == {"cancelled": True}


def test_lookups_are_hit_as_well(start: Start) -> None:
    car = start("car")
    car.book()
    for kind in ("500-before", "reset-before"):
        car.arm(kind)
        assert outcome(lambda: car.http.get("/reservations?reference=trip-1")) == SEEN.get(kind)
    car.arm("latency")
    assert len(car.live()) == 1


def test_armed_faults_hit_the_next_calls_in_order_and_no_more(start: Start) -> None:
    flight = start("flight")
    flight.arm("429", count=2)
    flight.arm("500-before")
    replies = [flight.book(key="k") for _ in range(4)]
    assert [reply.status_code for reply in replies] == [429, 429, 500, 201]
    assert replies[0].headers["Retry-After"] == "1"


def test_a_hang_lasts_until_the_client_gives_up(start: Start) -> None:
    hotel = start("hotel", timeout=0.3)
    hotel.arm("hang-after")
    with pytest.raises(httpx.ReadTimeout):
        hotel.book(key="k")
    assert hotel.states() == ["live"]


def test_a_reset_is_one(start: Start) -> None:
    car = start("car")
    car.arm("reset-before")
    with pytest.raises(httpx.ReadError):
        car.book()


def test_down_resets_every_call_for_a_while(start: Start) -> None:
    flight = start("flight")
    flight.http.put("/down", json={"seconds": 0.5})
    began = time.monotonic()
    assert flight.http.get("/health").json() == {"service": "flight", "down": True}
    assert [outcome(lambda: flight.book(key="k")) for _ in range(3)] == [None] * 3
    assert eventually(lambda: outcome(lambda: flight.book(key="k")) == 201)
    assert time.monotonic() - began >= 0.4
    assert flight.states() == ["live"]


# The late effect, and its bound


def lateness(service: Service) -> float:
    """Seconds from the arrival of the late call to its effect."""
    sql = "SELECT at, (SELECT min(created_at) FROM reservations) FROM calls WHERE fault = 'late'"
    arrived_at, created_at = (datetime.fromisoformat(text) for text in service.rows(sql)[0])
    return (created_at - arrived_at).total_seconds()


def book_late(service: Service, key: str = "k") -> None:
    service.arm("late")
    with pytest.raises(httpx.ReadTimeout):
        service.book(key=key)
    assert service.states() == [], "nothing happens while the client waits"


def late_call_is_over(service: Service) -> bool:
    return eventually(lambda: service.rows("SELECT 1 FROM calls WHERE fault = 'late'") != [])


@ALL
def test_a_late_effect_comes_after_the_client_gave_up_and_within_settle(start: Start, name: str) -> None:
    service = start(name, "--client-timeout", "0.3", "--settle", "2", timeout=0.3)
    book_late(service)
    assert late_call_is_over(service)
    assert service.states() == ["live"]
    assert 0.3 <= lateness(service) <= 0.3 + 2


def test_settle_counts_from_when_the_client_really_gave_up(start: Start) -> None:
    flight = start("flight", "--client-timeout", "30", "--settle", "2", timeout=0.2)
    book_late(flight)
    assert late_call_is_over(flight)
    assert lateness(flight) <= 0.2 + 2


def test_a_late_flight_meets_the_tombstone(start: Start) -> None:
    flight = start("flight", timeout=0.2)
    book_late(flight)
    assert flight.cancel("by-key/k", key="k-undo").json() == {"cancelled": False}
    assert late_call_is_over(flight)
    assert flight.states() == []


def test_a_late_hotel_room_meets_its_key(start: Start) -> None:
    hotel = start("hotel", timeout=0.2)
    book_late(hotel)
    assert hotel.book(key="k").status_code == 201
    assert late_call_is_over(hotel)
    assert hotel.states() == ["live"]


def test_a_late_car_is_simply_booked(start: Start) -> None:
    car = start("car", timeout=0.2)
    book_late(car)
    assert car.book(key="k").status_code == 201
    assert late_call_is_over(car)
    assert car.states() == ["live", "live"]


@contextmanager
def locked(ledger: Path) -> Iterator[None]:
    """Nobody can write, nor read."""
    with closing(sqlite3.connect(ledger)) as hog:
        hog.execute("BEGIN EXCLUSIVE")
        yield


def test_what_cannot_be_done_in_time_is_not_done(start: Start) -> None:
    flight = start("flight", "--client-timeout", "0.1", "--settle", "0.1")
    with ThreadPoolExecutor(1) as caller:
        with locked(flight.ledger):
            call = caller.submit(flight.book, key="k")
            time.sleep(0.4)
        assert call.result().status_code == 503
    assert flight.states() == []
    assert flight.last_call() == (None, 503, None)


def test_a_late_effect_that_comes_too_late_is_none(start: Start) -> None:
    flight = start("flight", "--client-timeout", "10", "--settle", "0.3", timeout=0.2)
    with locked(flight.ledger):
        flight.arm("late")
        assert outcome(flight.book) is None
        time.sleep(0.5)
    assert late_call_is_over(flight)
    assert flight.states() == []


# How many are hit


def book_many(service: Service, count: int) -> None:
    for number in range(count):
        outcome(partial(service.book, f"trip-{number}", key=f"k{number}"))


def hits(service: Service, method: str) -> tuple[Counter[str | None], float]:
    """Calls by fault, and the share that was hit; outages left out, since one hits many."""
    sql = f"SELECT fault FROM calls WHERE method = '{method}'"
    faults: Counter[str | None] = Counter(fault for (fault,) in service.rows(sql))
    return faults, 1 - faults[None] / (faults.total() - faults["down"])


QUICK = ["--pace", "0.005", "--client-timeout", "0.02", "--settle", "0.05"]


@ALL
def test_high_hits_three_in_ten_with_every_kind(start: Start, name: str) -> None:
    service = start(name, "--faults", "high", "--seed", "3", *QUICK)
    book_many(service, 300)
    faults, share = hits(service, "POST")
    assert faults.total() == 300
    assert 0.3 <= share <= 0.4
    assert {*faults} == {None, *WITHOUT_EFFECT, *WITH_EFFECT}


def test_high_hits_lookups_more_mildly(start: Start) -> None:
    car = start("car", "--faults", "high", *QUICK)
    for _ in range(60):
        outcome(lambda: car.http.get("/reservations?reference=trip-1"))
    faults, share = hits(car, "GET")
    assert 0.3 <= share <= 0.5
    assert {*faults} == {None, "latency", "500-before", "reset-before"}


def test_some_hits_one_in_ten(start: Start) -> None:
    flight = start("flight", "--faults", "some", *QUICK)
    book_many(flight, 200)
    assert 0.05 <= hits(flight, "POST")[1] <= 0.15


@ALL
def test_none_hits_nothing(start: Start, name: str) -> None:
    service = start(name, "--faults", "none")
    assert [service.book().status_code for _ in range(50)] == [201] * 50
    assert hits(service, "POST") == ({None: 50}, 0)


@pytest.mark.parametrize("level", ["some", "high"])
def test_the_same_seed_deals_the_same_faults(start: Start, level: str, tmp_path: Path) -> None:
    def dealt(seed: str) -> list[Any]:
        service = start("hotel", "--faults", level, "--seed", seed, *QUICK, "--pace", "0.001")
        book_many(service, 40)
        faults = service.rows("SELECT fault FROM calls WHERE fault IS NULL OR fault <> 'down' ORDER BY id")
        service.process.kill()
        service.process.wait()
        service.ledger.unlink()
        return faults[:30]

    assert dealt("5") == dealt("5") != dealt("6")


# Its life as a process


def test_sigterm_ends_it_at_once_even_while_a_call_hangs(start: Start) -> None:
    hotel = start("hotel")
    hotel.arm("hang-before")
    with ThreadPoolExecutor(1) as caller:
        hanging = caller.submit(outcome, hotel.book)
        assert eventually(lambda: hotel.rows("SELECT 1 FROM calls") != [])
        hotel.process.send_signal(signal.SIGTERM)
        assert hotel.process.wait(timeout=2) == 0
        assert hanging.result() is None
    assert hotel.process.stdout is not None
    assert hotel.process.stdout.read() == "", "one line and no more"


STARTER = """
import subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
print(process.pid, process.stdout.readline())
"""


def alive(pid: int) -> bool:
    """Whether it runs; what has ended and waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ends_by_itself_when_its_parent_is_gone(tmp_path: Path) -> None:
    command = [*ALONE, str(SERVICES / "car.py"), "--ledger", str(tmp_path / "car.db")]
    starter = subprocess.run(
        [sys.executable, "-c", STARTER, *command], capture_output=True, text=True, check=True, timeout=20
    )
    pid, said = starter.stdout.split(maxsplit=1)
    assert said.startswith("listening on http://127.0.0.1:")
    gone = eventually(lambda: not alive(int(pid)), within=5)
    if not gone:
        os.kill(int(pid), signal.SIGKILL)
    assert gone
