"""Many tasks by the command line: chosen, counted, acted on; later starts; alerts."""

import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.terminal import APP, COMMAND, Shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A folder with nine tasks that nobody runs: three customers, three tasks each."""
    folder = tmp_path_factory.mktemp("bulk")
    shutil.copy(APP, folder / "app.py")
    shell = Shell(folder)
    for n in range(9):
        trip = json.dumps({"who": f"ann {n}"})
        shell.ok("submit", "app.py:book_trip", trip, "--id", f"t-{n}", "--tag", f"customer={n % 3}")
    return shell


def test_list_takes_filters_and_says_the_whole_command_for_the_next_page(shell: Shell) -> None:
    ids, command = [], "list --json --where tag.customer=1 --where 'age<1d' --state Running --limit 2"
    while command:
        said = shell.run(*shlex.split(command))
        ids += [task["taskId"] for task in json.loads(said.out)]
        _, _, command = said.err.partition("there are more: makegood ")
    assert ids == ["t-7", "t-4", "t-1"]
    said = shell.run("--store", "sqlite:///makegood.db", "list", "--limit", "8")
    assert "there are more: makegood list --limit 8 --store sqlite:///makegood.db --after " in said.err
    _, last, *none = shell.ok(*shlex.split(said.err.partition(" makegood ")[2])).splitlines()
    assert (last.split()[0], none) == ("t-0", [])
    for task in json.loads(shell.ok("list", "--json", "--where", "tag.customer=1")):
        assert task["tags"] == {"customer": "1"}


def test_a_dry_run_says_which_are_meant_and_does_nothing(shell: Shell) -> None:
    said = shell.run("cancel", "--where", "tag.customer=2", "--where", "state=running", "--dry-run")
    assert (said.code, said.out.split()) == (0, ["t-8", "t-5", "t-2"])
    assert "3 tasks are meant; nothing was done" in said.err
    assert len(json.loads(shell.ok("list", "--json", "--state", "running"))) == 9


def test_without_a_terminal_the_count_must_be_said_and_be_right(shell: Shell) -> None:
    said = shell.run("pause", "--where", "tag.customer=2")
    assert (said.code, said.out) == (1, "")
    assert "nothing was done. Say --count 3 to pause them" in said.err
    said = shell.run("pause", "--where", "tag.customer=2", "--count", "4")
    assert (said.code, said.out) == (1, "")
    assert "3 tasks are meant, not 4; nothing was done" in said.err
    said = shell.run("pause", "--where", "tag.customer=2", "--where", "age>1000d", "--count", "1")
    assert "0 tasks are meant, not 1; nothing was done" in said.err


def test_where_none_is_meant_no_count_is_proposed(shell: Shell) -> None:
    said = shell.run("pause", "--where", "tag.customer=9")
    assert (said.code, said.err) == (1, "0 tasks are meant; nothing was done\n")
    assert shell.run("pause", "--where", "tag.customer=9", "--count", "0").code == 0
    assert "type 0" not in shell.on_a_terminal("pause", "--where", "tag.customer=9", code=1)


def test_what_stops_under_way_says_how_many_are_left(shell: Shell) -> None:
    bulk = ["retry", "--where", "plan=book_trip", "--count", "9", "--rate"]
    piped = subprocess.run(
        f"{shlex.join([*COMMAND, *bulk, '3'])} | head -1",
        shell=True,
        cwd=shell.folder,
        env=shell.environment(),
        capture_output=True,
        text=True,
    )
    told = re.search(
        r"^retry: (\d) of 9 tasks, 0 refused; it stopped, and (\d) are left$", piped.stderr, re.M
    )
    assert told, piped
    assert int(told[1]) + int(told[2]) == 9
    with shell.started(*bulk, "0.5") as acting:
        acting.line(": ")
        assert acting.end(signal.SIGINT) == 130
        assert "retry: 1 of 9 tasks, 0 refused; it stopped, and 8 are left" in acting.talk.read_text()


def test_each_is_acted_on_and_told_of(shell: Shell) -> None:
    said = shell.run("pause", "--where", "tag.customer=0", "--count", "3", "--by", "ann", "--why", "storm")
    assert (said.code, said.out.splitlines()) == (0, ["t-6: paused", "t-3: paused", "t-0: paused"])
    assert "pause: 3 of 3 tasks, 0 refused" in said.err
    assert "ann" in shell.ok("history", "t-3")
    again = shell.run("pause", "--where", "tag.customer=0", "--count", "3")
    assert (again.code, "t-6: already paused\n" in again.out) == (0, True)
    assert "pause: 0 of 3 tasks, 3 were so already, 0 refused\n" in again.err
    assert shell.run("cancel", "--where", "tag.customer=0", "--count", "3", "--rate", "100").code == 0
    refused = shell.run("resume", "--where", "tag.customer=0", "--count", "3")
    assert refused.code == 1
    assert "resume: 0 of 3 tasks, 3 refused" in refused.err
    assert "t-0" in refused.out
    assert "it has ended" in refused.out


def test_without_stderr_or_stdin_it_does_all_or_says_how(shell: Shell) -> None:
    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            f"{shlex.join(COMMAND)} {command}",
            shell=True,
            cwd=shell.folder,
            env=shell.environment(),
            capture_output=True,
            text=True,
        )

    done = run("retry --where tag.customer=1 --count 3 2>&-")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)
    asked = run("retry --where tag.customer=1 <&-")
    assert (asked.returncode, "nothing was done. Say --count 3" in asked.stderr) == (1, True)


def test_ctrl_c_where_the_count_is_asked_for_ends_it_at_once(shell: Shell) -> None:
    mine, its = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "cancel", "--where", "tag.customer=1"],
        cwd=shell.folder,
        env=shell.environment(),
        stdin=its,
        stdout=its,
        stderr=its,
    ) as process:
        os.close(its)
        shown = b""
        while b"type 3 to cancel them" not in shown:
            shown += os.read(mine, 1024)
        time.sleep(0.5)  # until it reads: a signal that comes right before is seen after the next line only
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(10) == 130
        finally:
            process.kill()
            os.close(mine)
    assert len(json.loads(shell.ok("list", "--json", "--where", "tag.customer=1", "--state", "running"))) == 3


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["cancel"], "give either a task's ID or --where"),
        (["cancel", "t-1", "--where", "state=failed"], "give either a task's ID or --where"),
        (["retry", "t-1", "--dry-run"], "--dry-run and --count are for --where"),
        (["cancel", "--where", "colour=red", "--count", "1"], "'colour=red' is nothing to choose tasks by"),
        (["list", "--where", "age>old"], "'old' is no length of time"),
        (["list", "--after", "x"], "is no page's `next`"),
        (["submit", "app.py:book_trip", '{"who": "x"}', "--start-at", "noon"], "'noon' is no moment"),
        (["submit", "app.py:book_trip", '{"who": "x"}', "--start-at", "2030-01-01T00:00"], "no time zone"),
        (
            ["submit", "app.py:book_trip", "{}", "--start-at", "2030-01-01"],
            "'2030-01-01' is a whole day; write",
        ),
        (["submit", "app.py:book_trip", "{}", "--start-at", "2030-01-01Z"], "as in 2027-01-31T08:00:00Z"),
    ],
)
def test_what_is_wrong_with_it_is_said(shell: Shell, given: list[str], words: str) -> None:
    said = shell.run(*given)
    assert said.code in (1, 2)
    assert words in said.err
    assert "Traceback" not in said.err


def test_a_task_that_starts_later_says_so(shell: Shell) -> None:
    for number, moment in enumerate(("2h", "2099-01-01T00:00:00Z")):
        task_id = f"later-{number}"
        shell.ok("submit", "app.py:book_trip", '{"who": "ann"}', "--id", task_id, "--start-at", moment)
        assert "the task is to start then" in shell.ok("why", task_id)
    assert "2099-01-01T00:00:00" in shell.ok("why", "later-1")
    for number in range(2):
        shell.ok("cancel", f"later-{number}")


def test_people_are_told_of_a_parked_task_by_a_command(tmp_path: Path) -> None:
    shutil.copy(APP, tmp_path / "app.py")
    shell, note = Shell(tmp_path), tmp_path / "note.json"
    teller = tmp_path / "tell.py"
    teller.write_text(f"import sys\nopen({str(note)!r}, 'w').write(sys.stdin.read())\n")
    with shell.started("up", "app.py", "--alert-command", f"{sys.executable} {teller}") as everybody:
        everybody.wait_for_talk(" up as ")
        shell.run("submit", "app.py:book_trip", '{"who": "ann", "car": "lost"}', "--id", "trip", "--wait")
        until = time.monotonic() + 20
        while not note.exists() or not note.read_text():
            assert time.monotonic() < until, "nobody was told"
            time.sleep(0.05)
    told = json.loads(note.read_text())
    assert (told["taskId"], told["state"], told["blocking"]) == ("trip", "Failed", ["reserve_car"])
    assert "makegood resolve trip reserve_car" in told["why"]
    assert "people were told that it is parked (command " in shell.ok("history", "trip")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [("--alert-command", "", "the alert command is empty"), ("--alert-url", "pager", "is no http")],
)
def test_what_cannot_tell_anybody_is_refused(shell: Shell, option: str, value: str, words: str) -> None:
    said = shell.run("up", "app.py", option, value)
    assert said.code == 2
    assert words in said.err
