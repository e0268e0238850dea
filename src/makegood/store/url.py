"""From a store's URL to the store."""

from makegood.clock import Clock
from makegood.errors import StoreError
from makegood.store.memory import MemoryStore
from makegood.store.protocol import Store
from makegood.store.sqlite import SqliteStore

DEFAULT_URL = "sqlite:///makegood.db"

KNOWN = "sqlite:///relative.db, sqlite:////absolute.db and memory:"


def open_store(url: str, *, clock: Clock | None = None) -> Store:
    """The store that a URL names, ready for `await store.open()`; raises StoreError where it names none.

    All after `sqlite:///` is the file's path, as it stands.
    """
    scheme, colon, rest = url.partition(":")
    match scheme:
        case "memory" if colon and not rest:
            return MemoryStore(clock=clock)
        case "sqlite" if colon:
            return SqliteStore(_sqlite_path(url, rest), clock=clock)
        case "postgres" | "postgresql" | "dynamodb":
            raise StoreError(f"{scheme} stores are not in this version of makegood; it knows {KNOWN}")
        case _:  # the rest of an URL may hold a password
            raise StoreError(f"{f'{scheme}{colon}' or 'an empty URL'} names no store; makegood knows {KNOWN}")


def _sqlite_path(url: str, rest: str) -> str:
    path = rest.removeprefix("///")
    if path == rest or not path:
        raise StoreError(f"{url!r} names no file; write sqlite:///relative.db or sqlite:////absolute.db")
    if path == ":memory:":
        raise StoreError(f"{url!r} would be a file of that name; write memory: for a store in memory")
    return path
