"""The yard: whatever a test starts in it is ended with the test, also when it fails."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.yard import Yard


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[Yard]:
    yard = Yard(tmp_path)
    try:
        yield yard
    finally:
        yard.close()
