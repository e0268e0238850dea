"""The models under proofs/: each holds to its last state, and fails without any one of its guards."""

import re
from pathlib import Path

import pytest

from proofs import check
from proofs.rows import ROWS, Row

PROOFS = Path(check.__file__).parent
README = (PROOFS / "README.md").read_text("utf-8")
MODELS = sorted(file.stem for file in PROOFS.glob("*.pml"))


@pytest.mark.parametrize("row", [row for row in ROWS if not row.large], ids=str)
def test_a_model_comes_out_as_its_row_says(row: Row) -> None:
    found = check.check(row)
    assert found.holds == row.holds
    if row.holds:
        assert check.as_line(row, found) in README


@pytest.mark.parametrize("model", MODELS)
def test_every_guard_of_a_model_is_taken_away_once(model: str) -> None:
    """A guard is a switch whose line in the model's head says what keeps it."""
    guards = re.findall(r"^#ifndef (\w+) +/\*", (PROOFS / f"{model}.pml").read_text("utf-8"), re.MULTILINE)
    taken = {each for row in ROWS if row.model == model and not row.holds for each in row.switches.split()}
    assert guards
    assert [guard for guard in guards if f"-D{guard}=0" not in taken] == []


def test_the_readme_shows_every_row_and_no_other() -> None:
    lines = [line for line in README.splitlines() if re.search(r"\| (holds|fails) \|", line)]
    shown = [re.sub(r"\| [\d,]* \|", "|  |", line) for line in lines]
    assert shown == [check.as_line(row, None) for row in ROWS]
    assert {row.model for row in ROWS} == set(MODELS)


def test_a_search_that_is_cut_short_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "DEPTH_MAX", 20)
    with pytest.raises(check.Unchecked, match="max search depth too small"):
        check.check(Row("group", "", True, ""))


def test_a_model_that_cannot_be_read_is_not_taken_for_one_that_fails() -> None:
    with pytest.raises(check.Unchecked):
        check.check(Row("group", "-DREVERSE=}", False, ""))


def test_a_row_that_comes_out_otherwise_ends_the_check_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "ROWS", (Row("group", "-DREVERSE=0", True, "not so"),))
    assert check.main(["group"]) == 1
    assert "WRONG: fails" in capsys.readouterr().out
    assert check.main(["no such model"]) == 1
