"""What a terminal shows that is narrower than the lines: columns stay columns, and words whole."""

import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from makegood.cli.audit import EFFECTS
from makegood.cli.layout import cells, folded, row_lines, table_lines
from makegood.cli.output import coloured_table
from tests.cli.terminal import APP, Shell

ADDRESS = "http://127.0.0.1:8801/cars/reservations"
TRIP = '{"who": "ann", "car": "lost"}'


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A folder with a task that is parked, as a service at an address brought no answer."""
    folder = tmp_path_factory.mktemp("folding")
    (folder / "app.py").write_text(APP.read_text().replace("connection reset", f"no answer from {ADDRESS}"))
    shell = Shell(folder)
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        assert shell.run("submit", "app.py:rent_car", TRIP, "--id", "t-42", "--wait").code == 20
        yield shell


def shown(shell: Shell, columns: int, *command: str, code: int = 0) -> list[str]:
    """The lines on a terminal of this width, without colours."""
    told = shell.on_a_terminal(*command, code=code, COLUMNS=str(columns), NO_COLOR="1")
    lines = re.sub(r"\x1b\[\d*m", "", told).replace("\r", "").splitlines()
    assert max(map(cells, lines)) <= columns, told
    assert not [line for line in lines if line.endswith(" ")], told
    return lines


DONE = "  makegood resolve t-42 reserve_car done --result JSON --app APP"


def test_a_second_column_stands_under_its_beginning_where_it_has_room(shell: Shell) -> None:
    told = shown(shell, 90, "why", "t-42")
    at = told.index(f"{DONE}  it happened; its result")
    margin = " " * len(f"{DONE}  ")
    assert told[at + 1] == f"{margin}is used"
    assert told[at + 2].startswith("  makegood resolve t-42 reserve_car absent  ")
    [because] = [n for n, line in enumerate(told) if line.startswith("  because    ")]
    assert re.match(r" {13}\S", told[because + 1])


def test_without_room_for_it_a_second_column_goes_below(shell: Shell) -> None:
    told = shown(shell, 80, "why", "t-42")
    at = told.index(DONE)
    assert told[at + 1] == "    it happened; its result is used"
    assert told[at + 2].startswith("  makegood resolve t-42 reserve_car absent")


def test_where_one_row_of_a_table_has_no_room_all_go_below(shell: Shell) -> None:
    told = shown(shell, 60, "show", "t-42")
    at = next(n for n, line in enumerate(told) if line.startswith("STEP "))
    assert told[at + 1] == "    RESULT OR ERROR"
    assert not any(re.match(r"reserve_\w+ .*(\"|connection|no answer)", line) for line in told[at:])


def test_an_address_stays_whole_in_a_table(shell: Shell) -> None:
    told = shown(shell, 90, "audit", "t-42")
    assert f"    no answer from {ADDRESS}" in told
    told = shown(shell, 120, "audit", "t-42")
    assert any(line.startswith("reserve_car  in doubt") and ADDRESS in line for line in told)


def test_a_list_is_folded_beside_its_columns(shell: Shell) -> None:
    [row] = [line for line in shown(shell, 80, "list") if line.startswith("t-42")]
    assert row.endswith("a person (reserve_car)")


def test_columns_that_have_no_room_go_below_those_that_have(shell: Shell) -> None:
    effect = ["reserve_car", "in doubt", "2026-12-01T05:31:41Z", "t-42-reserve_car", "connection reset"]
    assert lines_of(EFFECTS, [effect], 50) == [
        *("STEP         STANDS    SINCE", "    KEY", "    WHAT"),
        *("reserve_car  in doubt  2026-12-01T05:31:41Z", "    t-42-reserve_car", "    connection reset"),
    ]
    told = shown(shell, 60, "rehearse", "app.py:rent_car")
    assert told[1].startswith("    ENDS")
    at = told[0].index("WHAT STRIKES IT")
    assert sum(line.startswith("reserve_car ") and line[at - 1] == " " for line in told) > 5


@pytest.mark.parametrize("columns", [55, 80])
def test_the_doctors_lines_are_even(shell: Shell, tmp_path: Path, columns: int) -> None:
    shutil.copy(APP, tmp_path / "app.py")
    nobody = Shell(tmp_path)
    nobody.ok("submit", "app.py:rent_car", TRIP, "--id", "t-42")
    told = shown(nobody, columns, "doctor", code=1)
    assert all(re.match(r"(ok|warn|broken) +[\w ]+  \S| {21}\S", line) for line in told)
    assert " " * 21 + "way out: start one: `makegood up" in "\n".join(told)


def test_the_findings_of_a_check_are_even(shell: Shell) -> None:
    _, *told = shown(shell, 60, "check", "app.py:rent_car")
    assert len(told) > 4
    assert all(re.match(r"  note    \S| {10}\S|broken: 0|$", line) for line in told)


STAGE = """
from app import cars, flights
from makegood.testing import Rehearsal

stage = Rehearsal()
stage.service(flights, keyed=False)
"""


def test_the_story_of_a_broken_promise_is_folded(shell: Shell) -> None:
    (shell.folder / "stage.py").write_text(STAGE)
    trip = f'{{"who": "{"Ann " * 9}"}}'
    rehearse = ["rehearse", "app.py:book_trip", "--stage", "stage.py", "--input", trip]
    told = shown(shell, 90, *rehearse, code=1)
    [first, *_] = [n for n, line in enumerate(told) if re.match(r" +0\.00 s  client: submitted", line)]
    assert re.match(r" {15}\S", told[first + 1])


def test_a_watch_of_all_leaves_its_last_table(shell: Shell) -> None:
    told = shell.on_a_terminal("watch", "--timeout", "0.7", COLUMNS="120")
    _, _, left = told.rpartition("\x1b[2K")
    assert "t-42" in left


def test_a_cell_of_blanks_is_a_cell() -> None:
    told = lines_of(("STEP", "RESULT OR ERROR"), [["pay", " " * 120], ["mail", "sent"]], 40)
    assert told[1:] == ["pay", "mail  sent"]


def lines_of(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> list[str]:
    return [line for row in table_lines(columns, rows, width) for line in row]


def test_wide_characters_take_two_cells() -> None:
    rows = [["予約", "Running", "ホテルの予約を 待っている"], ["pay", "Completed", "e\u0301te\u0301"]]
    assert lines_of(("STEP", "STATE", "WHAT"), rows) == [
        "STEP  STATE      WHAT",
        "予約  Running    ホテルの予約を 待っている",
        "pay   Completed  e\u0301te\u0301",
    ]
    told = lines_of(("STEP", "STATE", "WHAT"), rows, 37)
    assert told[1:3] == ["予約  Running    ホテルの予約を", " " * 17 + "待っている"]
    for width in range(24, 60):
        told = lines_of(("STEP", "WHAT"), [["pay", "長い名前の" * 20]], width)
        assert max(map(cells, told)) <= width
        assert "".join(told).replace(" ", "") == "STEPWHATpay" + "長い名前の" * 20


@pytest.mark.parametrize("text", ["x" * 70, "ab " + "y" * 90, '{"what":"' + "z" * 75 + '"}', "予" * 50])
def test_nothing_of_a_long_word_is_left_out(text: str) -> None:
    for width in range(24, 110):
        told = lines_of(("input", "WHAT"), [["output", text]], width)
        assert "".join(told).replace(" ", "") == "inputWHAToutput" + text.replace(" ", "")
        told = row_lines(("taskId", text), (11, 0), width)
        assert "".join(told).replace(" ", "") == "taskId" + text.replace(" ", "")
        told = folded(f"    {text}", width)
        assert "".join(told).replace(" ", "") == text.replace(" ", "")


TASKS = ("ID", "STATE", "PLAN", "WAITS FOR")
LONG = "order-" + "0123456789" * 4


def test_a_row_whose_columns_have_no_room_goes_on_below_its_beginning(tmp_path: Path) -> None:
    told = lines_of(TASKS, [[LONG, "Running", "buy", "a person who is away"]], 30)
    assert told == [
        *("ID  STATE  PLAN", "    WAITS FOR"),
        *(LONG, "    Running  buy", "    a person who is away"),
    ]
    shutil.copy(APP, tmp_path / "app.py")
    nobody = Shell(tmp_path)
    nobody.ok("submit", "app.py:rent_car", TRIP, "--id", LONG)
    told = nobody.on_a_terminal("list", COLUMNS=str(len(LONG))).splitlines()
    assert told[2] == LONG
    assert told[3].endswith("Z")
    assert told[4] == "    a scheduler (reserve_car)"


def test_one_wide_row_takes_no_column_from_the_others(tmp_path: Path) -> None:
    rows = [["o-1", "Running", "buy", "a scheduler"], ["o-2", "Completed", "buy", ""]]
    for width in (40, 60, 78):
        told = lines_of(TASKS, [rows[0], [LONG, "Running", "buy", "an agent (tell)"], rows[1]], width)
        [aside] = [n for n, line in enumerate(told) if line.startswith(LONG)]
        rest = [*told[:aside], *(line for line in told[aside + 1 :] if line.startswith("o-2"))]
        assert rest == lines_of(TASKS, rows, width)
    shutil.copy(APP, tmp_path / "app.py")
    nobody = Shell(tmp_path)
    for task_id in ("o-1", LONG, "o-2"):
        nobody.ok("submit", "app.py:rent_car", TRIP, "--id", task_id)
    aligned = re.compile(r"o-[12]  Running       rent_car  a scheduler \(reserve_car\)")
    watched = nobody.on_a_terminal("watch", "--timeout", "0.5", TERM="dumb", COLUMNS="90")
    assert len(aligned.findall(watched)) == 2
    assert re.search(rf"Z  {LONG}  Running  rent_car\r\n    a scheduler", watched)


def test_a_row_that_fills_its_line_is_followed_by_no_empty_line() -> None:
    for last in ("", "c"):
        told = lines_of(("A", "B", "C"), [["a" * 20, "b" * 18, last], ["a", "b", "c"]], 40)
        assert all(told)
    assert all(row_lines(("", "b" * 20, "c"), (5, 10, 0), 24))


def test_no_id_is_cut(tmp_path: Path) -> None:
    shutil.copy(APP, tmp_path / "app.py")
    nobody = Shell(tmp_path)
    nobody.ok("submit", "app.py:rent_car", TRIP, "--id", LONG)
    for command in ("why", "show"):
        told = nobody.on_a_terminal(command, LONG, COLUMNS="40", NO_COLOR="1").replace("\r", "")
        assert LONG in told
        assert not [line for line in told.splitlines() if re.search(r"order-\d", line) and LONG not in line]


def test_an_error_is_folded_at_words_on_a_terminal_alone(shell: Shell) -> None:
    told = shown(shell, 50, "show", "t-43", code=1)
    assert len(told) > 1
    assert " ".join(line.strip() for line in told) == shell.run("show", "t-43").err.strip()


def test_states_have_their_colours(shell: Shell) -> None:
    told = shell.on_a_terminal("show", "t-42", COLUMNS="120")
    assert "\x1b[1mSTEP" in told
    folded = coloured_table(("WHEN", "WHAT"), [["today", "it is not that it was Completed"]], 29)
    assert folded.plain.splitlines()[2:] == [" " * 7 + "Completed"]
    assert [span for span in folded.spans if span.style == "green"] == []
    assert re.search(r"reserve_car +in doubt +0 +\x1b\[2mNotStarted\x1b\[0m  no answer", told)
