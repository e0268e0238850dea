"""What several tests of the command line begin with; some have a shell of their own."""

import shutil
from pathlib import Path

import pytest

from tests.cli.terminal import APP, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A folder with the app, and a store in which nobody is up."""
    shutil.copy(APP, tmp_path / "app.py")
    shell = Shell(tmp_path)
    shell.ok("migrate")
    return shell
