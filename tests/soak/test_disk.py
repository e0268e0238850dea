"""Disks fail under the engines: nothing acknowledged is lost, nothing done twice, and it is clearly said."""

import pytest

from tests.soak.outcome import line
from tests.soak.runs import DISKS

SEED = 2026
IN_SHORT = ("sync errors", "write errors", "full disk", "replaced", "read-only file", "torn log")
"""The others are for `make soak`."""


@pytest.mark.parametrize("ill", IN_SHORT)
def test_a_failing_disk_costs_time_only(ill: str) -> None:
    outcome = DISKS[f"disk: {ill}"](SEED)
    assert outcome.broken == [], line(outcome)
    assert outcome.counts["Completed"] > 20
    assert outcome.counts["Compensated"] > 2
