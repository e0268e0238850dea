"""A disk with no room left on it."""

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.store.broken_disk import broken_disk

TMPFS, MNT_DETACH = b"tmpfs", 2
SIZE = b"size=1m,mode=0700"


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of one megabyte, mounted there. Only root may mount; for anybody else it is a plain folder."""
    libc = ctypes.CDLL(None)
    folder.mkdir()
    if os.geteuid() != 0:
        yield
        return
    assert libc.mount(TMPFS, str(folder).encode(), TMPFS, 0, SIZE) == 0, f"{folder}: root cannot mount here"
    try:
        yield
    finally:
        libc.umount2(str(folder).encode(), MNT_DETACH)


@contextmanager
def no_room(folder: Path) -> Iterator[None]:
    """Take all the room that is left there. For anybody but root, SQLite's writes fail as if it were so."""
    if os.geteuid() != 0:
        with broken_disk(errno.ENOSPC):
            yield
        return
    ballast = folder / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    try:
        yield
    finally:
        ballast.unlink()
