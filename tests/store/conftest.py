"""What tests of SQLite files need."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from makegood.testing.conformance import Run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


@pytest.fixture
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run
