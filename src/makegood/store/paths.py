"""Paths at which no database can be: found before SQLite is asked, which says less of them."""

import os
import re
from pathlib import Path

from makegood.errors import StoreUnavailable

NAME_BYTES_MAX, PATH_BYTES_MAX = 247, 504
"""What SQLite opens: it puts files beside a database, with names that are up to 8 bytes longer."""

MOUNTS = Path("/proc/self/mountinfo")
"""Where Linux lists what is mounted: the fifth word of a line is the place (proc(5))."""

SHOWN = 100
"""Characters that a message shows of a path that is too long."""


def absolute(path: str | os.PathLike[str]) -> Path:
    """A path from the root. Raises StoreUnavailable where there is no folder any more that it begins in."""
    try:
        return Path(path).absolute()
    except FileNotFoundError:
        raise StoreUnavailable(
            f"{_named(str(path))}: the folder that this process works in was deleted; go to another one"
        ) from None


def refuse_path(path: Path) -> None:
    """Raise StoreUnavailable for a path that SQLite cannot open, naming the reason and the way out."""
    reason = _illegible(str(path)) or _in_the_way(path)
    if reason:
        raise StoreUnavailable(f"{_named(str(path))}: {reason}")


def _illegible(path: str) -> str | None:
    try:
        raw = path.encode()
    except UnicodeEncodeError:
        return "its name is not valid Unicode, and SQLite opens no other; name another file"
    if b"\0" in raw:
        return "a file's name cannot hold a NUL character; name another file"
    if len(raw) > PATH_BYTES_MAX or max(map(len, raw.split(b"/"))) > NAME_BYTES_MAX:
        return (
            f"the path is too long: a name may have {NAME_BYTES_MAX} bytes, and {PATH_BYTES_MAX} with all "
            "its folders; name another file"
        )
    return None


def _in_the_way(path: Path) -> str | None:
    try:
        if path.is_dir():
            return "this is a folder; name a file in it"
        if path.exists() and not path.is_file():
            return "this is no plain file; name another one"
        if path.exists():
            return _apart_from_its_log(path)
        nearest = next(folder for folder in path.parents if folder.exists())
        if not nearest.is_dir():
            return f"{nearest} is a file, not a folder; name another file"
        if nearest != path.parent:
            return f"there is no folder {path.parent}; create it first"
    except OSError:  # what may not even be looked at; SQLite will say so
        pass
    return None


def _apart_from_its_log(path: Path) -> str | None:
    """Why processes could have two logs of one file: SQLite looks for the log by the name."""
    names = path.stat().st_nlink
    if names > 1:
        return f"this file has {names} names (hard links), and with each a log of its own; delete the others"
    if mounted(path):
        return "this file is mounted by itself, and its log would be somewhere else; mount its folder instead"
    return None


def mounted(path: Path, mounts: Path = MOUNTS) -> bool:
    """Whether something is mounted at just this place; False where the system does not tell."""
    if not mounts.exists():
        return False
    places = (line.split(b" ")[4] for line in mounts.read_bytes().splitlines())
    spelled = (re.sub(rb"\\([0-7]{3})", lambda octal: bytes([int(octal[1], 8)]), place) for place in places)
    return os.fsencode(os.path.realpath(path)) in spelled


def _named(path: str) -> str:
    """The path as it can be printed, whatever is in it."""
    shown = path if len(path) <= PATH_BYTES_MAX else f"{path[:SHOWN]}..."
    return shown if shown.isprintable() else repr(shown)
