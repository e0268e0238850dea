"""Each of the bad inputs: its exit code, its error, its words, and nothing that is not as it was."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from makegood.cli import output
from makegood.cli.main import main
from tests.cli.terminal import ROOT, Shell
from tests.hostile import bad_place
from tests.hostile.bad_inputs import BAD, NEW_STORE, Bad, Usage
from tests.hostile.bad_place import Standing, standing

LINES_MAX = 4
ONE_OF_EACH = ["circular import", "unknown action", "wrong type", "bad id", "unknown command", "newer schema"]
ONE_OF_EACH += [
    "unknown task: cancel",
    "pause what is done",
    "id taken: input",
    "no store there",
    "no driver",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bad")
    with at_home(made):
        bad_place.make(made)
    return made


@pytest.fixture(scope="module")
def before(folder: Path) -> Standing:
    return standing(folder)


@pytest.fixture
def place(folder: Path) -> Iterator[Path]:
    """The folder as the working directory."""
    with at_home(folder):
        yield folder


@contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """The folder as the working directory; what is imported from it is forgotten afterwards."""
    known = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, "app", raising=False)  # another folder's
        patch.chdir(folder)
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.delenv("MAKEGOOD_STORE", raising=False)
        yield
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> list[type[Exception]]:
    """What reached the person as an error, by its type."""
    seen: list[type[Exception]] = []
    failed, misused = output.failed, output.misused

    def told(error: Exception) -> int:
        seen.append(type(error))
        return failed(error)  # type: ignore[arg-type]  # main gives it nothing else

    def misread(message: str, command: str) -> int:
        seen.append(Usage)
        return misused(message, command)

    monkeypatch.setattr(output, "failed", told)
    monkeypatch.setattr(output, "misused", misread)
    return seen


@pytest.mark.parametrize("case", BAD)
def test_it_is_refused_and_leaves_nothing_behind(
    case: str,
    place: Path,
    before: Standing,
    errors: list[type[Exception]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = BAD[case]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bad.stdin)))
    code = main(bad.command)
    said = capsys.readouterr()
    assert (code, said.out) == (bad.code, ""), said.err
    assert errors == [bad.error]
    check_words(bad, said.err)
    assert standing(place) == before


def check_words(bad: Bad, said: str) -> None:
    """All the words stand there, in few lines, and nothing of makegood's own source."""
    for words in bad.words:
        assert words in said
    [error] = [line for line in said.splitlines() if line.startswith("error: ")]
    assert not [line for line in said.splitlines() if line.startswith("Traceback")]
    assert "itself failed" not in error
    assert str(ROOT / "src") not in said
    assert "s3same" not in said
    assert said.count("\n") <= LINES_MAX


@pytest.mark.parametrize("case", ONE_OF_EACH)
def test_a_shell_sees_the_same(case: str, place: Path, before: Standing) -> None:
    bad = BAD[case]
    said = Shell(place).run(*bad.command, PYTHONDONTWRITEBYTECODE="1")
    assert (said.code, said.out) == (bad.code, "")
    check_words(bad, said.err)
    assert standing(place) == before


@pytest.mark.parametrize("case", NEW_STORE)
def test_no_store_is_made_for_what_is_refused(
    case: str, place: Path, before: Standing, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = BAD[case]
    command = [*bad.command[:2], "--store", "sqlite:///new.db", *bad.command[2:]]
    assert main(command) == bad.code
    assert not list(place.glob("new.db*"))
    assert standing(place) == before
