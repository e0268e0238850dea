"""`python -m bench`: every benchmark there is."""

import argparse

from bench.importing import import_seconds
from bench.trip import compare


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--tasks", type=int, default=6_000, help="tasks a run")
    parser.add_argument("--runs", type=int, default=3, help="runs, of which the medians are printed")
    options = parser.parse_args()
    ours, asyncio = import_seconds("makegood"), import_seconds("asyncio")
    print(f"import makegood: {ours:.3f} s of processor time, {ours / asyncio:.2f} of asyncio ({asyncio:.3f})")
    print("three-step tasks on SQLite, every transition durable")
    for in_flight, share in ((1, 20), (10, 4), (100, 1), (200, 1)):
        compare(options.tasks // share, in_flight, options.runs)


if __name__ == "__main__":
    main()
