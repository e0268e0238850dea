"""`makegood demo` as a newcomer runs it: it must show recovery from kills, and find what is really broken."""

import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

SOUND = "Nothing is double, nothing is orphaned, nothing is half done."
SECONDS_MAX = 50.0
"""For 60 trips and 4 kills under many faults."""


def demo(folder: Path, *options: str, code: int) -> subprocess.CompletedProcess[str]:
    """Run it to its end, which must be this exit code; what it leaves behind is below the folder."""
    ran = subprocess.run(
        [sys.executable, "-m", "makegood", "demo", *options],
        capture_output=True,
        text=True,
        env={"TMPDIR": str(folder), "PATH": "/usr/bin:/bin"},
        timeout=110,
    )
    assert ran.returncode == code, f"{ran.stdout}\n{ran.stderr}"
    assert "Traceback" not in ran.stderr
    return ran


def test_sixty_trips_under_many_faults_end_well_in_time(tmp_path: Path) -> None:
    began = monotonic()
    ran = demo(tmp_path, "--trips", "60", "--kills", "4", "--faults", "high", "--seed", "5", code=0)
    assert monotonic() - began < SECONDS_MAX
    assert SOUND in ran.stdout
    assert re.search(r"60 trips, 4 kills, \d+ s: \d+ Completed, \d+ Compensated\n", ran.stdout)
    lines = [line for line in ran.stderr.splitlines() if "/60 trips, " in line]
    assert 2 <= len(lines) <= 1 + (monotonic() - began) / 2, "a line of progress every two seconds at most"


def test_ten_kills_leave_nothing_double_orphaned_or_half_done(tmp_path: Path) -> None:
    options = ("--trips", "40", "--kills", "10", "--faults", "high", "--seed", "1")
    ran = demo(tmp_path, *options, code=0)
    assert SOUND in ran.stdout
    assert "40 trips, 10 kills" in ran.stdout
    assert ran.stderr.count("killed the engine (SIGKILL") == 10


def test_without_faults_and_kills_all_goes_well(tmp_path: Path) -> None:
    ran = demo(tmp_path, "--trips", "10", "--kills", "0", "--faults", "none", "--seed", "1", code=0)
    assert SOUND in ran.stdout
    assert ran.stdout.count("0%") == 3
    assert len(re.findall(r"^trip-\d+: its traveller asks to cancel it; the answer: ", ran.stderr, re.M)) == 2


def test_services_without_keys_are_found_out(tmp_path: Path) -> None:
    options = ("--trips", "16", "--kills", "0", "--faults", "high", "--seed", "5", "--no-keys")
    ran = demo(tmp_path, *options, code=1)
    assert re.search(r"^  double: (flight|hotel) trip-\d+ ", ran.stdout, re.MULTILINE)
    assert SOUND not in ran.stdout


def test_services_that_do_not_undo_are_found_out(tmp_path: Path) -> None:
    options = ("--trips", "12", "--kills", "0", "--faults", "none", "--seed", "1", "--no-undo")
    ran = demo(tmp_path, *options, code=1)
    assert re.search(r"^  orphaned: (flight|hotel|car) trip-\d+ \(Compensated", ran.stdout, re.MULTILINE)
    assert SOUND not in ran.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_told_to_end_leaves_no_process_behind(tmp_path: Path, number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "makegood", "demo", "--kills", "50"],
        env={"TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert any("killed the engine" in line for line in process.stderr)
        process.send_signal(number)
        _, said = process.communicate(timeout=20)
        assert "Traceback" not in said
        assert process.returncode != 0
        assert processes_in(tmp_path) == []
    finally:
        process.kill()
        process.communicate()


def processes_in(folder: Path) -> list[str]:
    """The command lines of living processes that work below a folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(each.read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found if str(folder) in line]


GOOD = '{"traveller": "Ann", "origin": "LIS", "destination": "Oslo", "day": "2027-03-04"}'


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([GOOD, "", '{"traveller": "Bob"}'], "line 3: Object missing required field `origin`"),
        ([GOOD, "{"], "line 2: "),
        ([GOOD, GOOD.replace('"Ann"', "17")], "line 2: Expected `str`, got `int` - at `$.traveller`"),
        ([""], "no request in it"),
    ],
)
def test_a_bad_line_in_a_trips_file_is_named(tmp_path: Path, lines: list[str], words: str) -> None:
    trips = tmp_path / "trips.jsonl"
    trips.write_text("\n".join(lines))
    ran = demo(tmp_path, "--trips-file", str(trips), code=2)
    assert ran.stderr.count("\n") == 1
    assert f"error: trips file {trips}" in ran.stderr
    assert words in ran.stderr
    assert not list(tmp_path.glob("makegood-demo-*")), "it began nevertheless"


def test_a_trips_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = demo(tmp_path, "--trips-file", str(tmp_path / "none"), code=1)
    assert f"trips file {tmp_path / 'none'}: No such file or directory" in ran.stderr


def test_own_requests_are_booked_again_from_the_start_of_their_file(tmp_path: Path) -> None:
    trips = tmp_path / "trips.jsonl"
    trips.write_text(f"{GOOD}\n\n{GOOD.replace('Ann', 'Bob')}\n")
    options = ("--trips", "5", "--kills", "1", "--faults", "none", "--trips-file", str(trips))
    ran = demo(tmp_path, *options, code=0)
    assert "5 trips, 1 kill, " in ran.stdout
