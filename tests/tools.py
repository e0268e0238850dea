"""Where the programs and libraries are that bend clocks and disks, and the one that checks models.

`make test` fetches them from Debian's packages into .venv (tools/debian_tools.sh). A program on PATH goes
first, a library of the system comes last.
"""

import shutil
from pathlib import Path

UNPACKED = Path(__file__).parent.parent / ".venv" / "debian" / "usr"
LIBRARIES = (UNPACKED / "lib", Path("/usr/lib"), Path("/usr/lib64"), Path("/usr/local/lib"))


class ToolMissing(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} is neither here nor in {UNPACKED.parent}; `make .venv/with-tools` fetches it,"
            " and `make test` does so by itself"
        )


def tool(name: str) -> Path:
    """The program `name`: spin, faketime, fiu-run or fiu-ctrl. Raises ToolMissing."""
    found = shutil.which(name) or shutil.which(name, path=UNPACKED / "bin")
    if found is None:
        raise ToolMissing(name)
    return Path(found)


def library(name: str) -> Path:
    """A library to load before all others, such as libfaketime.so.1. Raises ToolMissing."""
    for folder in LIBRARIES:
        for pattern in (name, f"*/{name}", f"*/*/{name}"):
            for found in sorted(folder.glob(pattern)):
                return found
    raise ToolMissing(name)


def faketime_preload() -> str:
    """What LD_PRELOAD must hold for a program to heed FAKETIME."""
    return str(library("libfaketime.so.1"))


def fiu_preload() -> str:
    """What LD_PRELOAD must hold for a program to heed FIU_ENABLE, with POSIX calls as points of failure."""
    return ":".join(
        str(library(name)) for name in ("libfiu.so.0", "fiu_run_preload.so", "fiu_posix_preload.so")
    )
