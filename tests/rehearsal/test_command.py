"""`makegood rehearse`: a table, the story of what is broken, JSON, and exit codes."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from makegood.cli.main import main
from makegood.testing import rehearse as rehearsed
from tests.rehearsal import shops

TRIP = str(Path(__file__).parents[2] / "examples" / "trip.py")
STAGE = """
from trip import hotels
from makegood.testing import Rehearsal

stage = Rehearsal()
stage.service(hotels, keyed=False)
"""


@pytest.fixture(autouse=True)
def _forgets_apps(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith("makegood."):
            del sys.modules[name]


def rehearse(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["rehearse", *arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def stage(folder: Path, text: str) -> str:
    file = folder / "the_stage.py"
    file.write_text(text)
    return str(file)


def test_what_is_kept_is_a_table_and_exit_0(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = rehearse(capsys, f"{TRIP}:book_trip")
    lines = [line.rstrip() for line in out.splitlines()]
    assert code == 0
    assert lines[0].split() == ["CALL", "WHAT", "STRIKES", "IT", "ENDS", "WHAT"]
    assert any("reserve_hotel" in line and "times out, happens late" in line for line in lines)
    assert any("undo of reserve_car" in line and "waits for a person" in line for line in lines)
    assert any("undo called: reserve_flight" in line for line in lines)
    assert not any(" undone: " in line for line in lines), "it may never have happened"
    assert lines[-2:] == [f"own functions run: none; simulated: {ACTIONS}", "broken promises: 0"]
    assert "of virtual time" in err
    assert not list(tmp_path.iterdir()), "a rehearsal writes nothing"


def test_what_is_broken_is_told_and_exit_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = rehearse(capsys, f"{TRIP}:book_trip", "--stage", stage(tmp_path, STAGE))
    assert code == 1
    assert "BROKEN, in " in out
    assert "reserve_hotel: it was in effect twice at once" in out
    assert "its service booked again for the same key" in out
    assert "service hotel-agent: reserve_hotel takes effect" in out


ACTIONS = "flight-agent/reserve_flight, hotel-agent/reserve_hotel, car-agent/reserve_car"


def test_whose_own_functions_ran_is_told() -> None:
    made = shops.not_keyed(faulty=False)
    report = rehearsed(made.plan, agents=[made.agent])
    assert report.cast == "own functions run: hotel/book; simulated: bank/pay"


def test_json_is_all_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = rehearse(
        capsys, f"{TRIP}:book_trip", "--json", "--stage", stage(tmp_path, STAGE), "--input", INPUT
    )
    document: dict[str, Any] = json.loads(out)
    assert code == 1
    assert document["plan"] == "book_trip"
    assert (document["ownFunctions"], document["simulated"]) == ([], ACTIONS.split(", "))
    assert document["tried"] == len(document["rows"]) == sum(document["ends"].values())
    [row] = [row for row in document["rows"] if row["faults"] == [FAULT] and "cancelled" not in row]
    assert (row["ends"], row["undone"]) == ("Compensated", ["reserve_flight"])
    first = document["broken"][0]
    assert first["broken"]["promise"] in ("once", "nothingSilent")
    assert first["broken"]["step"] == "reserve_hotel"
    assert first["story"][0].keys() == {"at", "who", "what"}
    assert "the traveller" in first["story"][0]["what"]


FAULT = {"step": "reserve_hotel", "call": "do", "nth": 1, "fault": "refused"}
INPUT = json.dumps(
    {"traveller": "the traveller", "origin": "here", "destination": "there", "day": "2030-01-01", "nights": 1}
)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((f"{TRIP}:nothing",), "has no plan 'nothing'"),
        ((f"{TRIP}:book_trip", "--input", "{"), "--input"),
        ((f"{TRIP}:book_trip", "--input", "{}"), "traveller"),
        ((f"{TRIP}:book_trip", "--stage", "nowhere.py"), "there is no such file"),
        ((f"{TRIP}:book_trip", "--stage", ""), "--stage is empty"),
        ((TRIP,), "APP:PLAN"),
    ],
)
def test_what_is_malformed_is_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], reason: str
) -> None:
    code, out, err = rehearse(capsys, *arguments)
    assert (code, out) == (2, "")
    assert reason in err


def test_a_module_says_only_one_rehearsal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    two = "from makegood.testing import Rehearsal\none, two = Rehearsal(), Rehearsal()\n"
    code, _, err = rehearse(capsys, f"{TRIP}:book_trip", "--stage", stage(tmp_path, two))
    assert code == 2
    assert "2 Rehearsals" in err
    given = tmp_path / "given.py"
    given.write_text("from makegood.testing import Rehearsal\nstage = Rehearsal(1, 2, 3)\n")
    code, _, err = rehearse(capsys, f"{TRIP}:book_trip", "--stage", str(given))
    assert code == 2
    assert "given.py:2 in <module>" in err
    without = tmp_path / "without.py"
    without.write_text("def made(): ...")
    code, _, err = rehearse(capsys, f"{TRIP}:book_trip", "--stage", str(without))
    assert code == 2
    assert "there is no Rehearsal in it; make one at its top level" in err
