"""A store is named by its URL."""

from pathlib import Path

import pytest

from makegood.errors import StoreError
from makegood.store.memory import MemoryStore
from makegood.store.sqlite import SqliteStore
from makegood.store.url import DEFAULT_URL, open_store


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (DEFAULT_URL, "makegood.db"),
        ("sqlite:///data/trips.db", "data/trips.db"),
        ("sqlite:////var/trips.db", "/var/trips.db"),
        ("sqlite:///a b%20c?d.db", "a b%20c?d.db"),
    ],
)
def test_a_sqlite_url_names_a_file(url: str, path: str) -> None:
    store = open_store(url)
    assert isinstance(store, SqliteStore)
    assert store.path == Path.cwd() / path


def test_memory_is_a_store_of_its_own_each_time() -> None:
    assert isinstance(open_store("memory:"), MemoryStore)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://user:secret@host/db", "^postgresql stores are not in this version"),
        ("mysql://user:secret@host/db", "mysql: names no store; .*sqlite:///relative.db"),
        ("trips.db", "trips.db names no store"),
        ("", "names no store"),
        ("memory:x", "memory: names no store"),
        ("sqlite:", "names no file; write sqlite:///"),
        ("sqlite://trips.db", "names no file; write sqlite:///"),
        ("sqlite:///", "names no file; write sqlite:///"),
        ("sqlite:///:memory:", "write memory:"),
    ],
)
def test_what_names_no_store_is_refused_in_words(url: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)
