"""What a user's function may do to the process it runs in: its own task says so, and every other goes on.

All of it happens at once in one engine, in threads and in the loop.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from makegood import Agent, Makegood, Retry, plan, step
from makegood.authoring.places import place_of

odd = Agent("odd", timeout=3, settle=0.1, retry=Retry(attempts=1))


class Base(BaseException):
    """No Exception."""


class Mute(Exception):
    """Says nothing of itself, and raises something else instead."""

    def __init__(self, instead: BaseException) -> None:
        self.instead = instead

    def __str__(self) -> str:
        raise self.instead


def raising(error: BaseException) -> Callable[[], Any]:
    def call() -> Any:
        raise error

    return call


async def never_awaited() -> int:
    return 1


def deeper() -> Any:
    return [deeper()]


def holds_itself() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def forks() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return "forked"


def moves() -> str:
    os.chdir("/")
    return "moved"


def shuts_stdout() -> str:
    sys.stdout.close()
    return "shut"


def prints() -> str:
    with open(os.devnull, "w") as nowhere:
        for line in range(50_000):
            print(line, file=nowhere)
    return "printed"


def leaks_a_thread() -> str:
    Thread(target=time.sleep, args=(0.5,), daemon=True).start()
    return "leaked"


NEVER_AWAITED = place_of(never_awaited).rpartition("/")[2]

RETURNS: dict[str, Callable[[], Any]] = {
    "forks": forks,
    "moves": moves,
    "shuts stdout": shuts_stdout,
    "prints": prints,
    "leaks a thread": leaks_a_thread,
}
SPOILED: dict[str, tuple[Callable[[], Any], str]] = {
    "a generator": (lambda: (n for n in range(3)), "an object of type generator cannot be written"),
    "a function": (lambda: deeper, "an object of type function cannot be written"),
    "itself": (holds_itself, "holds itself"),
    "a late surrogate": (lambda: "\udcff", "half of a surrogate pair"),
    "NaN": (lambda: float("nan"), "cannot be kept exactly"),
    "too much": (lambda: "x" * 2_000_000, "a payload may take"),
}
RAISED: dict[str, tuple[Callable[[], Any], str]] = {
    "Base": (raising(Base("x")), "Base: x"),
    "KeyboardInterrupt": (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
    "GeneratorExit": (raising(GeneratorExit()), "GeneratorExit"),
    "StopAsyncIteration": (raising(StopAsyncIteration()), "StopAsyncIteration"),
    "MemoryError": (raising(MemoryError()), "MemoryError"),
    "a group": (raising(BaseExceptionGroup("many", [Base()])), "many (1 sub-exception)"),
    "mute": (raising(Mute(ValueError())), "Mute"),
    "mute with Base": (raising(Mute(Base())), "Mute"),
    "mute with KeyboardInterrupt": (raising(Mute(KeyboardInterrupt())), "Mute"),
    "mute with SystemExit": (raising(Mute(SystemExit(3))), "Mute"),
    "recursion": (deeper, "RecursionError"),
    "a coroutine": (
        never_awaited,
        f"{NEVER_AWAITED}) without await",
    ),
}
ALL = RETURNS | {name: act for name, (act, _) in (SPOILED | RAISED).items()}


async def undo(done: Any) -> None: ...


@odd.action(undo=undo)
def in_a_thread(what: str) -> Any:
    return ALL[what]()


@odd.action(undo=undo)
async def in_the_loop(what: str) -> Any:
    return ALL[what]()


@odd.action(undo=undo)
async def clears(what: list[int]) -> int:
    what.clear()
    return 1


@odd.action(undo=undo)
async def sees(what: list[int]) -> list[int]:
    return what


@plan
def threaded(what: str) -> Any:
    return step(in_a_thread, what)


@plan
def looped(what: str) -> Any:
    return step(in_the_loop, what)


@plan
def shares(what: list[int]) -> list[int]:
    step(clears, what)
    return step(sees, what)


async def ends(makegood: Makegood, place: str, what: str) -> tuple[str, str, str]:
    """How a task that does this ended: its state, its step's outcome, and what was said of it."""
    task = await makegood.submit({"thread": threaded, "loop": looped}[place], what)
    state = await task.wait(20)
    [record] = (await task.record())["steps"]
    return state, record["outcome"], str(record.get("error") or record.get("result"))


Ends = dict[tuple[str, str], tuple[str, str, str]]


async def everything(url: str) -> tuple[Ends, list[int]]:
    cases = [(place, what) for place in ("thread", "loop") for what in ALL]
    async with Makegood(url, agents=[odd]) as makegood:
        calls: list[Coroutine[Any, Any, tuple[str, str, str]]] = [ends(makegood, *case) for case in cases]
        ended = dict(zip(cases, await asyncio.gather(*calls), strict=True))
        return ended, await (await makegood.submit(shares, [1, 2])).result(20)


def test_every_task_ends_with_what_was_done_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # to be back there afterwards
    with open(os.devnull, "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        ended, shared = asyncio.run(everything("sqlite:///tasks.db"))
    assert shared == [1, 2]
    for (place, what), (state, outcome, said) in ended.items():
        if what in RETURNS:
            assert (state, outcome) == ("Completed", "done"), (place, what, said)
        elif what in SPOILED:  # it happened, and is undone without its result
            assert (state, outcome) == ("Compensated", "undone"), (place, what, said)
            assert SPOILED[what][1] in said
        else:  # it may have happened: a person is asked
            assert (state, outcome) == ("Failed", "unknown"), (place, what, said)
            assert RAISED[what][1] in said
