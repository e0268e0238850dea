"""Writes that fail under the real SQLite: its call to pwrite is replaced, as SQLite's own tests do it."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_PWRITE = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64, use_errno=True
)


@contextmanager
def broken_disk(code: int, *, good_writes: int = 0) -> Iterator[None]:
    """After some good writes, every write of SQLite in this process fails with an errno."""
    left = good_writes

    def pwrite(descriptor: int, data: int, size: int, offset: int) -> int:
        nonlocal left
        if left:
            left -= 1
            return os.pwrite(descriptor, ctypes.string_at(data, size), offset)
        ctypes.set_errno(code)
        return -1

    replacement = _PWRITE(pwrite)
    address = ctypes.cast(replacement, ctypes.c_void_p).value
    assert address is not None
    system = apsw.VFS("breakable", "unix")
    name = "pwrite64"
    try:
        assert system.xSetSystemCall(name, address)
        yield
    finally:
        system.xSetSystemCall(name, 0)
        system.unregister()
