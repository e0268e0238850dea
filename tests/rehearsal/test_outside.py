"""A rehearsal calls nobody: what reaches for a live service, or for no service at all, ends it at once."""

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from copy import copy
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.request import urlopen

import httpx
import pytest

from makegood import Agent, call
from makegood.cli.main import main
from makegood.errors import PlanError
from makegood.http import AsyncClient
from makegood.testing import FakeService, Rehearsal, assert_settled, rehearse
from makegood.testing.rehearsal import rehearse as rehearsing
from makegood.testing.rehearsal.performance import Performance, TurnedClock
from makegood.testing.rehearsal.promises import Promise
from makegood.testing.rehearsal.report import Report
from tests.rehearsal import shops


@pytest.fixture
def live() -> Iterator[socket.socket]:
    """A live service: whoever connects to it has called it."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def url(live: socket.socket) -> str:
    return f"http://127.0.0.1:{live.getsockname()[1]}/rooms"


def was_called(live: socket.socket) -> bool:
    try:
        caller, _ = live.accept()
    except BlockingIOError:
        return False
    caller.close()
    return True


def shop(book: Callable[[str], object], undo: Callable[[str | None], object] | None = None) -> shops.Shop:
    agent = Agent("hotel", timeout=10)
    return shops.shop(agent, agent.action(undo=undo)(book))


def by_urllib(live: socket.socket) -> shops.Shop:
    def book(guest: str) -> str:
        with urlopen(url(live), timeout=1) as answer:
            return str(answer.status)

    return shop(book)


def by_httpx(live: socket.socket) -> shops.Shop:
    http = AsyncClient(base_url=url(live))

    async def book(guest: str) -> str:
        return (await http.get("")).text

    return shop(book)


def by_datagram(live: socket.socket) -> shops.Shop:
    def book(guest: str) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as metrics:
            metrics.sendto(b"booked:1", live.getsockname())

    return shop(book)


def by_name(live: socket.socket) -> shops.Shop:
    def book(guest: str) -> None:
        try:
            httpx.get("http://hotel.invalid/rooms")
        except httpx.HTTPError:
            return  # a function that passes over it

    return shop(book)


@pytest.mark.parametrize(
    ("reaches", "where"),
    [
        (by_urllib, "127.0.0.1:"),
        (by_httpx, "127.0.0.1:"),
        (by_datagram, "127.0.0.1:"),
        (by_name, "hotel.invalid:80"),
    ],
)
def test_nothing_live_is_called(
    reaches: Callable[[socket.socket], shops.Shop], where: str, live: socket.socket
) -> None:
    made = reaches(live)
    with pytest.raises(PlanError, match=f"book of agent hotel was about to reach {where}.*FakeService.*runs"):
        rehearse(made.plan, agents=[made.agent])
    assert not was_called(live)
    with closing(socket.create_connection(live.getsockname())):
        assert was_called(live), "when it is over, all is as it was"


def test_a_thread_that_tries_again_and_again_gets_through_between_no_two_runs(
    live: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    over, hotels = Event(), FakeService("hotels")

    def export() -> None:
        while not over.is_set():
            with suppress(OSError):
                socket.create_connection(live.getsockname()).close()
            over.wait(0.0002)

    async def book(guest: str) -> str:
        if thread.ident is None:
            thread.start()
        return (await hotels.book(guest=guest)).id

    def report(**told: Any) -> Report:
        over.set()
        thread.join()
        return Report(**told)

    thread = Thread(target=export)
    monkeypatch.setattr(rehearsing, "Report", report)
    staged = shop(book)
    rehearse(staged.plan, agents=[staged.agent])
    assert not was_called(live)


def test_nothing_live_is_called_by_a_thread_of_the_functions_own(live: socket.socket) -> None:
    def book(guest: str) -> None:
        with ThreadPoolExecutor() as pool:
            pool.submit(urlopen, url(live), timeout=1).result()

    made = shop(book)
    report = rehearse(made.plan, agents=[made.agent])
    assert not was_called(live)
    [found] = [one.broken for one in report.broken if one.broken.promise is Promise.WORKS]
    assert "was not reached: nothing outside is, while a rehearsal runs" in found.what


def test_a_log_of_the_system_may_be_written_to(tmp_path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as log:
        log.bind(str(tmp_path / "log"))
        hotels = FakeService("hotels")

        async def book(guest: str) -> str:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
                line.sendto(b"books", str(tmp_path / "log"))
            return (await hotels.book(guest=guest)).id

        made = shop(book)
        with TurnedClock() as clock:
            assert_settled(Performance(clock, made.plan, agents=[made.agent]))
        assert log.recv(100) == b"books"


# --- functions that come back without having asked anybody


@pytest.mark.parametrize("which", ["book", "undo cancel"])
def test_a_function_that_reaches_no_fake_service_is_called_once_and_no_more(which: str) -> None:
    hotels, called = FakeService("hotels"), list[str]()

    async def cancel(id: str | None) -> None:
        called.append("undo cancel")

    async def book(guest: str) -> str:
        called.append("book")
        return (await hotels.book(guest=guest)).id if which != "book" else "written to a file"

    made = shop(book, cancel)
    told = f"^{which} of agent hotel returned without a request to a fake service.*calls_nobody"
    with pytest.raises(PlanError, match=told):
        rehearse(made.plan, agents=[made.agent])
    assert called.count(which) == 1


def test_a_task_of_a_test_is_held_to_the_same() -> None:
    def price(guest: str) -> str:
        return guest.upper()

    made = shop(price)
    with TurnedClock() as clock, pytest.raises(PlanError, match="without a request to a fake service"):
        assert_settled(Performance(clock, made.plan, agents=[made.agent]))


def test_a_function_that_calls_nobody_by_design_says_so() -> None:
    def price(guest: str) -> str:
        return guest.upper()

    def forget(id: str | None) -> None: ...

    made, stage = shop(price, forget), Rehearsal()
    stage.runs(made.agent)
    stage.calls_nobody(price)
    report = rehearse(made.plan, stage=stage)
    assert report.kept, f"{report}"


def test_an_undo_that_has_nothing_to_undo_need_call_nobody() -> None:
    hotels = FakeService("hotels", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        if id is not None:
            await hotels.cancel(id, key=call().key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key=call().key, guest=guest)).id

    broken = rehearse(shops.shop(agent, book).plan, agents=[agent]).broken
    assert Promise.NOTHING_SILENT in {found.broken.promise for found in broken}


# --- clients with methods that no fake service has


@pytest.mark.parametrize(
    ("which", "plain"), [("book", True), ("book", False), ("undo cancel", False), ("probe find", False)]
)
def test_a_function_that_calls_what_a_fake_service_does_not_have_ends_the_rehearsal(
    which: str, plain: bool
) -> None:
    hotels = FakeService("hotels")
    client: Any = hotels.sync if plain else hotels

    async def find() -> str | None:
        return None if which != "probe find" else str(client.reserve())

    async def cancel(id: str | None) -> None:
        await (hotels.cancel(id or "") if which != "undo cancel" else client.reserve())

    agent = Agent("hotel", timeout=10)

    @agent.action(undo=cancel, probe=find)
    async def book(guest: str) -> str:
        return (await (hotels.book(guest=guest) if which != "book" else client.reserve())).id

    told = r".*service hotels has no reserve\(\); it has .* return call\(work\)$"
    with pytest.raises(PlanError, match=rf"^{which} of agent hotel ended with {told}"):
        rehearse(shops.shop(agent, book).plan, agents=[agent])


def test_whether_a_fake_service_has_something_may_be_asked() -> None:
    hotels: Any = FakeService("hotels", keyed=True)
    assert not hasattr(hotels, "reserve")
    assert not hasattr(copy(hotels.sync), "reserve")


def test_the_command_takes_it_for_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = tmp_path / "app_without_a_fake.py"
    app.write_text(shops.own("def book(guest: str) -> None: ..."))
    assert main(["rehearse", f"{app}:stay"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "book of agent hotel returned without a request to a fake service" in said.err
