"""`python -m tests.soak`: kills, failing disks and wrong clocks in full size. `make soak` is this."""

import argparse
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.soak.chaos import Dose
from tests.soak.outcome import CODE, Outcome, keep, kept, line, seeds, table, totals
from tests.soak.runs import CLOCKS, DISKS, KILLS, Run


def main() -> int:
    """Do the runs asked for, but those that stand in the results already; 1 if a promise was broken."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    asked = arguments()
    results: Path = asked.results
    done = {(each.kind, each.seed): each for each in kept(results)}
    mine: list[Outcome] = []
    for kind, run, seed in runs(asked):
        if (kind, seed) not in done:
            done[kind, seed] = run(seed)
            keep(done[kind, seed], results)
            print(line(done[kind, seed]), file=sys.stderr, flush=True)
        mine.append(done[kind, seed])
    summary = {"engine": CODE, "seeds": seeds(mine), "totals": totals(mine)}
    print(msgspec.json.encode(summary).decode() if asked.json else table(mine))
    print(f"Every run is a line of {results}", file=sys.stderr)
    return 1 if any(outcome.broken for outcome in mine) else 0


def runs(asked: argparse.Namespace) -> Iterator[tuple[str, Run, int]]:
    """What to run: the kind, how, and the seed; kinds take turns, seeds go up."""
    for kinds, count in (
        (KILLS, -(-asked.kills // Dose().kills)),
        (DISKS, asked.disks),
        (CLOCKS, asked.clocks),
    ):
        named = list(kinds.items())
        for number in range(count):
            kind, run = named[number % len(named)]
            yield kind, run, asked.seed + number // len(named)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    dose = Dose()
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument(
        "--kills", type=int, default=2000, help=f"{dose.kills} a run, with {dose.freezes} freezes"
    )
    parser.add_argument("--disks", type=int, default=100, help="runs in which a disk fails")
    parser.add_argument("--clocks", type=int, default=100, help="runs in which clocks are wrong")
    parser.add_argument(
        "--results", type=Path, default=Path("build/soak.jsonl"), help="where each run is kept"
    )
    parser.add_argument("--json", action="store_true", help="the sums as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
