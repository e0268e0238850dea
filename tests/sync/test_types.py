"""The twin's signatures, as two type checkers see them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.test_typing import mypy, program, pyright


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_the_twin_has_the_clients_signatures(checker: Callable[[Path], set[int]], tmp_path: Path) -> None:
    path, marked = program("synchronous.py", tmp_path)
    assert len(marked) == 6
    assert checker(path) == marked
