"""What a run came to: counted, told, kept as a line of JSON, and added up over many runs."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

import makegood

COUNTED = (
    *("kills", "freezes", "ends", "outages", "client kills", "jumps", "errors told"),
    *("tasks", "Completed", "Compensated", "Failed"),
    *("calls", "calls hit", "calls cut off", "late reports", "effects", "late effects", "booked again"),
)
LATE, BROKEN = "late, and seen", "broken"


def _code() -> str:
    """A digest of the engine's code: what was true of one engine says nothing of another."""
    package = Path(makegood.__file__).parent
    files = sorted(file for file in package.rglob("*") if file.suffix in (".py", ".sql"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


CODE = _code()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `broken` and `late` are a Verdict's, in words."""

    kind: str
    seed: int
    seconds: float
    counts: dict[str, int]
    code: str = CODE
    """The engine that it was."""
    broken: list[str] = []
    late: list[str] = []
    kept: str = ""
    """Where store, ledgers and logs of a run with something to look at are."""
    story: str = ""
    """The history of the first task with something broken."""

    @property
    def family(self) -> str:
        return self.kind.partition(":")[0]


def line(outcome: Outcome) -> str:
    """A run in a line, and below it what is wrong."""
    counts = outcome.counts
    told = ", ".join(f"{counts[name]} {name}" for name in COUNTED if counts.get(name))
    lines = [f"{outcome.kind}, seed {outcome.seed}, {outcome.seconds:.0f} s: {told}"]
    lines += [f"  BROKEN {words}" for words in outcome.broken]
    lines += [f"  too late, and seen: {words}" for words in outcome.late]
    lines += [f"  everything is in {outcome.kept}"] if outcome.kept else []
    return "\n".join(lines + ([outcome.story] if outcome.story else []))


def keep(outcome: Outcome, file: Path) -> None:
    """Add a run to a file of runs."""
    file.parent.mkdir(exist_ok=True)
    with file.open("ab") as runs:
        runs.write(msgspec.json.encode(outcome) + b"\n")


def kept(file: Path) -> list[Outcome]:
    """The runs in a file that were of this code; none where there is no file."""
    lines = file.read_bytes().splitlines() if file.exists() else []
    runs = [msgspec.json.decode(each, type=Outcome) for each in lines]
    return [run for run in runs if run.code == CODE]


def total(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """The sums over many runs."""
    sums: Counter[str] = Counter()
    for outcome in outcomes:
        sums.update(outcome.counts)
        sums.update(runs=1, seconds=round(outcome.seconds))
        sums.update({LATE: len(outcome.late), BROKEN: len(outcome.broken)})
    return {name: sums[name] for name in ("runs", "seconds", *COUNTED, LATE, BROKEN)}


def totals(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """The sums for each family of runs, and for all of them."""
    families = sorted({outcome.family for outcome in outcomes})
    sums = {family: total(o for o in outcomes if o.family == family) for family in families}
    return sums | {"all": total(outcomes)}


def seeds(outcomes: Sequence[Outcome]) -> dict[str, list[int]]:
    """The seeds that each kind of run had."""
    kinds = sorted({outcome.kind for outcome in outcomes})
    return {kind: sorted(o.seed for o in outcomes if o.kind == kind) for kind in kinds}


def table(outcomes: Sequence[Outcome]) -> str:
    """The sums, a column for each family of runs and one for all; then the seeds."""
    columns = totals(outcomes)
    rows = [" " * 16 + "".join(f"{name:>12}" for name in columns)]
    rows += [
        f"{name:16}" + "".join(f"{sums[name]:12,}" for sums in columns.values()) for name in columns["all"]
    ]
    told = [f"{kind}: seeds {s[0]} to {s[-1]}, {len(s)} runs" for kind, s in seeds(outcomes).items()]
    return "\n".join([*rows, "", *told, f"all of them with the engine {CODE}"])
