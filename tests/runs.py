"""The runs that are counted: docs/runs.jsonl, a line each, and what they add up to.

python -m makegood.testing.simulation --from 500000 --seeds 20000 --json >> docs/runs.jsonl
python -m tests.runs     # the table of docs/reliability.md
"""

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "docs" / "runs.jsonl"
YEAR = 365.25 * 86_400
DEATHS = ("DIE_BEFORE", "DIE_AFTER", "DIE_AND_LATE")


def runs() -> list[dict[str, Any]]:
    """Every run that was recorded, the oldest first."""
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def table() -> str:
    """What the runs of the newest engine add up to, as a table in Markdown."""
    engine = runs()[-1]["engine"]
    counted = [run for run in runs() if run["engine"] == engine]
    lines = [f"| engine `{engine}` | so far |", "|---|---|"]
    for store in ("memory", "sqlite"):
        if mine := [run for run in counted if run["store"] == store]:
            lines.append(f"| seeds, {store} | {sum(run['seeds'] for run in mine):,}: {ranges(mine)} |")
    sums = {name: sum(run[name] for run in counted) for name in ("tasks", "injected", "seconds", "wrong")}
    deaths = sum(run["faults"].get(death, 0) for run in counted for death in DEATHS)
    lines += [
        f"| tasks | {sums['tasks']:,} |",
        f"| faults injected | {sums['injected']:,}, {deaths:,} of them deaths |",
        f"| virtual years | {sums['seconds'] / YEAR:.1f} |",
        f"| worlds that went wrong | {sums['wrong']} |",
    ]
    return "\n".join(lines)


def ranges(counted: list[dict[str, Any]]) -> str:
    """The seeds of some runs, adjoining ones together."""
    spans: list[list[int]] = []
    for run in sorted(counted, key=lambda run: int(run["first"])):
        if spans and spans[-1][1] == run["first"]:
            spans[-1][1] += run["seeds"]
        else:
            spans.append([run["first"], run["first"] + run["seeds"]])
    return ", ".join(f"{first} to {end - 1}" for first, end in spans)


if __name__ == "__main__":
    print(table())
