"""The SQLite store passes the suites."""

from functools import partial

import pytest

from makegood.store.sqlite import SqliteStore
from makegood.testing.conformance import NewData, StoreConformance
from makegood.testing.differential import AgreesWithMemory


class TestSqlite(StoreConformance, AgreesWithMemory):
    @pytest.fixture
    def new_data(self, tmp_path_factory: pytest.TempPathFactory) -> NewData:
        return lambda: partial(SqliteStore, tmp_path_factory.mktemp("data") / "tasks.db")
