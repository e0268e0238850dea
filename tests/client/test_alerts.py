"""People are told of a parked task: once, whatever died meanwhile, and with all that they need."""

import asyncio
import fcntl
import json
import logging
import os
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from signal import SIGKILL
from socket import SHUT_RDWR, create_server, socket
from threading import Thread
from time import monotonic, sleep
from typing import Any

import pytest

from makegood import Makegood, MakegoodError, alerts
from makegood.alerts import Alert, Command, WebHook
from makegood.client import alerting
from tests.client.sample import Order, lamps, light, run
from tests.schemas import faults


def store(folder: Path) -> str:
    return f"sqlite:///{folder}/tasks.db"


async def facts(makegood: Makegood, task_id: str, wanted: int) -> list[dict[str, Any]]:
    """The alerts in its history, once there are so many."""
    while True:
        found = [fact for fact in await makegood.task(task_id).history() if fact["fact"] == "Alerted"]
        if len(found) >= wanted:
            return found
        await asyncio.sleep(0.02)


def test_who_is_told_knows_what_blocks_it_and_what_to_do(tmp_path: Path) -> None:
    told: list[Alert] = []

    async def pager(alert: Alert) -> None:
        told.append(alert)

    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps], alerts=[pager]) as makegood:
            await (await makegood.submit(light, Order("ann"), task_id="fine")).wait(20)
            await makegood.submit(light, Order("ann", "doubt"), task_id="lamp", tags={"customer": "7"})
            [fact] = await facts(makegood, "lamp", 1)
            assert (fact["who"], fact["hook"]) == ("alerts", "pager")
            [alert] = told
            assert (alert.task_id, alert.plan) == ("lamp", "light")
            assert "order_lamp: only a person can tell whether it happened" in alert.reason
            assert alert.document["blocking"] == ["order_lamp"]
            assert alert.document["tags"] == {"customer": "7"}
            assert "resolve order_lamp done|absent" in alert.document["acts"]
            assert "makegood resolve lamp order_lamp" in alert.why
            assert "ann" not in json.dumps(alert.document)
            assert faults("alert", alert.document) == []

    run(work)


def test_parked_again_it_is_told_again(tmp_path: Path) -> None:
    told: list[Alert] = []

    async def pager(alert: Alert) -> None:
        told.append(alert)

    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps], alerts=[pager]) as makegood:
            task = await makegood.submit(light, Order("ann", "doubt"), task_id="lamp")
            await facts(makegood, "lamp", 1)
            await task.resolve("order_lamp", "absent")
            await task.wait(20)
            await facts(makegood, "lamp", 2)
            assert len(told) == 2

    run(work)


def test_what_others_parked_is_found_and_told_once(tmp_path: Path) -> None:
    told: list[Alert] = []

    async def pager(alert: Alert) -> None:
        told.append(alert)

    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps]) as makegood:
            for n in range(3):
                await (await makegood.submit(light, Order("ann", "doubt"), task_id=f"lamp-{n}")).wait(20)
        for _ in range(2):  # the second finds nobody to be told of
            async with Makegood(store(tmp_path), alerts=[pager]) as watching:
                for n in range(3):
                    await facts(watching, f"lamp-{n}", 1)
                await asyncio.sleep(0.2)
        assert sorted(alert.task_id for alert in told) == ["lamp-0", "lamp-1", "lamp-2"]

    run(work)


class Line:
    """A hook that tells of no task until it is mended."""

    name = "line"

    def __init__(self) -> None:
        self.asked = 0
        self.is_mended = False

    async def __call__(self, alert: Alert) -> None:
        self.asked += 1
        if not self.is_mended:
            raise ValueError("no line to the pager")


async def asked_again(line: Line) -> None:
    before = line.asked
    while line.asked == before:
        await asyncio.sleep(0.02)


def test_a_hook_that_fails_is_tried_again_and_silences_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(alerting.Alerts.__init__, "__kwdefaults__", {"period": 0.1})
    told: list[str] = []
    line = Line()

    async def sound(alert: Alert) -> None:
        told.append(alert.task_id)

    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps], alerts=[line, sound]) as makegood:
            task = await makegood.submit(light, Order("ann", "doubt"), task_id="lamp")
            [first] = await facts(makegood, "lamp", 1)
            await asked_again(line)
            await task.resolve("order_lamp", "absent")  # and the next call is in doubt as well
            _, second = await facts(makegood, "lamp", 2)
            assert (first["hook"], second["hook"], told) == ("sound", "sound", ["lamp", "lamp"])
            await asked_again(line)
            line.is_mended = True
            await asked_again(line)
            asked = line.asked
            await asyncio.sleep(0.3)
            assert (line.asked, len(told), len(await facts(makegood, "lamp", 2))) == (asked, 2, 2)

    with caplog.at_level(logging.WARNING, "makegood.alerts"):
        run(work)
    assert "task lamp is parked, and line could not tell: ValueError: no line to the pager" in caplog.text


def test_of_a_task_that_is_parked_anew_while_a_hook_takes_its_time_people_are_told_again(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    task: Any = None

    async def pager(alert: Alert) -> None:
        told.append(alert.task_id)
        if len(told) == 1:
            await task.resolve("order_lamp", "absent")
            await task.wait(20)

    async def work() -> None:
        nonlocal task
        async with Makegood(store(tmp_path), [lamps], alerts=[pager]) as makegood:
            task = await makegood.submit(light, Order("ann", "doubt"), task_id="lamp")
            await facts(makegood, "lamp", 1)
            assert told == ["lamp", "lamp"]

    run(work)


async def is_cancelled(alert: Alert) -> None:
    raise asyncio.CancelledError  # as one that awaits a task which was cancelled


async def cancels_its_task(alert: Alert) -> None:
    this = asyncio.current_task()
    assert this is not None
    this.cancel()
    await asyncio.sleep(0)


async def ends_the_process(alert: Alert) -> None:
    sys.exit(3)


async def is_interrupted(alert: Alert) -> None:
    raise KeyboardInterrupt


async def will_not_end(alert: Alert) -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(1.5)
            return


ODD = {
    is_cancelled: "RuntimeError: CancelledError",
    cancels_its_task: "RuntimeError: CancelledError",
    ends_the_process: "RuntimeError: SystemExit: 3",
    is_interrupted: "RuntimeError: KeyboardInterrupt",
    will_not_end: "TimeoutError: it was not through within 0.5 s",
}


def test_whatever_hooks_do_the_others_go_on_telling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(alerting, "PATIENCE", 0.5)
    told: list[str] = []

    async def sound(alert: Alert) -> None:
        told.append(alert.task_id)

    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps], alerts=[*ODD, sound]) as makegood:
            for task_id in ("one", "two"):
                await makegood.submit(light, Order("ann", "doubt"), task_id=task_id)
                [fact] = await facts(makegood, task_id, 1)
                assert fact["hook"] == "sound"
        assert told == ["one", "two"]

    with caplog.at_level(logging.WARNING, "makegood.alerts"):
        run(work)
    for hook, said in ODD.items():
        assert f"task two is parked, and {hook.__name__} could not tell: {said}" in caplog.text


def test_where_no_hook_has_told_the_next_process_tells(tmp_path: Path) -> None:
    told: list[str] = []
    line = Line()

    async def sound(alert: Alert) -> None:
        told.append(alert.task_id)

    async def work() -> None:
        async with Makegood(store(tmp_path), [lamps], alerts=[line]) as makegood:
            await (await makegood.submit(light, Order("ann", "doubt"), task_id="lamp")).wait(20)
            while not line.asked:
                await asyncio.sleep(0.02)
            assert await facts(makegood, "lamp", 0) == []
        async with Makegood(store(tmp_path), alerts=[sound]) as makegood:
            await facts(makegood, "lamp", 1)
        assert told == ["lamp"]

    run(work)


ALERT = Alert("lamp", "light", "in doubt", "why it is", {"taskId": "lamp", "why": "why it is"})


def test_a_command_is_given_the_document(tmp_path: Path) -> None:
    note = tmp_path / "note.json"
    script = tmp_path / "tell.py"
    script.write_text(
        "import os, sys\n"
        f"open({str(note)!r}, 'w').write(sys.stdin.read())\n"
        "sys.exit(0 if os.environ['MAKEGOOD_TASK_ID'] == 'lamp' else 3)\n"
    )
    command = Command(f"{sys.executable} {script}")
    asyncio.run(command(ALERT))
    assert json.loads(note.read_text()) == ALERT.document
    with pytest.raises(MakegoodError, match="it exited 3"):
        asyncio.run(command(ALERT._replace(task_id="other")))


LINES = [
    ("", "is empty"),
    ('"half', "No closing quotation"),
    (
        "no-such-pager -s",
        "there is no program 'no-such-pager' that can be run; name it by its path, or make",
    ),
    (f"{__file__} -s", "that can be run"),
]


HANGS = """
import fcntl, subprocess, sys
with open(sys.argv[1], "w") as held:
    fcntl.flock(held, fcntl.LOCK_EX)
    subprocess.run(["sleep", "60"], pass_fds=[held.fileno()])
"""


def is_held(file: Path) -> bool:
    """Whether a process that has locked it, or a child of that, is alive."""
    with file.open("a") as ours:
        try:
            fcntl.flock(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    """After its time and at closing alike: its call is cancelled."""
    held, script = tmp_path / "held", tmp_path / "hang.py"
    script.write_text(HANGS)
    command = Command(f"{sys.executable} {script} {held}")

    async def work() -> None:
        call = asyncio.create_task(command(ALERT))
        while not is_held(held):
            await asyncio.sleep(0.02)
        call.cancel()
        await asyncio.wait([call])
        while is_held(held):
            await asyncio.sleep(0.02)

    run(work)


@pytest.mark.parametrize("code", [0, 3])
def test_a_command_is_judged_by_its_own_exit_and_what_it_left_behind_goes_on(
    tmp_path: Path, code: int
) -> None:
    pid = tmp_path / "pid"
    command = Command(f"sh -c 'sleep 60 & echo $! >{pid}; echo no line >&2; exit {code}'")

    async def work() -> None:
        with pytest.raises(MakegoodError, match="it exited 3: no line") if code else nullcontext():
            await asyncio.wait_for(command(ALERT), 5)

    try:
        run(work)
    finally:
        os.kill(int(pid.read_text()), SIGKILL)  # raises where there is no such process


def test_of_what_a_command_says_only_the_end_is_kept() -> None:
    command = Command("sh -c 'yes lengthy | head -c 30000000 >&2; echo the end >&2; exit 3'")
    tracemalloc.start()
    try:
        with pytest.raises(MakegoodError, match=r"(?s)it exited 3: .*the end$"):
            asyncio.run(command(ALERT))
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("line", "words"), LINES)
def test_what_is_no_command_is_refused(line: str, words: str) -> None:
    with pytest.raises(MakegoodError, match=words):
        Command(line)


class Pager(BaseHTTPRequestHandler):
    heard: list[tuple[str, Any]] = []  # noqa: RUF012 - one server, one test
    status = 204
    location = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.heard.append((self.headers["Content-Type"], json.loads(body)))
        self.send_response(self.status)
        if self.location:
            self.send_header("Location", self.location)
        self.end_headers()

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def test_a_web_hook_is_sent_the_document() -> None:
    with HTTPServer(("127.0.0.1", 0), Pager) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        hook = WebHook(f"{url}/parked")
        asyncio.run(hook(ALERT))
        assert Pager.heard == [("application/json", ALERT.document)]
        Pager.status = 500
        with pytest.raises(MakegoodError, match="it answered 500"):
            asyncio.run(hook(ALERT))
        for Pager.status in (301, 302, 303, 307, 308):  # to be followed by a GET, or not at all
            for Pager.location in ("/login?next=/parked", f"http://ann:x@{url[7:]}/login?next=/parked"):
                with pytest.raises(MakegoodError, match=f"it answered {Pager.status} .* to {url}/login; "):
                    asyncio.run(hook(ALERT))
        server.shutdown()
        thread.join()


@contextmanager
def a_dripping_pager(seconds: float) -> Iterator[str]:
    """It answers a line at a time, for so long."""

    def drip(line: socket) -> None:
        over = monotonic() + seconds
        with line, suppress(OSError):
            line.sendall(b"HTTP/1.1 200 OK\r\n")
            while monotonic() < over:
                line.sendall(b"X-Line: busy\r\n")
                sleep(0.05)

    def answer(listening: socket) -> None:
        with suppress(OSError):
            while True:
                Thread(target=drip, args=(listening.accept()[0],), daemon=True).start()

    with create_server(("127.0.0.1", 0), backlog=100) as listening:
        Thread(target=answer, args=(listening,), daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        listening.shutdown(SHUT_RDWR)


def test_a_sick_pager_holds_up_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "ANSWER_TIMEOUT", 0.3)

    async def work() -> None:
        with a_dripping_pager(4) as url:
            hook = WebHook(url)
            posts = [asyncio.create_task(hook(ALERT)) for _ in range(40)]
            await asyncio.wait_for(asyncio.to_thread(int), 1)
            ended, endless = await asyncio.wait(posts, timeout=1)
            assert len(endless) == alerts.POSTS_MAX
            for post in ended:
                assert "posts to it are under way already" in str(post.exception())

    began = monotonic()
    run(work)
    assert monotonic() - began < 3


def test_what_is_no_address_is_refused() -> None:
    for url in (
        "pager.example.org",
        "file:///etc/passwd",
        "https://",
        "http://pager:x/",
        "http://[::1/",
        "http://a b/",
    ):
        with pytest.raises(MakegoodError, match="is no http:// or https:// address"):
            WebHook(url)
    assert WebHook("http://pager.example.org:81/secret").name == "web hook pager.example.org:81"
    for url in ("https://ann:secret@pager.example.org/", "https://ann:sec/ret@pager/?token=secret"):
        with pytest.raises(MakegoodError, match="alert address") as raised:
            WebHook(url)
        assert "sec" not in str(raised.value)
