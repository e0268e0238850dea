"""python -m makegood.testing.simulation: play storms by their seeds, many or one.

--seeds 20000 --from 0 --workers 2     many; exits 1 when one went wrong, and names its seed
--seed 4711                            one, with its story; when it went wrong, the least that makes it so
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from makegood.testing.simulation.disks import SqliteDisk
from makegood.testing.simulation.shrinking import shrink
from makegood.testing.simulation.storms import storm
from makegood.testing.simulation.totals import Totals, engine
from makegood.testing.simulation.world import World, play

CHUNK = 100
Outcome = tuple[Totals, list[tuple[int, str]]]
"""What worlds add up to, and the seeds of those that went wrong, with their first complaint."""


def main() -> int:
    given = _parser().parse_args()
    if given.seed is not None:
        return one(given.seed)
    return many(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m makegood.testing.simulation",
        description="Plays simulated worlds in which everything goes wrong, and checks makegood's promises.",
    )
    parser.add_argument("--seed", type=int, help="play the world of this seed, and tell its story")
    parser.add_argument("--seeds", type=int, default=1000, help="how many worlds to play (default: 1000)")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes that play (default: 1)")
    parser.add_argument("--sqlite", action="store_true", help="on real SQLite files, not in memory")
    parser.add_argument("--stop", action="store_true", help="stop at the first world that goes wrong")
    parser.add_argument("--json", action="store_true", help="print the totals as JSON")
    return parser


def one(seed: int) -> int:
    """Play one world; when it goes wrong, shrink it. Returns the exit code."""
    world = play(storm(seed).world())
    shrunk = shrink(storm(seed)) if world.complaints else None
    if shrunk is None:
        totals = Totals()
        totals.count(world)
        print(f"seed {seed} is clean: {totals}")
        return 0
    print(f"seed {seed} goes wrong; after {shrunk.runs} runs the least that makes it do so is, with ")
    print(f"{shrunk.tasks} tasks and {world.engines} processes of {world.scenario.body}:")
    for each in [*shrunk.troubles, *shrunk.happenings]:
        print(f"    {each}")
    print(shrunk.world.story())
    return 1


def many(given: argparse.Namespace) -> int:
    """Play many worlds, and add them up. Returns the exit code."""
    totals, wrong = Totals(), 0
    end = given.first + given.seeds
    work = Chunk(end, sqlite=given.sqlite, stop=given.stop)
    for part, bad in _spread(work, range(given.first, end, CHUNK), given.workers):
        totals.add(part)
        wrong += len(bad)
        for seed, complaint in bad:
            print(f"seed {seed} went wrong: {complaint:.300}", file=sys.stderr, flush=True)
        if bad and given.stop:
            break
    if given.json:
        store = "sqlite" if given.sqlite else "memory"
        what = {"engine": engine(store), "store": store, "first": given.first}
        print(json.dumps(what | vars(totals) | {"injected": totals.injected, "wrong": wrong}))
    else:
        print(f"{totals}; {wrong} went wrong")
    return 1 if wrong else 0


def _spread(work: Callable[[int], Outcome], chunks: range, workers: int) -> Iterator[Outcome]:
    if workers == 1:
        yield from map(work, chunks)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(work, chunks)


class Chunk:
    """Plays the worlds of a hundred seeds; `stop`: only until one goes wrong."""

    def __init__(self, end: int, *, sqlite: bool = False, stop: bool = False) -> None:
        self._end = end
        self._sqlite = sqlite
        self._stop = stop

    def __call__(self, first: int) -> Outcome:
        totals, wrong = Totals(), []
        for seed in range(first, min(first + CHUNK, self._end)):
            world = self._played(seed)
            totals.count(world)
            if world.complaints:
                wrong.append((seed, world.complaints[0]))
                if self._stop:
                    break
        return totals, wrong

    def _played(self, seed: int) -> World:
        if not self._sqlite:
            return play(storm(seed).world())
        with tempfile.TemporaryDirectory() as folder:
            return play(storm(seed).world(SqliteDisk(Path(folder) / "makegood.db")))


if __name__ == "__main__":
    sys.exit(main())
