"""The sharpest mutants are found whenever the tests run; `make mutants` hunts all of them."""

import shutil
from pathlib import Path

import pytest

from tests.core.mutants import MUTANTS as OF_THE_CORE
from tests.mutants.__main__ import PACKAGE, hunt, put_in
from tests.mutants.catalogue import LIVES, MUTANTS, Mutant

SHARPEST = (
    "orders go out before the commit",
    "a lost commit reply is a success",
    "a stale change's orders go out",
    "the version is not in the fence",
    "a wait-out trusts the wall clock",
    "a slot is not given back",
    "nothing is due in the store",
    "attempt numbers restart with the undo",
    "the key lacks the task",
    "the wait-out before an undo is skipped",
    "undo in forward order",
    "undo only what is done and forget what is feared",
)


@pytest.mark.parametrize("name", SHARPEST)
def test_a_mutant_is_found(name: str) -> None:
    [mutant] = [mutant for mutant in MUTANTS if mutant.name == name]
    assert hunt(mutant).found


def test_a_mutant_that_changes_nothing_is_not_found() -> None:
    harmless = Mutant("harmless", "agenda.py", "import heapq\n", "import heapq  # as before\n", seeds=5)
    assert hunt(harmless).found == ""


def test_every_mutant_can_be_put_in(tmp_path: Path) -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(set(names)) == len(names) >= 40
    assert set(LIVES) <= {mutant.name for mutant in OF_THE_CORE}
    for number, mutant in enumerate(MUTANTS):
        package = tmp_path / str(number)
        (package / mutant.file).parent.mkdir(parents=True)
        shutil.copy(PACKAGE / mutant.file, package / mutant.file)
        put_in(mutant, package)
