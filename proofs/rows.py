"""What is checked: each model with its guards, and without each of them."""

from collections.abc import Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """A model, its switches, what must come out, and what that says. Large ones run with `make proofs`."""

    model: str
    switches: str
    holds: bool
    why: str
    large: bool = False

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else "fails"

    def __str__(self) -> str:
        return " ".join((self.model, *(each.removeprefix("-D") for each in self.switches.split())))


def _rows(model: str, holds: bool, large: bool, cases: dict[str, str]) -> Iterator[Row]:
    for switches, why in cases.items():
        yield Row(model, " ".join(f"-D{each}" for each in switches.split()), holds, why, large)


def _model(
    model: str, *, holds: dict[str, str], fails: dict[str, str], large: dict[str, str]
) -> tuple[Row, ...]:
    return (
        *_rows(model, True, False, holds),
        *_rows(model, False, False, fails),
        *_rows(model, True, True, large),
    )


STEP = _model(
    "step",
    holds={
        "TOMBSTONE=1": "keyed, with tombstones: repeated and undone at once",
        "TOMBSTONE=1 FREEZES=1": "a frozen process too: its late call is refused by the tombstone",
        "": "keyed: the undo waits until no call can land",
        "PROBE=1": "keyed, with a probe beside",
        "KEYED=0 PROBE=1": "no keys, a probe: it waits, asks, and only then repeats or undoes",
        "KEYED=0": "neither: never repeated, never undone in doubt, a person is asked",
        "FREEZES=1 FAULTS=0": "keyed, frozen past the wait-out: the late answer is evidence, and undone",
        "PROBE=1 FREEZES=1 FAULTS=0": "the same with a probe: evidence outweighs a probe that says absent",
        "KEYED=0 FREEZES=1": "neither: there is no second call that a late one could meet",
    },
    fails={
        "TOMBSTONE=1 FENCE=0": "an old booking's answer passes for the answer to the undo",
        "KEY_STAYS=0": "a key for each attempt: booked twice",
        "DOUBT_STAYS=0": "a refused retry is believed, while the first call still lands",
        "WAITS_OUT=0": "the undo finds nothing, then the call lands: an orphan",
        "PROBE=1 WAITS_OUT=0": "the probe says absent while the call flies: an orphan",
        "KEYED=0 PROBE=1 WAITS_OUT=0": "and without keys the same",
        "HONOURS_KEYS=0": "declared keyed, and is not: booked twice",
        "TOMBSTONE=1 LEAVES_TOMBSTONES=0": "declared to leave tombstones, and does not: an orphan",
        "FREEZES=1 FAULTS=0 EVIDENCE=0": "frozen past the wait-out, late answers thrown away: an orphan",
        "FREEZES=1 FAULTS=0 NEW_ROUND=0": "undone again under the old key: a replayed answer, and it stays",
        "FREEZES=1": "**bound**: frozen past the wait-out, and its late answer is lost as well: an orphan",
        "KEYED=0 PROBE=1 FREEZES=1 FAULTS=0": "**bound**: frozen past the wait-out, no keys: booked twice",
    },
    large={
        "TOMBSTONE=1 RETRIES=2 EARLY=3 FAULTS=2": "larger bounds",
        "RETRIES=2 EARLY=3": "larger bounds",
        "KEYED=0 PROBE=1 RETRIES=2 EARLY=3": "larger bounds",
    },
)

SUBMIT = _model(
    "submit",
    holds={
        "": "two submissions, two cancels, one completion; a lost answer, a death",
    },
    fails={
        "UNIQUE=0": "two tasks of one id",
        "CONDITIONAL=0": "cancelled and completed",
        "TELLS_AFTER=0": "acknowledged, and gone with the process",
        "READS_AGAIN=0 LOST_MEANS=0": "a lost answer held for a failure: told no, and it stands",
        "READS_AGAIN=0 LOST_MEANS=1": "a lost answer held for success: told yes, and it is nowhere",
        "BY_ROW=0": "read again from the head, which is another writer's by now: told no, and it stands",
        "DECIDES_AGAIN=0": "told no, because somebody else wrote something else",
        "SETTLES=0": "**bound**: a lost write is applied after the reading: told no, and it stands",
    },
    large={
        "LOSSES=3 DEATHS=3": "larger bounds",
        "LOSSES=2 DEATHS=2 CANCELS=3": "larger bounds",
    },
)

ROOMS = _model(
    "rooms",
    holds={
        "": "two engines; a call held for lost while it lives, a death",
    },
    fails={
        "CONDITIONAL=0": "two engines write over each other: settled twice",
        "FENCE=0": "the answer of a call held for lost passes for the answer to the undo",
        "UNCLAIMED=0": "one offer, two claims: one attempt, two calls",
        "COMMITS_FIRST=0": "a call that is on no record",
        "RELEASES=0": "the loser of a claim keeps its slot for ever",
        "NUMBERS_GROW=0": "two calls of one number",
    },
    large={
        "LEASES=2 DEATHS=0": "larger bounds",
        "SLOTS=2": "larger bounds",
    },
)

GROUP = _model(
    "group",
    holds={
        "": "three branches between two steps; refused, lost, stuck; a person settles it",
        "LOSSES=2 STICKS=2 REFUSALS=2 ACTS=2": "each of them twice",
    },
    fails={
        "REVERSE=0": "undone in the order it was done",
        "OPEN_CALLS_FIRST=0": "undone while a sibling's call is open",
        "TURN_HOLDS=0": "called after the turn",
        "PARK_STARTS_NOTHING=0": "called although a person is to decide first",
        "PARK_WAITS=0": "parked while a sibling's call is open",
        "STUCK_PARKS=0": "compensated, with an effect that could not be undone",
        "ONLY_CALLED=0": "undone though it was never called",
        "FEARED_TOO=0": "compensated, with an effect nobody was sure of",
        "ALONE=1": "no guard, but a claim to be refuted: branches are undone one after the other",
    },
    large={"LOSSES=3 STICKS=3 REFUSALS=3 ACTS=3": "larger bounds"},
)

RESTORED = _model(
    "restored",
    holds={
        "": "the last commit is lost: record and service agree, or the comparison lists where not",
        "FAILOVERS=0 COMPARES=0 ACKNOWLEDGED=1": "nothing lost: they agree, and what was acknowledged stands",
        "HONOURS_KEYS=0 FAULTS=0": "without keys it may be booked twice: listed",
    },
    fails={
        "COMPARES=0": "what is there without a record is nobody's",
        "AT_REST_ONLY=0": "compared too early: the lost call lands afterwards",
        "BOTH_WAYS=0": "on record as done, and a lost undo took it away",
        "ACKNOWLEDGED=1": "**bound**: an acknowledged cancel is lost",
        "ACKNOWLEDGED=1 CANCELS=0": "**bound**: an acknowledged submission is lost",
    },
    large={"LOST=2 EARLY=1": "larger bounds", "LOST=2 EARLY=2": "larger bounds"},
)

ROWS = STEP + SUBMIT + ROOMS + GROUP + RESTORED
