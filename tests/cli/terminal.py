"""The command line as a person or a shell runs it: in a process of its own."""

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

ROOT = Path(__file__).parents[2]
APP = Path(__file__).with_name("app.py")
COMMAND = [sys.executable, "-m", "makegood"]
SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Said:
    """What a command said, and its exit code."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Shell:
    """Commands in one folder, with one store in it."""

    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("MAKEGOOD_")}
        known.pop("NO_COLOR", None)
        return known | {"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "TERM": "xterm"} | more

    def run(self, *arguments: str, stdin: str = "", **environment: str) -> Said:
        """Run a command to its end. It must never show a traceback."""
        done = subprocess.run(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment(**environment),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str) -> str:
        """What a command prints that must go well."""
        said = self.run(*arguments)
        assert said.code == 0, said
        return said.out

    def on_a_terminal(self, *arguments: str, code: int = 0, **environment: str) -> str:
        """What a command shows on a terminal; it must end with this exit code."""
        mine, its = pty.openpty()
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment(**environment),
            stdout=its,
            stderr=its,
        )
        os.close(its)
        try:
            shown = b"".join(_read(mine))
            assert process.wait(SECONDS_MAX) == code, shown
        finally:
            process.kill()
            process.wait()
            os.close(mine)
        return shown.decode()

    @contextmanager
    def started(self, *arguments: str) -> Iterator["Started"]:
        """A command that runs on; it is killed if it has not ended by itself."""
        talk = self.folder / f"{arguments[0]}.log"
        with talk.open("w") as log:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                cwd=self.folder,
                env=self.environment(),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            yield Started(process, talk)
        finally:
            process.kill()
            process.communicate()


@dataclass(frozen=True)
class Started:
    """A running command; its talk goes to a file."""

    process: subprocess.Popen[str]
    talk: Path

    def wait_for_talk(self, words: str) -> None:
        over = monotonic() + SECONDS_MAX
        while words not in self.talk.read_text():
            assert monotonic() < over, f"never said {words!r}: {self.talk.read_text()}"
            assert self.process.poll() is None, self.talk.read_text()
            sleep(0.02)

    def line(self, words: str) -> str:
        """The next line on stdout that has these words."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words in line:
                return line
        raise AssertionError(f"it ended without a line with {words!r}: {self.talk.read_text()}")

    def end(self, number: int) -> int:
        """Send a signal; answers the exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=SECONDS_MAX)
        assert "Traceback" not in self.talk.read_text()
        return self.process.returncode


def _read(terminal: int) -> Iterator[bytes]:
    """Everything that comes until the other side is closed."""
    over = monotonic() + SECONDS_MAX
    while monotonic() < over:
        ready, _, _ = select.select([terminal], [], [], 1)
        if ready:
            try:
                yield os.read(terminal, 65536)
            except OSError:  # the other side is closed
                return
    raise TimeoutError("the command does not end")
