"""Whatever the lifespan of an agent does, `up` ends in time, in order, and says whose it was."""

import os
import signal
import subprocess
import sys
import time

import pytest

from makegood.core.events import Reply, Reported
from makegood.runtime.ending import ECHO, EXIT_STUCK
from tests.acceptance.yard import Running, Yard, until

APP = "tests.acceptance.lives"
BLOCKED = "the event loop is blocked, by "
STUCK = "the lifespan of agent phones still runs and cannot be stopped; this process ends itself"
LEFT = "what an app left behind still runs and cannot be stopped; this process ends itself"
UP_TWICE_AND_FORK = """
import os, signal
from makegood.cli.main import main
for _ in range(2):
    assert main(["up", "app.py", "--store", "sqlite:////proc/none.db"]) == 1
child = os.fork()
blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
if not child:
    os._exit(len(blocked))
assert (os.waitpid(child, 0)[1], blocked) == (0, set())
"""
FORK_WITHIN_A_FORK = """
import concurrent.futures.thread, os, signal  # the first has a lock of its own that no thread takes twice

def blocked():
    return signal.pthread_sigmask(signal.SIG_BLOCK, [])

def fork_within():
    if not within:
        within.append(True)
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)

within = []
os.register_at_fork(before=fork_within)  # before it is imported, so after it has held signals back
from makegood.runtime import ending
ending._hearing.append(None)
child = os.fork()
if not child:
    os._exit(len(blocked()))
assert (os.waitpid(child, 0)[1], blocked()) == (0, set())
"""
SECONDS_MAX = 6.0
"""Its bounds are about a second together."""


def start(yard: Yard, life: str) -> Running:
    return yard.start("makegood", "up", APP, "--store", yard.store_url, given={"LIFE": life})


def entering(yard: Yard, life: str) -> Running:
    engine = start(yard, life)
    engine.wait_for("is open with")
    until(lambda: engine.catches(signal.SIGTERM), "it listens")
    return engine


def up(yard: Yard, life: str) -> Running:
    return yard.engine(APP, given={"LIFE": life})


def test_one_that_exits_could_not_begin(yard: Yard) -> None:
    engine = start(yard, "exits_at_once")
    assert engine.ended() == 1
    [_, error] = engine.talk.splitlines()
    assert error == "error: agent phones: its lifespan could not begin: SystemExit: set DATABASE_URL"


def test_a_signal_while_one_is_entered_ends_it_in_order(yard: Yard) -> None:
    engine = entering(yard, "hangs_at_first")
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == 0
    assert [line.split()[1] for line in engine.talk.splitlines()] == ["INFO"] * 3
    assert engine.talk.endswith(" INFO down\n")


def test_one_that_blocks_at_first_is_named_and_ends_with_its_process(yard: Yard) -> None:
    engine = entering(yard, "blocks_at_first")
    engine.wait_for(f"{BLOCKED}blocks_at_first at ", within=5)
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == EXIT_STUCK
    assert STUCK in engine.talk


def test_one_that_heeds_nothing_at_first_ends_with_its_process(yard: Yard) -> None:
    engine = entering(yard, "heeds_nothing_at_first")
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == EXIT_STUCK
    assert STUCK in engine.talk


@pytest.mark.parametrize(
    ("life", "word"),
    [
        ("blocks_at_last", STUCK),
        ("heeds_nothing_at_last", STUCK),
        ("leaves_a_task", LEFT),
        ("leaves_a_thread", LEFT),
        ("exit_handler_blocks", LEFT),
    ],
)
def test_one_that_does_not_end_ends_with_its_process(yard: Yard, life: str, word: str) -> None:
    engine = up(yard, life)
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == EXIT_STUCK
    assert word in engine.talk


@pytest.mark.parametrize("life", ["object_blocks", "nobody_reads"])
def test_what_blocks_the_interpreter_itself_ends_with_its_process(yard: Yard, life: str) -> None:
    """No thread runs any more by then."""
    engine = up(yard, life)
    engine.terminate()
    engine.wait_for(" INFO down\n")
    assert engine.process.wait(SECONDS_MAX) == -signal.SIGALRM


def test_an_exit_handler_has_its_time_and_its_own_alarm(yard: Yard) -> None:
    engine = up(yard, "exit_handler_takes_its_time")
    engine.terminate()
    engine.wait_for(" INFO down\n")
    engine.terminate()  # is the same one again
    assert engine.ended(SECONDS_MAX) == 0
    assert "the exit handler is done" in engine.talk


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_leaves_at_once_while_an_exit_handler_runs(
    yard: Yard, number: signal.Signals
) -> None:
    engine = up(yard, "exit_handler_blocks")
    engine.terminate()
    engine.wait_for(" INFO down\n")
    time.sleep(ECHO)
    os.kill(engine.pid, number)
    assert engine.ended(SECONDS_MAX) in (128 + signal.SIGTERM, EXIT_STUCK)


def test_a_second_signal_leaves_at_once_while_the_loop_is_blocked(yard: Yard) -> None:
    engine = up(yard, "blocks_at_last")
    engine.terminate()
    engine.wait_for("going down")
    time.sleep(ECHO)
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == 128 + signal.SIGTERM


def test_a_signal_that_comes_twice_is_one(yard: Yard) -> None:
    """As from `timeout`, which signals its child, and then its group."""
    engine = up(yard, "exit_handler_takes_its_time")
    for _ in range(3):
        engine.terminate()
        time.sleep(0.005)
    assert engine.ended(SECONDS_MAX) == 0
    assert " INFO down\n" in engine.talk


def test_one_that_exits_at_last_keeps_nothing_from_ending(yard: Yard) -> None:
    engine = up(yard, "exits_at_last")
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == 0
    assert "agent phones: its lifespan did not end well, or not in time: SystemExit: 9" in engine.talk
    assert engine.talk.endswith(" INFO down\n")


def test_a_task_of_one_that_exits_once_cancelled_is_named(yard: Yard) -> None:
    engine = up(yard, "task_exits_at_last")
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == 1
    assert "SystemExit: 4, raised outside of any call by exits_when_cancelled at " in engine.talk


def test_a_task_of_one_that_stops_the_loop_as_it_is_cancelled_is_no_fault_of_ours(yard: Yard) -> None:
    engine = up(yard, "task_stops_the_loop_at_last")
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == 1
    assert "Event loop stopped before Future completed., raised outside of any call by" in engine.talk
    assert "report it" not in engine.talk


def test_tasks_that_exit_once_all_are_cancelled_keep_nobody_from_going_down(yard: Yard) -> None:
    engine = up(yard, "all_are_cancelled_and_exit")
    yard.cli("submit", f"{APP}:ringing", '"hello"', "--id", "task")
    assert engine.ended(SECONDS_MAX) == 1
    assert " INFO going down" in engine.talk
    assert "Traceback" not in engine.talk


def test_a_fork_hears_its_signals_itself(yard: Yard) -> None:
    """And the process that it was forked from goes on."""
    engine = up(yard, "has_a_fork")
    engine.wait_for("the fork ended with -15")
    assert engine.alive
    engine.terminate()
    assert engine.ended(SECONDS_MAX) == 0
    assert engine.talk.endswith(" INFO down\n")


@pytest.mark.parametrize(
    ("life", "word"),
    [
        ("task_exits", "SystemExit: 5, raised outside of any call by throws at "),
        ("task_interrupts", "KeyboardInterrupt, raised outside of any call by throws at "),
        ("group_fails", "error: agent phones: its lifespan ended by itself: ExceptionGroup: "),
    ],
)
def test_what_a_task_of_one_raises_ends_the_process_in_order(yard: Yard, life: str, word: str) -> None:
    engine = up(yard, life)
    assert engine.process.wait(SECONDS_MAX) == 1
    assert word in engine.talk
    assert " INFO going down" in engine.talk
    assert " INFO down\n" in engine.talk
    if life != "group_fails":  # an error of theirs is logged with its traceback
        assert "Traceback" not in engine.talk


def test_where_code_of_an_app_cancels_every_task_what_was_called_is_recorded(yard: Yard) -> None:
    engine = up(yard, "task_cancels_all")
    yard.cli("submit", f"{APP}:ringing", '"hello"', "--id", "task")
    assert engine.ended(SECONDS_MAX) == 1
    assert "the tasks of this process were cancelled by code of an app" in engine.talk
    replies = [fact.reply for row in yard.rows("task") for fact in row.facts if isinstance(fact, Reported)]
    assert replies == [Reply.UNKNOWN]
    assert yard.ask(lambda makegood: makegood.members()) == []


def test_a_fork_in_the_middle_of_another_leaves_signals_as_they_were(yard: Yard) -> None:
    program = [sys.executable, "-c", FORK_WITHIN_A_FORK]
    subprocess.run(program, cwd=yard.folder, env=yard.environment, check=True, timeout=30)


def test_a_process_that_has_been_up_before_forks_as_any_does(yard: Yard) -> None:
    """Its signals were held back once for each time, and never let go."""
    (yard.folder / "app.py").write_text("from makegood import Agent\n\nidle = Agent('idle')\n")
    program = [sys.executable, "-c", UP_TWICE_AND_FORK]
    subprocess.run(program, cwd=yard.folder, env=yard.environment, check=True, timeout=30)
