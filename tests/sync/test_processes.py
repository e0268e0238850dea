"""The twin in processes that fork, preload and are interrupted."""

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

FORK = """
import os
from makegood import MakegoodError
from makegood.sync import Makegood
from tests.sync.app import desk, stay
with Makegood(os.environ["STORE"], [desk]) as makegood:
    task = makegood.submit(stay, "ann", task_id="parent")
    child = os.fork()
    if child == 0:
        for use in (makegood.list, task.result, lambda: makegood.submit(stay, "bob"), makegood.open):
            try:
                use()
            except MakegoodError as error:
                print(error)
        makegood.close()
        try:
            Makegood(os.environ["STORE"], [desk]).open()
        except MakegoodError as error:
            print(error)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), task.result(10))
child = os.fork()
if child == 0:
    with Makegood(os.environ["STORE"], [desk]) as own:
        print(own.task("parent").result(10), own.submit(stay, "eve").result(10))
    os._exit(0)
os.waitpid(child, 0)
"""

FORK_WHILE_OPENING = """
import os, threading
from tests.sync.app import makegood, stay
opening = makegood._alone()
threading.Thread(target=opening.acquire).start()
while not opening.locked():
    pass
child = os.fork()
if child == 0:
    with makegood:
        print(makegood.submit(stay, "ann").result(10), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""

FORK_IN_A_LOOP = """
import asyncio, os
from makegood import Makegood, MakegoodError
from tests.sync.app import stay
async def main():
    async with Makegood(os.environ["STORE"]) as makegood:
        child = os.fork()
        if child == 0:
            try:
                makegood.submit(stay, "ann").send(None)
            except MakegoodError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
asyncio.run(main())
"""

PRELOAD = """
import os, sys
from tests.sync.app import makegood, stay
workers = []
for number in range(2):
    worker = os.fork()
    if worker == 0:
        with makegood:
            rooms = [makegood.submit(stay, f"{number}.{each}").result(10) for each in range(5)]
            [member] = [member.member_id for member in makegood.members() if member.pid == os.getpid()]
            print(member, len(rooms), flush=True)
        os._exit(0)
    workers.append(worker)
for worker in workers:
    assert os.waitpid(worker, 0)[1] == 0
with makegood:
    print({task["state"] for task in makegood.list().tasks}, len(makegood.list().tasks))
"""

INTERRUPTED = """
import os, signal, threading
from tests.sync.app import stay
from makegood.sync import Makegood
try:
    with Makegood(os.environ["STORE"]) as makegood:
        task = makegood.submit(stay, "ann")
        print("waiting", flush=True)
        task.wait()
except KeyboardInterrupt:
    print([thread.name for thread in threading.enumerate()])
"""


INTERRUPTED_ELSEWHERE = """
import os, signal, threading
from tests.sync.app import stay
from makegood.sync import Makegood
try:
    with Makegood(os.environ["STORE"]) as makegood:
        task = makegood.submit(stay, "ann")
        [thread] = [each for each in threading.enumerate() if each.name == "makegood-sync"]
        threading.Timer(0.3, signal.pthread_kill, (thread.ident, signal.SIGINT)).start()
        task.wait()
except KeyboardInterrupt:
    print("heard")
"""


LEFT_TO_THE_END = """
import os
from makegood.sync import Makegood
from tests.sync.app import desk

class Office:
    def __init__(self):
        self.makegood = Makegood(os.environ["STORE"], [desk]).open()

    def __del__(self):
        self.makegood.close()

office = Office()
print("open", flush=True)
"""


def run(program: str, folder: Path) -> subprocess.Popen[str]:
    environment = os.environ | {"STORE": f"sqlite:///{folder / 'stays.db'}", "PYTHONFAULTHANDLER": "1"}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def said(program: subprocess.Popen[str]) -> list[str]:
    try:
        talk = program.communicate(timeout=30)[0]
    finally:
        program.kill()
    assert program.returncode == 0, talk
    return talk.splitlines()


def test_a_fork_of_who_has_it_open_is_told_and_opens_none(tmp_path: Path) -> None:
    *told, not_here, parent, child = said(run(FORK, tmp_path))
    assert len(told) == 4, told
    for line in told:
        assert "its thread does not live in the fork" in line
        assert "open it only after the fork, in the parent too, or start a fresh process" in line
    assert "was open in the process that this one was forked from" in not_here
    assert [parent, child] == ["7 a room for ann", "a room for ann a room for eve"]


def test_a_fork_while_another_thread_opens_it_opens_it_for_itself(tmp_path: Path) -> None:
    assert said(run(FORK_WHILE_OPENING, tmp_path)) == ["a room for ann"]


def test_a_fork_within_a_loop_is_told_and_does_not_wait(tmp_path: Path) -> None:
    [told] = said(run(FORK_IN_A_LOOP, tmp_path))
    assert "of which this one is a fork; open it only after the fork" in told


def test_workers_of_a_preloaded_app_open_it_each_for_itself(tmp_path: Path) -> None:
    *workers, all_of_it = said(run(PRELOAD, tmp_path))
    assert [line.split()[1] for line in workers] == ["5", "5"]
    assert len({line.split()[0] for line in workers}) == 2, "they pass for the same member"
    assert all_of_it == "{'Completed'} 10"


def test_one_that_is_closed_as_the_interpreter_ends_holds_it_up_no_longer(tmp_path: Path) -> None:
    assert said(run(LEFT_TO_THE_END, tmp_path))[0] == "open"


def test_an_interrupt_leaves_no_thread(tmp_path: Path) -> None:
    program = run(INTERRUPTED, tmp_path)
    assert program.stdout is not None
    assert program.stdout.readline() == "waiting\n"
    program.send_signal(signal.SIGINT)
    assert said(program) == ["['MainThread']"]


def test_an_interrupt_that_wakes_nobody_is_heard(tmp_path: Path) -> None:
    """As one is that comes in the moment before the wait begins."""
    assert said(run(INTERRUPTED_ELSEWHERE, tmp_path)) == ["heard"]
