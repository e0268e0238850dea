"""Where no process is up, nothing goes on: commands say so, and promise nothing."""

import json
import re
import signal

from tests.cli.terminal import Shell

NOBODY = "no process is up on this store, and {} for one (`makegood up APP`)\n"
ONE, SOME = NOBODY.format("the task waits"), NOBODY.format("tasks wait")


def submit(shell: Shell, task_id: str, *options: str, **trip: str) -> None:
    given = json.dumps({"who": "ann"} | trip)
    assert shell.run("submit", "app.py:book_trip", given, "--id", task_id, *options).code in (0, 20)


def talk(shell: Shell, *act: str) -> str:
    """What an act says on stderr."""
    said = shell.run(*act)
    assert said.code == 0, said
    return said.err


def test_an_act_that_needs_a_process_says_that_none_is_up(shell: Shell) -> None:
    submit(shell, "t-1")
    assert talk(shell, "pause", "t-1") == ""
    assert talk(shell, "retry", "t-1") == ""  # it waits for a person first
    for act in (["resume", "t-1"], ["retry", "t-1"]):
        assert talk(shell, *act) == ONE
    assert talk(shell, "skip", "t-1", "reserve_flight", "--result", '"F"').endswith(ONE)
    assert talk(shell, "cancel", "t-1") == ""  # it has ended by that
    assert talk(shell, "cancel", "t-1") == ""


def test_what_a_person_settles_goes_on_with_a_process_only(shell: Shell) -> None:
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        submit(shell, "t-1", "--wait", car="lost")
        submit(shell, "t-2", "--wait", car="lost")
        assert talk(shell, "resolve", "t-2", "reserve_car", "absent") == ""
        assert everybody.end(signal.SIGTERM) == 0
    assert talk(shell, "cancel", "t-1") == ""  # a person is asked first
    assert talk(shell, "resolve", "t-1", "reserve_car", "absent") == ONE


def test_acts_on_many_say_it_once(shell: Shell) -> None:
    for n in range(3):
        submit(shell, f"t-{n}")
    meant = ["--where", "plan=book_trip", "--count", "3"]
    assert talk(shell, "retry", *meant).endswith(f"retry: 3 of 3 tasks, 0 refused\n{SOME}")
    assert talk(shell, "pause", *meant).endswith("pause: 3 of 3 tasks, 0 refused\n")


def test_only_what_a_process_drives_is_said_to_go_on(shell: Shell) -> None:
    submit(shell, "t-1", car="busy")
    waited = shell.run("watch", "t-1", "--timeout", "0.5")
    assert waited.err == f"{ONE}t-1: not ended within 0.5 s; `makegood why t-1` says why\n"
    goes_on = "t-1: not ended within 0.5 s, and goes on; `makegood why t-1` says why\n"
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        assert shell.run("watch", "t-1", "--timeout", "0.5").err == goes_on
        shell.ok("pause", "t-1")
        assert "goes on" not in shell.run("watch", "t-1", "--timeout", "0.5").err


def test_what_is_paused_is_said_to_wait_for_a_person(shell: Shell) -> None:
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        submit(shell, "t-1", car="busy")
        with shell.started("watch", "t-1") as watching:
            watching.line("reserve_car: to be called again")
        shell.ok("pause", "t-1")
        assert shell.ok("retry", "t-1") == "t-1: trying again once it is resumed\n"
        assert shell.ok("cancel", "t-1") == "t-1: cancelled: what it did is undone once it is resumed\n"
        assert shell.ok("cancel", "t-1") == "t-1: already compensating\n"
        assert shell.ok("resume", "t-1") == "t-1: resumed\n"
        assert shell.run("watch", "t-1").code == 10
    assert re.search(r"^reserve_flight .* Completed ", shell.ok("show", "t-1"), re.MULTILINE)
