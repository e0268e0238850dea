"""Wall clocks that are wrong by years, or jump: store time, leases and wait-outs hold all the same."""

import pytest

from tests.soak.outcome import line
from tests.soak.runs import CLOCKS

SEED = 2026


@pytest.mark.parametrize("kind", CLOCKS)
def test_wrong_clocks_break_no_promise(kind: str) -> None:
    outcome = CLOCKS[kind](SEED)
    assert outcome.broken == [], line(outcome)
    assert outcome.counts["kills"] == 2
    assert outcome.counts["Completed"] > 15
    assert outcome.counts["Compensated"] > 5
