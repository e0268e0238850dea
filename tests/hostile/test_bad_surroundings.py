"""What a command may find around it: closed streams, odd terminals, Ctrl-C, stores that cannot be written."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from makegood.cli.main import main
from makegood.store import sqlite_file
from tests.cli.terminal import COMMAND, Shell
from tests.hostile.bad_inputs import COULD_NOT, MALFORMED
from tests.hostile.bad_place import APPS, Standing, standing
from tests.hostile.small_disk import no_room, small_disk
from tests.hostile.test_bad_inputs import at_home

INTERRUPTED = 130
ENTER = ("submit", "app.py:book_trip", '{"who":"ann"}')
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
STAGE = "from makegood.testing import Rehearsal\nsaid = Rehearsal()\nprint('waiting')\n"
SLOW = {"hangs.py": "import time\nprint('waiting')\ntime.sleep(60)\n", "stage.py": STAGE}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("around")
    shell = Shell(folder)
    (folder / "app.py").write_bytes(Path(__file__).parents[1].joinpath("cli", "app.py").read_bytes())
    (folder / "prints.py").write_text(APPS["prints.py"])
    for name, text in SLOW.items():
        (folder / name).write_text(text)
    with at_home(folder):
        for number in range(30):
            assert main([*ENTER, "--id", f"trip-{number}"]) == 0
    return shell


@pytest.fixture
def unchanged(shell: Shell) -> Iterator[None]:
    """Every file, head and row is afterwards as it was."""
    before = _standing(shell)
    yield
    assert _standing(shell) == before


def _standing(shell: Shell) -> Standing:
    known = standing(shell.folder)
    kept = {name: raw for name, raw in known.files.items() if not name.endswith((".log", ".pyc"))}
    return Standing(kept, known.heads, known.rows)


def piped(shell: Shell, line: str, **environment: str) -> tuple[int, str, str]:
    """A line of a shell in which MG stands for makegood: its exit code, stdout and stderr."""
    done = subprocess.run(
        ["bash", "-c", line.replace("MG", " ".join(COMMAND))],
        cwd=shell.folder,
        env=shell.environment(**environment),
        capture_output=True,
        timeout=30,
        check=False,
    )
    err = done.stderr.decode("utf-8", "backslashreplace")
    assert "Traceback" not in err
    assert "itself failed" not in err
    return done.returncode, done.stdout.decode(), err


# --- streams


STREAMS: dict[str, tuple[str, int, str]] = {
    "stdin closed": ("MG submit app.py:book_trip - <&-", MALFORMED, "- is stdin, which is closed; pipe JSON"),
    "stdin at its end": (
        "MG submit app.py:book_trip - </dev/null",
        MALFORMED,
        "INPUT: it is empty; give JSON",
    ),
    "stdout closed": ("MG list >&-", 0, "no process is up on this store"),
    "both closed": ("MG show nope >&- 2>&-", COULD_NOT, ""),
    "stdout full": ("MG list --json >/dev/full", COULD_NOT, "stdout: No space left on device; send it"),
    "stdout full of help": (
        "MG --help >/dev/full",
        COULD_NOT,
        "stdout: No space left on device; send it",
    ),
    "stdout full of a table": ("MG list >/dev/full", COULD_NOT, "stdout: No space left on device; send it"),
    "stdout full of what is entered": (
        """MG submit app.py:book_trip '{"who":"ann"}' --id trip-1 >/dev/full""",
        COULD_NOT,
        "trip-1 is entered\n",
    ),
    "stdout full of many": (
        """echo '{"input":{"who":"ann"},"id":"trip-1"}' | MG submit app.py:book_trip --many - >/dev/full""",
        COULD_NOT,
        "submit: 0 of 1 line entered, 0 refused, 1 there already",
    ),
    "stderr full": ("MG show nope 2>/dev/full", COULD_NOT, ""),
}


@pytest.mark.parametrize("case", STREAMS)
@pytest.mark.usefixtures("unchanged")
def test_streams(shell: Shell, case: str) -> None:
    line, code, words = STREAMS[case]
    ended, _, said = piped(shell, line)
    assert ended == code
    assert words in said
    assert bool(said) == bool(words)


@pytest.mark.parametrize("reader", ["head -1", "true"])
@pytest.mark.usefixtures("unchanged")
def test_a_reader_that_has_seen_enough(shell: Shell, reader: str) -> None:
    for command in ("list", "show trip-1 --json", "graph app.py:book_trip"):
        ended, _, said = piped(shell, f"MG {command} | {reader}; exit ${{PIPESTATUS[0]}}")
        assert ended in (0, COULD_NOT)  # whether all was written before it went is chance
        assert said in (
            "",
            "no process is up on this store: what waits for one goes on with `makegood up APP`\n",
        )


# --- terminals, locales, arguments


@pytest.mark.usefixtures("unchanged")
def test_a_terminal_of_20_columns_without_colour(shell: Shell) -> None:
    shown = shell.on_a_terminal("list", COLUMNS="20", NO_COLOR="1")
    assert "trip-17" in shown
    assert "\x1b" not in shown
    assert "Options:" in shell.on_a_terminal("list", "--help", COLUMNS="20", NO_COLOR="1")


@pytest.mark.usefixtures("unchanged")
def test_a_locale_without_unicode(shell: Shell) -> None:
    code, _, said = piped(shell, "MG check 'caf\u00e9.py'", **ASCII)
    assert code == MALFORMED
    assert "there is no such file; run this where it lies" in said
    code, _, said = piped(shell, 'MG submit app.py:book_trip \'{"wer":"J\u00f6rg"}\'', **ASCII)
    assert code == MALFORMED
    assert "error: input" in said


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (r"MG show $'\xff'", COULD_NOT, r"no task '\udcff'"),
        (r"MG cancel trip-1 --by $'\xff'", MALFORMED, "is not valid UTF-8; give text"),
        (r"MG list --store $'sqlite:///\xff.db'", COULD_NOT, r"there is no store \udcff.db"),
        (r"MG check $'\xff.py'", MALFORMED, "there is no such file"),
    ],
)
@pytest.mark.usefixtures("unchanged")
def test_arguments_that_are_no_text(shell: Shell, line: str, code: int, words: str) -> None:
    ended, out, said = piped(shell, line)
    assert (ended, out) == (code, "")
    assert words in said


@pytest.mark.usefixtures("unchanged")
def test_what_an_app_prints_is_talk(shell: Shell) -> None:
    said = shell.run("graph", "prints.py:book_trip")
    assert said.err == "good morning\n"
    assert said.out.startswith("book_trip ")


# --- Ctrl-C


WAITING: dict[str, tuple[list[str], str, int]] = {
    "watch a task": (["watch", "trip-1"], "", INTERRUPTED),
    "watch all": (["watch"], "", 0),
    "submit": ([*ENTER, "--id", "trip-1", "--wait"], "no process is up", INTERRUPTED),
    "up": (["up", "app.py", "--store", "sqlite:///up.db"], " up as ", 0),
    "demo": (["demo", "--trips", "500"], "seed ", INTERRUPTED),
    "an app that hangs": (["check", "hangs.py"], "waiting", INTERRUPTED),
    "rehearse": (["rehearse", "app.py:book_trip", "--pairs", "--stage", "stage.py"], "waiting", INTERRUPTED),
}


@pytest.mark.parametrize("case", WAITING)
def test_ctrl_c(shell: Shell, case: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command, talk, code = WAITING[case]
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the demo has its folder
    before = _standing(shell)
    with shell.started(*command) as waits:
        if talk:
            waits.wait_for_talk(talk)
        else:
            assert waits.line("trip")
        assert waits.end(signal.SIGINT) == code
        assert "error" not in waits.talk.read_text()
    assert (_standing(shell).heads, _standing(shell).rows) == (before.heads, before.rows)


# --- stores that cannot be written


@pytest.fixture
def home(shell: Shell) -> Iterator[Path]:
    with at_home(shell.folder):
        yield shell.folder


@contextmanager
def modes(modes: dict[Path, int]) -> Iterator[None]:
    """Other file modes for a while."""
    before = {path: path.stat().st_mode & 0o777 for path in modes}
    for path, mode in modes.items():
        path.chmod(mode)
    yield
    for path, mode in before.items():
        path.chmod(mode)


def humbly(shell: Shell, *command: str) -> tuple[int, str]:
    """Run a command as one who may write only what the modes allow, even where that is root."""
    humble = [sys.executable, "-m", "tests.soak.humble", *command]
    path = os.pathsep.join([shell.environment()["PYTHONPATH"], str(Path(__file__).parents[2])])
    done = subprocess.run(
        humble,
        cwd=shell.folder,
        env=shell.environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.usefixtures("unchanged")
def test_a_store_that_is_read_only(shell: Shell) -> None:
    with modes({shell.folder / "makegood.db": 0o444}):
        for command in (["cancel", "trip-1"], ENTER, ["list"]):
            code, said = humbly(shell, *command)
            assert code == COULD_NOT
            assert "makegood.db is read-only for this user; let this user write the file" in said


@pytest.mark.usefixtures("unchanged")
def test_a_folder_that_is_read_only(shell: Shell) -> None:
    closed = shell.folder / "closed"
    closed.mkdir()
    with modes({closed: 0o555}):
        code, said = humbly(shell, *ENTER, "--store", "sqlite:///closed/new.db")
        assert code == COULD_NOT
        assert "closed/new.db: " in said
        assert "let this user write the file and its folder" in said
        code, said = humbly(shell, "graph", "app.py:book_trip", "--output", "closed/plan.svg")
        assert code == COULD_NOT
        assert "closed/plan.svg: Permission denied; name a file that can be written" in said
    assert not list(closed.iterdir())


@pytest.mark.usefixtures("unchanged")
def test_a_store_that_is_locked(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "LOCK_SECONDS_MAX", 0.1)
    other = apsw.Connection(str(home / "makegood.db"))
    other.execute("BEGIN EXCLUSIVE")
    try:
        for command in (["cancel", "trip-1"], [*ENTER]):
            assert main(command) == COULD_NOT
            said = capsys.readouterr().err
            assert "database is locked" in said
            assert "another process keeps it locked; find it and end it" in said
    finally:
        other.execute("ROLLBACK")
        other.close()


def test_a_disk_that_is_full(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, new = ("--store", "sqlite:///disk/trips.db"), ("--store", "sqlite:///disk/new.db")
    with small_disk(home / "disk"):
        assert main([*ENTER, "--id", "t", *store]) == 0
        keeps_it_open = apsw.Connection("disk/trips.db")
        before = list(keeps_it_open.execute("SELECT * FROM tasks, history"))
        with no_room(home / "disk"):
            for command in ([*ENTER, *store], ["cancel", "t", *store], [*ENTER, *new], ["migrate", *new]):
                capsys.readouterr()
                assert main(command) == COULD_NOT
                said = capsys.readouterr()
                assert said.out == ""
                assert "database or disk is full; make room on the disk" in said.err
            assert not Path("disk/new.db").stat().st_size
            assert main(["list", *store]) == 0
        assert list(keeps_it_open.execute("SELECT * FROM tasks, history")) == before
        assert main(["cancel", "t", *store]) == 0
        assert main([*ENTER, *new]) == 0
        keeps_it_open.close()


def test_a_disk_that_is_full_of_a_picture(shell: Shell) -> None:
    code, _, said = piped(shell, "MG graph app.py:book_trip --output /dev/full")
    assert code == COULD_NOT
    assert "/dev/full: No space left on device; name a file that can be written" in said
