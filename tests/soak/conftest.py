"""A run of the soak may take longer than a test otherwise does: it waits for leases, and for wait-outs."""

from pathlib import Path

import pytest

SECONDS_MAX = 300


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(SECONDS_MAX))
