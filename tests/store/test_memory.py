"""The memory store passes the suite. It is the reference of the other suite, `AgreesWithMemory`."""

from functools import partial

import pytest

from makegood.store.memory import MemoryFile, MemoryStore
from makegood.testing.conformance import NewData, StoreConformance


class TestMemory(StoreConformance):
    @pytest.fixture
    def new_data(self) -> NewData:
        return lambda: partial(MemoryStore, MemoryFile())
