"""The Supervisor's witness: what this process has itself seen pass."""

from makegood.desk import FRESH
from makegood.store.protocol import Stamp
from makegood.supervisor.witness import KEPT_MAX, Witness


def marked(*marks: tuple[int, float]) -> Witness:
    """A witness that read these marks at these seconds, by a clock that was ten years ahead of them."""
    witness = Witness()
    for mark, seen in marks:
        witness.note(Stamp(at=mark + 315_360_000_000, seen=seen, round_trip=0.0, mark=mark))
    return witness


def test_a_span_has_passed_once_it_was_seen_to_pass() -> None:
    witness = marked((1_001, 10.0))
    assert witness.left(since=1_000, span=3_000, monotonic=13.0 + FRESH) == 0
    assert witness.left(since=1_000, span=3_000, monotonic=12.5 + FRESH) == 0.5


def test_it_counts_from_a_mark_that_is_newer_than_the_decision() -> None:
    witness = marked((1_000, 10.0), (900_000, 11.0))
    assert witness.left(since=2_000, span=3_000, monotonic=13.0 + FRESH) == 1.0


def test_a_mark_of_the_very_moment_may_have_stood_long_before() -> None:
    assert marked((1_000, 10.0)).left(since=1_000, span=3_000, monotonic=99.0) == 3.0 + FRESH


def test_without_such_a_mark_all_of_it_is_left() -> None:
    """So it says when to look again, and nobody looks many times a second."""
    assert marked((1_000, 10.0)).left(since=1_001, span=40_000, monotonic=99.0) == 40.0 + FRESH


def test_it_forgets_what_is_long_past_and_waits_no_shorter_for_it() -> None:
    witness = marked(*((n * 1_000, float(n)) for n in range(KEPT_MAX + 2)))
    assert len(witness._marks) < KEPT_MAX
    assert witness.left(since=1_001, span=5_000, monotonic=6.9) > 0


def test_the_mark_of_a_claim_counts_though_another_came_just_before() -> None:
    """Else a wait-out would begin to count at the next look at the store, a second later."""
    witness = marked((1_000, 10.0), (1_050, 10.05), (1_101, 10.1), (2_100, 11.1))
    assert abs(witness.left(since=1_100, span=3_000, monotonic=12.0) - 1.1 - FRESH) < 1e-9


def test_of_many_marks_few_are_kept() -> None:
    witness = marked(*((n, n / 1_000) for n in range(10_000)))
    assert len(witness._marks) < 110
    assert all(witness.left(since=n, span=0, monotonic=n / 1_000) <= 0.2 + FRESH + 1e-9 for n in range(9_900))
