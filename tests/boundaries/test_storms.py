"""Storms: worlds put together by chance, with everything that can go wrong.

MAKEGOOD_STORMS=10000 plays more of them, from MAKEGOOD_STORM_FROM on; some are played on real SQLite files.
One again, with its story, or many and their sum: python -m makegood.testing.simulation --help
"""

import os

import pytest

from makegood.testing.simulation.__main__ import CHUNK, Chunk

STORMS = int(os.environ.get("MAKEGOOD_STORMS", "1500"))
FROM = int(os.environ.get("MAKEGOOD_STORM_FROM", "0"))
ON_SQLITE = 100


@pytest.mark.parametrize("first", range(FROM, FROM + STORMS, CHUNK))
def test_storms(first: int) -> None:
    totals, wrong = Chunk(FROM + STORMS)(first)
    assert not wrong
    assert totals.injected > 10 * totals.seeds


@pytest.mark.parametrize("first", range(0, ON_SQLITE, CHUNK))
def test_storms_on_sqlite(first: int) -> None:
    _, wrong = Chunk(ON_SQLITE, sqlite=True)(first)
    assert not wrong
