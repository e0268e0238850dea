"""The public types as two type checkers see them: what must pass passes, what is marked fails in both.

In `bad.py` a line that must be refused ends in `# E: reason`, behind what each checker is told to ignore
there. Here the ignores are taken away, so that the lines that fail are seen, and must be the marked ones.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
IGNORED = re.compile(r"  # (type|pyright): ignore\[[^\]]*\]")


def program(name: str, folder: Path) -> tuple[Path, set[int]]:
    """A program of tests/typing, with nothing ignored any more, and its marked lines."""
    text, taken = IGNORED.subn("", (ROOT / "tests" / "typing" / name).read_text())
    marked = {n for n, line in enumerate(text.splitlines(), start=1) if "  # E: " in line}
    assert taken == 2 * len(marked), "each marked line is ignored once by each checker, and no other line is"
    path = folder / name
    path.write_text(text)
    return path, marked


def run(*command: str, folder: Path) -> str:
    """The output of a checker, which ends with 1 when it found errors."""
    environment = os.environ | {"MYPYPATH": str(ROOT / "src"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def mypy(path: Path) -> set[int]:
    """The lines in which mypy --strict finds errors."""
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'typing'}"
    output = run("mypy", "--strict", "--config-file=", cache, "--output=json", path.name, folder=path.parent)
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    assert all(one["file"] == path.name for one in found), output
    return {one["line"] for one in found if one["severity"] == "error"}


def pyright(path: Path) -> set[int]:
    """The lines in which pyright, as strict as it can be, finds errors."""
    settings = {"include": [path.name], "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "strict"}
    (path.parent / "pyrightconfig.json").write_text(json.dumps(settings))
    report = json.loads(run("pyright", "--outputjson", "--pythonpath", sys.executable, folder=path.parent))
    assert report["summary"]["filesAnalyzed"] == 1
    return {one["range"]["start"]["line"] + 1 for one in report["generalDiagnostics"]}


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_good_programs_pass(checker: Callable[[Path], set[int]], tmp_path: Path) -> None:
    path, marked = program("good.py", tmp_path)
    assert checker(path) == marked == set()


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_bad_programs_fail_at_the_marked_lines_only(
    checker: Callable[[Path], set[int]], tmp_path: Path
) -> None:
    path, marked = program("bad.py", tmp_path)
    assert len(marked) > 30
    assert checker(path) == marked
