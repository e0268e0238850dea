"""python -m tests.mutants: the simulation is tested: it must find each mutant within its seed budget.

python -m tests.mutants                    all of them; exits 1 when one lives
python -m tests.mutants fence "lost commit"  those whose name holds one of these
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import makegood.errors
from tests.mutants.catalogue import MUTANTS, Mutant

PACKAGE = Path(makegood.errors.__file__).parent
WORKERS = os.cpu_count() or 1
PATIENCE = 1800
"""Seconds that a hunt may take on a busy machine; what is not found by then lives."""


class Hunt(NamedTuple):
    """What came of a mutant: `found` is the first complaint, empty when it lives."""

    mutant: Mutant
    found: str
    seconds: float


def hunt(mutant: Mutant) -> Hunt:
    """Play storms on a copy of the package with this fault in it, until one goes wrong."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGE, Path(folder) / "makegood", ignore=shutil.ignore_patterns("__pycache__"))
        put_in(mutant, Path(folder) / "makegood")
        found = _first_complaint(mutant, folder)
    return Hunt(mutant, found, time.monotonic() - begun)


def put_in(mutant: Mutant, package: Path) -> None:
    """Put the fault into a copy of the package. Raises AssertionError when its line is not there, once."""
    source = package / mutant.file
    text = source.read_text("utf-8")
    assert text.count(mutant.line) == 1, f"{mutant.name}: {mutant.file} has no such line, or several"
    source.write_text(text.replace(mutant.line, mutant.instead), "utf-8")


def _first_complaint(mutant: Mutant, folder: str) -> str:
    command = [sys.executable, "-m", "makegood.testing.simulation"]
    if mutant.plan:
        command[-1] += ".boundaries"
        command += ["--plan", mutant.plan]
    else:
        command += ["--stop", "--seeds", f"{mutant.seeds}", *["--sqlite"] * mutant.sqlite]
    try:
        ended = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return ""
    if ended.returncode == 0:
        return ""
    complaints = [line for line in ended.stderr.splitlines() if "went wrong" in line]
    assert complaints, f"it cannot even run:\n{ended.stderr[-3000:]}"
    return complaints[0]


def chosen(words: list[str]) -> list[Mutant]:
    """The mutants whose name holds one of the words; all, when there are none."""
    return [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]


def hunts(mutants: list[Mutant]) -> Iterator[Hunt]:
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(hunt, mutants)


def main() -> int:
    lives = 0
    for mutant, found, seconds in hunts(chosen(sys.argv[1:])):
        lives += not found
        print(f"{'found' if found else 'LIVES'} {seconds:5.0f} s  {mutant.name}: {found:.110}", flush=True)
    print(f"{lives} of {len(chosen(sys.argv[1:]))} live")
    return 1 if lives else 0


if __name__ == "__main__":
    sys.exit(main())
