"""Backoff: it grows, is capped, and jitter only adds; tries are counted as the policy says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makegood.core.document import Retry
from makegood.core.events import Reply
from makegood.core.record import Phase, TaskState
from makegood.core.retry import AFTER_PIVOT_CAP, JITTER_MAX, RETRY_AFTER_MAX, backoff
from makegood.testing.shorthand import KEYED, PIVOT, READS, series, step
from tests.core.scripts import Bench

POLICY = Retry()


def test_delays_double_up_to_the_cap() -> None:
    assert [backoff(POLICY, n, 0) for n in range(1, 9)] == [
        1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000,
    ]  # fmt: skip


@given(st.integers(1, 10_000), st.integers(-50, 2_000))
def test_jitter_only_adds_and_at_most_a_quarter(retries: int, jitter: int) -> None:
    least = backoff(POLICY, retries, 0)
    assert least <= backoff(POLICY, retries, jitter) <= least * (1000 + JITTER_MAX) // 1000
    assert least <= 60_000


def test_a_huge_count_is_the_cap_and_no_overflow() -> None:
    assert backoff(Retry(factor=10.0), 10**6, 0) == 60_000


def test_no_delay_is_no_delay() -> None:
    assert backoff(Retry(delay=0), 5, JITTER_MAX) == 0


def test_a_step_is_called_as_often_as_its_policy_says_with_the_gaps_it_says() -> None:
    bench = Bench(step("a", KEYED, retry={"attempts": 4, "delay": 2}))
    gaps = [bench.ends("a", Reply.TRANSIENT).due for _ in range(4)]
    assert gaps == [2_000, 4_000, 8_000, None]
    assert (bench.phase("a"), bench.head.reason) == (Phase.ABSENT, "a: out of tries")


def test_the_last_try_in_doubt_turns_a_keyed_step() -> None:
    bench = Bench(step("a", KEYED, retry={"attempts": 2})).ends("a", Reply.UNKNOWN).ends("a", Reply.UNKNOWN)
    assert (bench.phase("a"), bench.state) == (Phase.WAIT_OUT, TaskState.COMPENSATING)
    bench = Bench(step("a", READS, retry={"attempts": 1})).ends("a", Reply.UNKNOWN)
    assert (bench.phase("a"), bench.state) == (Phase.ABSENT, TaskState.COMPENSATED)


def test_jitter_comes_with_the_fact() -> None:
    bench = Bench(step("a", KEYED)).call("a")
    bench.report("a", Reply.TRANSIENT)
    bench.look(jitter=100)
    assert bench.due == 1_100


@pytest.mark.parametrize(("asked", "waited"), [(30_000, 30_000), (10, 1_000), (10**9, RETRY_AFTER_MAX)])
def test_retry_after_is_a_floor_up_to_a_day(asked: int, waited: int) -> None:
    bench = Bench(step("a", KEYED)).ends("a", Reply.TRANSIENT, retry_after=asked)
    assert bench.due == waited


def test_after_the_pivot_tries_do_not_end_and_the_cap_is_longer() -> None:
    bench = Bench(series(step("p", KEYED, PIVOT), step("a", KEYED, retry={"attempts": 1}))).done("p")
    for _ in range(15):
        bench.ends("a", Reply.TRANSIENT)
        assert bench.phase("a") is Phase.PLANNED
    assert bench.due == AFTER_PIVOT_CAP


def test_an_undo_has_its_own_policy() -> None:
    body = series(step("a", KEYED, undoRetry={"delay": 5, "cap": 7}), step("b", KEYED))
    bench = Bench(body).done("a").ends("b", Reply.REFUSED)
    gaps = []
    for _ in range(3):
        bench.ends("a", Reply.TRANSIENT)
        gaps.append(bench.due)
    assert gaps == [5_000, 7_000, 7_000]
