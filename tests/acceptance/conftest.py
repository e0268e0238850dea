"""The yard: whatever a test starts in it is ended with the test, also when it fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.yard import FULL, Yard

FULL_SECONDS_MAX = 1800


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    yard = Yard(tmp_path)
    try:
        yield yard
    finally:
        yard.close()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Larger numbers take longer than a test may otherwise take."""
    for item in items:
        if FULL and item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(FULL_SECONDS_MAX))
