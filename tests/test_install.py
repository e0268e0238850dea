"""What an installation costs: three dependencies, 15 MB of disk, and an import that brings nothing more.

How long the import takes is measured by `make bench`.
"""

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import makegood

PACKAGE = Path(__file__).parent.parent / "src" / "makegood"
CORE = {"msgspec", "apsw", "click"}
INSTALLED_BYTES_MAX = 15_000_000

# msgspec uses typing_extensions where it happens to be installed, as here by the tools of the tests.
IMPORT = """
import sys
sys.modules["typing_extensions"] = None
before = set(sys.modules)
import makegood
print(*sorted(set(sys.modules) - before))
"""


def imported() -> set[str]:
    """The modules that `import makegood` brings, in a fresh process."""
    command = [sys.executable, "-I", "-c", IMPORT]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def installed_bytes(name: str) -> int:
    files = [Path(str(file.locate())) for file in metadata.files(name) or []]
    assert files, f"{name} does not list its files"
    return sum(file.stat().st_size for file in files if file.exists())


def test_the_version_is_said_in_one_voice() -> None:
    project = tomllib.loads((PACKAGE.parent.parent / "pyproject.toml").read_text())["project"]
    assert makegood.__version__ == project["version"]


def test_the_core_has_three_dependencies() -> None:
    required = metadata.requires("makegood") or []
    assert {re.split(r"\W", entry)[0] for entry in required if "extra ==" not in entry} == CORE


def test_import_brings_the_standard_library_and_the_core_only() -> None:
    modules = imported()
    assert "makegood" in modules
    names = {module.partition(".")[0] for module in modules}
    assert names - set(sys.stdlib_module_names) - {"makegood"} <= CORE
    assert not names & {"rich", "httpx"}


def test_the_core_is_small_on_disk() -> None:
    """Our own files are counted where they stand: an editable installation lists only a pointer to them."""
    own = sum(file.stat().st_size for file in PACKAGE.rglob("*") if file.is_file() and file.suffix != ".pyc")
    assert sum(map(installed_bytes, CORE)) + own <= INSTALLED_BYTES_MAX
