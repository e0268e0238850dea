"""The tests are tested: each mutant of the core is killed by the test that it names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import makegood.errors
from tests.core.mutants import MUTANTS, Mutant

PACKAGE = Path(makegood.errors.__file__).parent
ROOT = Path(__file__).parent.parent.parent
KILLED = 3
"""The exit code where the test ran and failed; a mutant that cannot even be imported is not killed by it."""

RUN = f"""
import importlib, sys
name, test, *given = sys.argv[1].split(":")
test = getattr(importlib.import_module("tests.core." + name), test)
try:
    test(*(int(each) if each.isdigit() else each for each in given))
except BaseException as error:
    print(repr(error))
    sys.exit({KILLED})
"""


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The package, to be changed."""
    shutil.copytree(PACKAGE, tmp_path / "makegood", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.name.replace(" ", "_") for mutant in MUTANTS])
def test_the_mutant_is_killed(mutant: Mutant, copied: Path) -> None:
    source = copied / "makegood" / "core" / mutant.file
    text = source.read_text("utf-8")
    assert text.count(mutant.line) == 1, f"{mutant.file} has no such line, or several"
    source.write_text(text.replace(mutant.line, mutant.instead), "utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", RUN, mutant.killer],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{copied}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == KILLED, f"it lives\n{ended.stdout}\n{ended.stderr}"


def test_the_killers_are_there() -> None:
    names = {mutant.name for mutant in MUTANTS}
    assert len(names) == len(MUTANTS) >= 30
    for mutant in MUTANTS:
        module, test, *_ = mutant.killer.split(":")
        assert f"def {test}(" in (ROOT / "tests" / "core" / f"{module}.py").read_text("utf-8")
