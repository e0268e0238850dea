"""Processes that start in a few milliseconds: each is a fork of one that has everything imported already.

What runs in them is the shipped command, in a process of its own that can be killed and frozen.
"""

import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import makegood.cli.main
from tests.acceptance.yard import Place, Watched
from tests.soak import client

PROGRAMS = {"engine": makegood.cli.main.main, "client": client.main}
PR_SET_PDEATHSIG = 1
A_MOMENT = 5.0
"""Seconds in which the kernel ends what was killed."""


class Nursery:
    """The process that forks, as the one sees it who gives the orders."""

    def __init__(self, place: Place) -> None:
        self._program = place.start("tests.soak.nursery")

    def fork(self, program: str, arguments: Sequence[str], log: Path) -> "Forked":
        return Forked(self, self.ask("fork", program, str(log), *arguments), log)

    def ask(self, *order: str) -> int:
        assert self._program.process.stdin is not None
        self._program.process.stdin.write(json.dumps(order) + "\n")
        self._program.process.stdin.flush()
        return int(self._program.line())


class Forked(Watched):
    """One of them. It stays a zombie until its end was noticed here, so its number is nobody else's."""

    def __init__(self, nursery: Nursery, pid: int, log: Path) -> None:
        self.log = log
        self._nursery = nursery
        self._pid = pid
        self._descriptor = os.pidfd_open(pid)
        self._code: int | None = None

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def alive(self) -> bool:
        return self._code is None and not self._over(0)

    def kill(self) -> None:
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            self.ended(A_MOMENT)

    def ended(self, within: float) -> int:
        if self._code is None:
            assert self._over(within), f"{self._pid} has not ended within {within:g} s: {self.talk}"
            self._code = self._nursery.ask("reap", str(self._pid))
            os.close(self._descriptor)
        return self._code

    def _over(self, within: float) -> bool:
        ready, _, _ = select.select([self._descriptor], [], [], within)
        return bool(ready)


def main() -> None:
    """Take orders, a line of JSON each, until there is nobody who gives them; answer with a number."""
    for line in sys.stdin:
        match json.loads(line):
            case ["fork", program, log, *arguments]:
                pid = os.fork()
                if pid == 0:
                    _become(program, log, arguments)
                print(pid, flush=True)
            case ["reap", pid]:
                _, status = os.waitpid(int(pid), 0)
                print(os.waitstatus_to_exitcode(status), flush=True)


def _become(program: str, log: str, arguments: Sequence[str]) -> None:
    """Be the program, with its talk in a log, until it ends or the nursery does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    nothing, talk = os.open(os.devnull, os.O_RDWR), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for old, new in ((nothing, 0), (nothing, 1), (talk, 2)):
        os.dup2(old, new)
    os._exit(PROGRAMS[program](arguments))


if __name__ == "__main__":
    main()
