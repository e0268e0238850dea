"""What can befall a store's disk under running engines: what strikes it, what heals it, what must be said."""

import ctypes
import errno
import os
import random
import resource
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.soak.world import APP, World
from tests.tools import fiu_preload, tool

FILES = ("", "-wal", "-shm")
"""What a store consists of, as endings of its name."""
SMALL_BYTES = 24 << 20
"""The write-ahead log alone grows to 16 MB before it is moved into the file."""
A_MOMENT = 20.0
TMPFS, MNT_DETACH = b"tmpfs", 2


LOOK = "look into the system's log for what is wrong with the disk"
WRITABLE = f"let this user write the file and its log (-wal), and {LOOK}"


class Ill:
    """One of them. `says`: what an engine must say of it. Of itself it does nothing."""

    name: str
    says: str
    struck_dead = False
    """Every process is killed before it strikes, and starts after it is healed."""
    healed_dead = False
    """The same before it heals. Where neither is so, the engines must go on by themselves, unless .."""
    ends_them = False
    """.. who sees it ends by himself, and is to be started again."""
    forgets = False
    """What was committed is lost with it, which no engine can help."""

    def prepare(self, world: World) -> None:
        """Before anything starts."""

    def given(self, world: World) -> Mapping[str, str]:
        """What is added to the environment of the engines."""
        return {}

    def strike(self, world: World) -> None: ...

    def heal(self, world: World) -> None: ...


@dataclass
class Failing(Ill):
    """Calls of the system fail at random, by libfiu."""

    name: str
    points: tuple[str, ...]
    error: int
    probability: float
    says: str

    def given(self, world: World) -> Mapping[str, str]:
        return {"LD_PRELOAD": fiu_preload(), "FIU_CTRL_FIFO": str(world.folder / "fiu")}

    def strike(self, world: World) -> None:
        how = f"probability={self.probability},failinfo={self.error}"
        self._order(world, *(f"enable_random name={point},{how}" for point in self.points))

    def heal(self, world: World) -> None:
        self._order(world, *(f"disable name={point}" for point in self.points))

    def _order(self, world: World, *orders: str) -> None:
        control = [str(tool("fiu-ctrl")), "-f", str(world.folder / "fiu")]
        for engine in world.living():
            for order in orders:
                subprocess.run([*control, "-c", order, f"{engine.pid}"], check=True, timeout=A_MOMENT)


class Full(Ill):
    """The store is on a small disk of its own, and something else takes all the room there is left."""

    name = "full disk"
    says = "database or disk is full; make room on the disk"

    def prepare(self, world: World) -> None:
        world.store_folder = small = world.folder / "small"
        small.mkdir()
        assert mount(small), f"{small}: root cannot mount here"
        world.at_the_end.callback(ctypes.CDLL(None).umount2, str(small).encode(), MNT_DETACH)

    def strike(self, world: World) -> None:
        with suppress(OSError), (world.store_folder / "ballast").open("wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass

    def heal(self, world: World) -> None:
        (world.store_folder / "ballast").unlink()


class Limited(Ill):
    """No file of an engine may grow any more, as under a limit or a quota."""

    name = "file size limit"
    says = f"disk I/O error (SQLITE_IOERR_WRITE); {WRITABLE}"

    def strike(self, world: World) -> None:
        self._limit(world, max(Path(f"{world.store}{ending}").stat().st_size for ending in FILES))

    def heal(self, world: World) -> None:
        self._limit(world, resource.RLIM_INFINITY)

    def _limit(self, world: World, size: int) -> None:
        for engine in world.living():
            resource.prlimit(engine.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


class Away(Ill):
    """The files are moved away under the engines, and come back."""

    name = "moved away"
    says = "was deleted or replaced while open; start the process again"
    ends_them = True

    def strike(self, world: World) -> None:
        move(world.store, away(world.store))

    def heal(self, world: World) -> None:
        move(away(world.store), world.store)


class Replaced(Away):
    """A new store is put in the place of the old one under the engines; the old one comes back."""

    name = "replaced"
    healed_dead = True

    def strike(self, world: World) -> None:
        super().strike(world)
        assert world.states() == {}, "looking at it has made a new one"

    def heal(self, world: World) -> None:
        assert world.states() == {}, "an engine of the old store wrote on the new one"
        remove(world.store, *FILES)
        super().heal(world)


class ReadOnly(Ill):
    """Nobody may write the files; an engine that comes says so and leaves."""

    name = "read-only file"
    says = "is read-only for this user; let this user write the file and its folder"
    struck_dead = True

    def strike(self, world: World) -> None:
        self._allow(world, 0o444)
        engine = world.start("tests.soak.humble", "up", APP, "--store", world.store_url)
        world.engines.append(engine)
        assert engine.ended(A_MOMENT) == 1, engine.talk

    def heal(self, world: World) -> None:
        self._allow(world, 0o644)

    def _allow(self, world: World, mode: int) -> None:
        for ending in FILES:
            os.chmod(f"{world.store}{ending}", mode)


class Torn(Ill):
    """All processes die, the write-ahead log ends in a torn write, and its index is gone."""

    name = "torn log"
    says = " up as "
    struck_dead = True

    def strike(self, world: World) -> None:
        remove(world.store, "-shm")
        with Path(f"{world.store}-wal").open("ab") as log:
            log.write(random.Random(log.tell()).randbytes(3000))


class LogLost(Ill):
    """All processes die, and somebody deletes the write-ahead log: what was committed lately is lost.

    The engines left in good order once before, so that there is an older state to go on from.
    """

    name = "log deleted"
    says = " up as "
    struck_dead = True
    forgets = True

    def strike(self, world: World) -> None:
        remove(world.store, "-wal", "-shm")


WRITE, SYNC = ("posix/io/rw/pwrite",), ("posix/io/sync/fdatasync", "posix/io/sync/fsync")


def ills() -> list[Ill]:
    """All of them. A disk can be mounted by root only; for anybody else its calls fail as if it were full."""
    full = Full() if os.geteuid() == 0 else Failing("full disk", WRITE, errno.ENOSPC, 1, Full.says)
    return [
        Failing("sync errors", SYNC, errno.EIO, 0.4, f"disk I/O error (SQLITE_IOERR_FSYNC); {LOOK}"),
        Failing("write errors", WRITE, errno.EIO, 0.2, f"disk I/O error (SQLITE_IOERR_WRITE); {WRITABLE}"),
        Failing("write refused", WRITE, errno.EROFS, 1, f"disk I/O error (SQLITE_IOERR_WRITE); {WRITABLE}"),
        full,
        Limited(),
        Away(),
        Replaced(),
        ReadOnly(),
        Torn(),
        LogLost(),
    ]


# --- files


def mount(folder: Path) -> bool:
    """Whether a small file system could be mounted there."""
    options = f"size={SMALL_BYTES},mode=0700".encode()
    return bool(ctypes.CDLL(None).mount(TMPFS, str(folder).encode(), TMPFS, 0, options) == 0)


def away(store: Path) -> Path:
    return store.with_name("away.db")


def move(one: Path, other: Path) -> None:
    """All files of a store, as one moves a database."""
    for ending in FILES:
        with suppress(FileNotFoundError):
            os.rename(f"{one}{ending}", f"{other}{ending}")


def remove(store: Path, *endings: str) -> None:
    for ending in endings:
        Path(f"{store}{ending}").unlink(missing_ok=True)
