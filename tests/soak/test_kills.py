"""Engines, services and clients are killed and frozen at random moments; the services know best."""

import re
import tempfile
from pathlib import Path

import pytest

from tests.soak.chaos import Dose
from tests.soak.outcome import Outcome, line
from tests.soak.runs import kills

SEED = 2026
DOSE = Dose(kills=100, freezes=12)
SMALL = Dose(kills=10, freezes=0, ends=0, outages=0, client_kills=0, engines=2, clients=1)


def test_a_hundred_kills_and_a_dozen_freezes_break_no_promise() -> None:
    outcome = kills(SEED, DOSE)
    assert outcome.broken == [], line(outcome)
    assert (outcome.counts["kills"], outcome.counts["freezes"]) == (DOSE.kills, DOSE.freezes)
    assert outcome.counts["Completed"] > 20
    assert outcome.counts["Compensated"] > 10
    assert outcome.counts["calls cut off"] > DOSE.kills / 2, "the kills hit next to nothing"
    assert outcome.counts["client kills"] > 0
    assert outcome.counts["outages"] > 0


def has_doubles(outcome: Outcome) -> bool:
    return any(re.match("double: (flight|hotel) ", words) for words in outcome.broken)


def test_services_that_know_no_keys_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten kills may all miss the moments that matter; those of three worlds do not."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    worlds = (kills(seed, SMALL, options=("--keys", "off")) for seed in range(SEED, SEED + 3))
    outcome = next(filter(has_doubles, worlds))
    assert "submitted: " in outcome.story
    assert (Path(outcome.kept) / "tasks.db").exists()
