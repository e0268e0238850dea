"""The file of a store and what it lies on, as the system sees them; SQLite itself is not asked."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

HEADER = 100
"""Bytes at the beginning of every SQLite file that say what it is."""
MOUNTS = Path("/proc/self/mountinfo")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """`size` and `log_size` in bytes, `free` on its disk; `mode` its permissions; `file_system` ""
    where the system does not tell."""

    path: str
    size: int
    log_size: int
    header: bytes
    free: int
    mode: int
    writable: bool
    folder_writable: bool
    file_system: str


def look_at(path: Path) -> Place:
    """The file as it is now. Raises OSError where there is none, or it may not be read."""
    path = path.absolute()
    with path.open("rb") as file:
        header = file.read(HEADER)
    found = path.stat()
    log = path.with_name(f"{path.name}-wal")
    return Place(
        path=str(path),
        size=found.st_size,
        log_size=log.stat().st_size if log.exists() else 0,
        header=header,
        free=shutil.disk_usage(path.parent).free,
        mode=found.st_mode & 0o777,
        writable=os.access(path, os.W_OK),
        folder_writable=os.access(path.parent, os.W_OK),
        file_system=file_system_of(path.resolve(), _mounts()),
    )


def _mounts() -> list[str]:
    """The table of mounts, a line each; none where the system does not tell."""
    try:
        return MOUNTS.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def file_system_of(path: Path, mounts: Iterable[str]) -> str:
    """The kind of file system on which a path lies, by the lines of a mountinfo; "" where none holds it."""
    depth, kind = 0, ""
    for line in mounts:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        mounted = Path(fields[4].encode().decode("unicode_escape"))
        if (
            path.is_relative_to(mounted) and len(mounted.parts) >= depth
        ):  # of two at one place the later holds
            depth, kind = len(mounted.parts), after.split()[0]
    return kind
