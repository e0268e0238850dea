"""Check every model to its last state: with its guards it must hold, without one of them it must fail.

    python -m proofs.check            all rows, the larger bounds too, two at a time
    python -m proofs.check step       the rows of one model
    python -m proofs.check --table    the same, as the table that stands in the README

Every state is kept in full: no reduction, no hashing, no bound on the depth that the search meets.
Ends with 1 when a row comes out otherwise than it says.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from proofs.rows import ROWS, Row
from tests.tools import tool

FOLDER = Path(__file__).parent
MEGABYTES_MAX = 4_000
DEPTH_MAX = 100_000
COMPILED = ("-w", "-DSAFETY", "-DNOREDUCE", "-DVECTORSZ=4096", f"-DMEMLIM={MEGABYTES_MAX}")
VIOLATED = re.compile(r"assertion violated|invalid end state \(at depth")
CUT_SHORT = re.compile(
    r"max search depth too small|out of memory|aborting|limit exceeded|VECTORSZ|not possible"
)


class Unchecked(Exception):
    """The search of a model was cut short, or could not begin: nothing is known."""


class Found(NamedTuple):
    holds: bool
    states: int
    seconds: float


def check(row: Row) -> Found:
    """Search all that a row's model can do, or as far as its first fault. Raises Unchecked, ToolMissing."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        said = _search(row, Path(folder))
    violated = VIOLATED.search(said) is not None
    states, errors = re.search(r"(\d+) states, stored", said), re.search(r"errors: (\d+)", said)
    if states is None or errors is None or (int(errors[1]) > 0) != violated or _cut_short(said, violated):
        raise Unchecked(f"{row}: the search did not come to its end:\n{said}")
    return Found(not violated, int(states[1]), time.monotonic() - begun)


def _cut_short(said: str, violated: bool) -> bool:
    ends = [line for line in said.splitlines() if not (violated and line.startswith("pan:1:"))]
    return CUT_SHORT.search("\n".join(ends)) is not None


def _search(row: Row, folder: Path) -> str:
    """What the checker that spin makes of the model says."""
    optimised = "-O2" if row.large else "-O0"
    _run(folder, str(tool("spin")), "-a", *row.switches.split(), str(FOLDER / f"{row.model}.pml"))
    _run(folder, "gcc", optimised, *COMPILED, "-o", "pan", "pan.c")
    return _run(folder, "./pan", f"-m{DEPTH_MAX}", "-w22")


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=3600)
    if done.returncode:
        raise Unchecked(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def as_line(row: Row, found: Found | None) -> str:
    """A row of the README's table."""
    states = "" if found is None else f"{found.states:,}"
    switches = " ".join(f"`{each.removeprefix('-D')}`" for each in row.switches.split())
    return f"| {row.model} | {switches} | {row.verdict} | {states} | {row.why} |"


def main(arguments: Sequence[str]) -> int:
    table = "--table" in arguments
    models = {each for each in arguments if not each.startswith("-")}
    rows = [row for row in ROWS if not models or row.model in models]
    wrong = 0
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for row, found in zip(rows, pool.map(check, rows), strict=True):
            wrong += found.holds != row.holds
            print(as_line(row, found) if table else _told(row, found), flush=True)
    print(f"{len(rows)} rows, {wrong} of them wrong", file=sys.stderr)
    return 1 if wrong or not rows else 0


def _told(row: Row, found: Found) -> str:
    right = "" if found.holds == row.holds else "WRONG: "
    verdict = right + ("holds" if found.holds else "fails")
    return f"{row!s:60} {verdict:12} {found.states:>12,} states {found.seconds:>7.1f} s   {row.why}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
