"""Which files a process has open when it forks: to SQLite in the child their locks seem to be its own.

SQLite keeps a list of the locks of its process. A fork inherits the list, but not the locks: the child would
hold none, its parent would delete the log under it, and what the child commits then would be lost. See
"Carrying an open database connection across a fork()" in sqlite.org/howtocorrupt.html.
"""

import os
from collections import Counter
from pathlib import Path

from makegood.errors import StoreUnavailable

Identity = tuple[int, int]
"""A file's device and number there."""

NO_FILE: Identity = 0, 0

_open: Counter[Identity] = Counter()
_inherited: set[Identity] = set()


def identity_of(path: str | os.PathLike[str]) -> Identity:
    """Which file a path leads to; NO_FILE where none can be seen."""
    try:
        found = os.stat(path)
    except OSError:
        return NO_FILE
    return found.st_dev, found.st_ino


def refuse_inherited(path: Path) -> None:
    """Raise StoreUnavailable for a file that this process's parent had open when it forked."""
    if identity_of(path) in _inherited:
        raise StoreUnavailable(
            f"{path} was open in the process that this one was forked from, and SQLite cannot lock it here; "
            "open it only after the fork, in the parent too, or start a fresh process: "
            'multiprocessing.get_context("spawn"), say'
        )


def opened(identity: Identity) -> None:
    """One more connection of this process to a file."""
    _open[identity] += 1


def closed(identity: Identity) -> None:
    """One less."""
    _open[identity] -= 1
    if not _open[identity]:
        del _open[identity]


def _after_fork() -> None:
    _inherited.update(_open)
    _open.clear()


os.register_at_fork(after_in_child=_after_fork)
