"""The Supervisor's witness: what this process has itself seen pass."""

from makegood.store.protocol import Stamp
from makegood.supervisor.witness import KEPT_MAX, Witness


def stamped(*stamps: tuple[int, float]) -> Witness:
    witness = Witness()
    for at, seen in stamps:
        witness.note(Stamp(at=at, seen=seen, round_trip=0.0))
    return witness


def test_a_span_has_passed_once_it_was_seen_to_pass() -> None:
    witness = stamped((1_000, 10.0))
    assert witness.left(since=1_000, span=3_000, monotonic=13.0) == 0
    assert witness.left(since=1_000, span=3_000, monotonic=12.5) == 0.5


def test_it_counts_from_a_stamp_that_is_not_older_than_the_decision() -> None:
    witness = stamped((1_000, 10.0), (900_000, 11.0))
    assert witness.left(since=2_000, span=3_000, monotonic=13.0) == 1.0


def test_without_such_a_stamp_all_of_it_is_left() -> None:
    """So it says when to look again, and nobody looks many times a second."""
    assert stamped((1_000, 10.0)).left(since=1_001, span=40_000, monotonic=99.0) == 40.0


def test_it_forgets_what_is_long_past_and_waits_no_shorter_for_it() -> None:
    witness = stamped(*((n * 1_000, float(n)) for n in range(KEPT_MAX + 2)))
    assert len(witness._at) < KEPT_MAX
    assert witness.left(since=1_001, span=5_000, monotonic=6.9) > 0


def test_the_stamp_of_a_claim_counts_though_another_came_just_before() -> None:
    """Else a wait-out would begin to count at the next look at the store, a second later."""
    witness = stamped((1_000, 10.0), (1_050, 10.05), (1_100, 10.1), (2_100, 11.1))
    assert abs(witness.left(since=1_100, span=3_000, monotonic=12.0) - 1.1) < 1e-9


def test_of_many_stamps_few_are_kept() -> None:
    witness = stamped(*((n, n / 1_000) for n in range(10_000)))
    assert len(witness._at) < 110
    assert all(witness.left(since=n, span=0, monotonic=n / 1_000) <= 0.2 for n in range(10_000))
