"""What is well or not with the file of a store."""

from collections.abc import Iterator

from makegood.health.line import Line, broken, ok, warn
from makegood.health.place import Place

MAGIC = b"SQLite format 3\0"
JOURNAL_AT, WAL = 18, b"\x02\x02"
OTHERS_MAY_WRITE = 0o002
OTHERS_MAY_READ = 0o004

FREE_MIN, FREE_LITTLE = 64 << 20, 1 << 30
"""Bytes: below the first a checkpoint may not fit any more; below the second it is time to make room."""
LOG_LARGE = 256 << 20
"""Bytes; the log is moved into the file at 16 MB, unless a reader that never ends keeps it."""

NETWORKED = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "ncpfs")
)
FLEETING = frozenset(("tmpfs", "ramfs"))


def lines_of_place(place: Place) -> Iterator[Line]:
    """All that can be said of the file without opening it as a database."""
    if place.size and not place.header.startswith(MAGIC):
        yield broken("file", f"{place.path} is not a SQLite file", "name another one with --store")
        return
    yield ok("file", f"{place.path}, {_bytes(place.size)}")
    yield from (_journal(place), _disk(place), _file_system(place), _permissions(place))


def _journal(place: Place) -> Line:
    if place.size and place.header[JOURNAL_AT : JOURNAL_AT + 2] != WAL:
        return warn(
            "journal",
            "not in WAL mode: something else than makegood has set it",
            "leave the file to makegood, which sets it when it next opens the store",
        )
    if place.log_size > LOG_LARGE:
        return warn(
            "journal",
            f"the write-ahead log has {_bytes(place.log_size)}: a reader keeps it from being moved into "
            "the file",
            "end what reads the file for long (a backup, sqlite3 in a terminal)",
        )
    return ok("journal", f"write-ahead log, {_bytes(place.log_size)}")


def _disk(place: Place) -> Line:
    told = f"{_bytes(place.free)} free"
    if place.free < FREE_MIN:
        return broken("disk", told, "make room: on a full disk nothing is recorded, and so nothing is called")
    if place.free < FREE_LITTLE:
        return warn("disk", told, "make room")
    return ok("disk", told)


def _file_system(place: Place) -> Line:
    kind = place.file_system
    if kind in NETWORKED or kind.startswith("fuse."):
        return warn(
            "file system",
            f"{kind}: locks and the write-ahead log are not safe between the machines of a network",
            "put the store on a local disk, and every process that uses it on that machine",
        )
    if kind in FLEETING:
        return warn("file system", f"{kind}: gone when the machine stops", "put the store on a disk")
    return ok("file system", kind or "the system does not tell")


def _permissions(place: Place) -> Line:
    told = f"{place.mode:03o}"
    if not place.writable or not place.folder_writable:
        what = place.path if not place.writable else "its folder"
        return broken("permissions", f"{told}: this user may not write {what}", "let this user write both")
    if place.mode & OTHERS_MAY_WRITE:
        return warn("permissions", f"{told}: any user may change what is recorded", f"chmod o-w {place.path}")
    if place.mode & OTHERS_MAY_READ:
        return ok("permissions", f"{told}: any user may read what is recorded; chmod 600 if that is too much")
    return ok("permissions", told)


def _bytes(size: int) -> str:
    """A size as a person says it: 12 kB, 3.4 MB, 80 GB."""
    for unit, up_to in (("kB", 1e6), ("MB", 1e9)):
        if size < up_to:
            return f"{size / up_to * 1000:.3g} {unit}"
    return f"{size / 1e9:.4g} GB"
