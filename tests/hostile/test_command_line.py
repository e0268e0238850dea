"""What can stand on a command line: one clear message on stderr, exit 1 or 2, nothing on stdout.

The first tests call the command in this process, which is quick; the last start it as a shell would.
"""

import asyncio
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from makegood import Makegood
from makegood.authoring.loading import load_plan
from makegood.cli.main import main
from tests.cli.terminal import APP, COMMAND, Shell

MODULES = {
    "syntax": "if\n",
    "nul": "x = '\0'\n",
    "deep": "x = " + "(" * 1000 + ")" * 1000,
    "fails": "raise ValueError('x')\n",
    "leaves": "import sys\nsys.exit(0)\n",
    "base": "class Base(BaseException): ...\nraise Base\n",
    "mute": "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute\n",
    "surrogate": "raise ValueError('\\ud800')\n",
    "wordy": "raise ValueError('x' * 10**6)\n",
    "recursive": "def f(): f()\nf()\n",
    "circle": "import circle_too\n",
    "circle_too": "import circle\ncircle.x\n",
    "moody": "def __getattr__(name): raise ValueError(name)\n",
    "unshown": "class A:\n    def __repr__(self): raise ValueError\none, some = A(), [A()]\n",
    "empty": "",
}
FILES: dict[str, bytes] = {
    "latin.json": b'"\xff"',
    "bomb.json": b"[" * 1_000_000,
    "deep.json": b"[" * 300 + b"]" * 300,
    "large.json": b'"' + b"x" * 50_000_000 + b'"',
    "larger-than-a-payload.json": b'"' + b"x" * 2_000_000 + b'"',
    "twice.json": b'{"who": "ann", "who": "bob"}',
    "nul.json": b'{"who":"ann"}\0',
    "utf16.json": '{"who":"ann"}'.encode("utf-16"),
    "empty.json": b"",
    "text.db": b"not a database",
    "cut.db": b"SQLite format 3\0" + bytes(50),
    "latin.py": b"x = '\xff'\n",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(APP, folder / "app.py")
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text)
    for name, raw in FILES.items():
        (folder / name).write_bytes(raw)
    (folder / "folder.py").mkdir()
    (folder / "loop.json").symlink_to("loop.json")
    return folder


@pytest.fixture
def place(original: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder as the working directory, with a task t in its store; what is imported is forgotten."""
    monkeypatch.chdir(original)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    if not (original / "makegood.db").exists():
        asyncio.run(_submit())
    yield original
    for name in set(sys.modules) - before:
        del sys.modules[name]


async def _submit() -> None:
    async with Makegood() as nobody_up:
        await nobody_up.submit_json(load_plan("app.py:book_trip"), b'{"who":"ann"}', task_id="t")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """The exit code and the message of a command that must be refused."""
    capsys.readouterr()
    code = main(arguments)
    said = capsys.readouterr()
    assert code in (1, 2), (arguments, code)
    assert said.out == ""
    assert "Traceback" not in said.err
    assert "itself failed" not in said.err, said.err
    assert said.err.count("error: ") == 1, said.err
    assert said.err.count("\n") <= 25, said.err
    return code, said.err


SUBMIT = ("submit", "app.py:book_trip")
LOOKS = ("show", "history", "why", "watch", "audit", "cancel", "pause", "resume", "retry")
IDS = [
    "",
    "x\ud800",
    "a b",
    "x" * 101,
    "x" * 10**5,
    "-x",
    "\0",
    "../../etc/passwd",
    "t\n",
    "T",
    "é",
    "\u202e",
]
IDS += ["\U0001f600", "%s", "{}", "'; DROP TABLE tasks; --"]


@pytest.mark.parametrize("task_id", IDS, ids=lambda task_id: repr(task_id[:30]))
def test_ids(place: Path, capsys: pytest.CaptureFixture[str], task_id: str) -> None:
    for command in LOOKS:
        code, said = refused(capsys, command, "--", task_id)
        assert code == 1
        assert "no task" in said
    assert refused(capsys, "skip", "--", task_id, "reserve_car")[0] == 1
    for act in ("skip", "retry"):
        assert "has no step" in refused(capsys, act, "--", "t", task_id)[1]
    assert refused(capsys, "resolve", "--", "t", "reserve_car", task_id)[0] == 2
    if task_id not in ("T", "-x"):  # the one may be a task's, the other looks like an option
        assert "an id has 1 to 100 letters" in refused(capsys, *SUBMIT, '{"who":"ann"}', "--id", task_id)[1]


NOT_JSON = [
    "",
    "{",
    "NaN",
    "1e999",
    "\0",
    '"a" "b"',
    "[" * 10**5,
    "\ud800",
    '"\ud800"',
    '"\\ud800"',
]
NOT_JSON += [
    "@",
    "@none",
    "@folder.py",
    "@\0",
    "@" + "x" * 5_000,
    "@loop.json",
    "@/proc/self/mem",
    "@/dev/zero",
]
NOT_JSON += [f"@{name}" for name in FILES if name.endswith(".json")]
NOT_A_TRIP = [
    "\ufeff1",
    "null",
    "5",
    "[]",
    "{}",
    '{"who":"ann","frob":1}',
    '{"who":["ann"]}',
    '{"a":' * 300 + "1" + "}" * 300,
]


@pytest.mark.parametrize("given", [*NOT_JSON, *NOT_A_TRIP], ids=lambda given: repr(given[:30]))
def test_inputs(place: Path, capsys: pytest.CaptureFixture[str], given: str) -> None:
    assert refused(capsys, *SUBMIT, "--", given)[0] == 2
    if given in NOT_JSON:
        assert refused(capsys, "skip", "t", "reserve_car", "--result", given)[0] in (1, 2)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ('{"who":"ann","who":"bob"}', "the key 'who' stands twice; keep one of them"),
        ('{"who":[1,{"a":{"b":1,"b":1}}]}', "the key 'b' stands twice in who[1].a; keep one of them"),
        ("@twice.json", "the key 'who' stands twice; keep one of them"),
    ],
)
def test_a_key_that_stands_twice(
    place: Path, capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    assert refused(capsys, *SUBMIT, "--", given) == (2, f"error: INPUT: {said}\n")
    assert refused(capsys, "rehearse", "app.py:book_trip", "--input", given) == (
        2,
        f"error: --input: {said}\n",
    )
    skip = refused(capsys, "skip", "t", "reserve_car", "--result", given)
    assert skip == (2, f"error: --result: {said}\n")


@pytest.mark.parametrize("name", ["large", "larger-than-a-payload", "deep"])
def test_a_result_given_by_hand_is_as_small_as_any(
    place: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    for command in (["skip", "t", "reserve_car"], ["resolve", "t", "reserve_car", "done"]):
        code, said = refused(capsys, *command, "--result", f"@{name}.json")
        assert code == 2
        assert "result" in said


@pytest.mark.parametrize("raw", [b"", b"\xff", b"{", b'{"who":"ann"', b"[" * 10**5], ids=repr)
def test_stdin_that_ends_too_early(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert refused(capsys, *SUBMIT, "-")[0] == 2


APPS = [*[f"{name}.py" for name in MODULES], "latin.py", "folder.py", "none.py", "\0", "app\0.py", "app.py\0"]
APPS += [
    "\ud800.py",
    "\ud800",
    "x" * 5_000,
    "x" * 5_000 + ".py",
    "",
    ":",
    "::",
    "..",
    "./app",
    "a.b.c",
    ".app",
]
APPS += [
    "app..x",
    "os",
    "makegood",
    "None",
    "class",
    "123",
    "moody.py:x",
    "unshown.py:one",
    "unshown.py:some",
]
APPS += [
    "app.py:none",
    "app.py:Trip",
    "app.py:__name__",
    "app.py:__doc__",
    "app.py:a.b",
    "app.py:\ud800",
    "\0:x",
]


@pytest.mark.parametrize("app", APPS, ids=lambda app: repr(app[:30]))
def test_apps(place: Path, capsys: pytest.CaptureFixture[str], app: str) -> None:
    assert refused(capsys, "up", "--", app)[0] == 2
    assert refused(capsys, "submit", "--", f"{app}:book_trip", "{}")[0] == 2


def test_what_an_app_says_when_it_fails_is_cut(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(refused(capsys, "up", "wordy.py")[1]) < 3_000
    assert "Mute: (it cannot say what)" in refused(capsys, "up", "mute.py")[1]
    assert "cannot be imported: Base" in refused(capsys, "up", "base.py")[1]


NO_STORES = ["", "redis://x", "sqlite:", "sqlite://", "sqlite:///", "\0", "é:", "memory:", "memory:x"]
NO_STORES += ["sqlite:///:memory:", "SQLITE:///x.db", "http://[::1", "file:x"]
NO_STORES += ["postgresql://ann:secret@host/db", "redis://ann:secret@host"]
STORES = ["sqlite:///.", "sqlite:///none/x.db", "sqlite:///text.db", "sqlite:///cut.db"]
STORES += ["sqlite:///app.py/x.db", "sqlite:////proc/x.db", "sqlite:///loop.json"]
NO_FILES = ["sqlite:///\0", "sqlite:///x\0.db", "sqlite:///\ud800.db", "sqlite:///" + "x" * 5_000]


@pytest.mark.parametrize("url", [*NO_STORES, *STORES], ids=lambda url: repr(url[:30]))
def test_stores(place: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    wanted = 2 if url in NO_STORES else 1
    for command in (["list"], ["show", "t"], ["cancel", "t"], ["audit"], ["migrate"], ["up", "app.py"]):
        code, said = refused(capsys, *command, "--store", url)
        assert code == wanted
        assert "secret" not in said
    assert refused(capsys, *SUBMIT, '{"who":"ann"}', "--store", url)[0] == wanted


@pytest.mark.parametrize("url", NO_FILES, ids=lambda url: repr(url[:30]))
def test_names_that_no_file_has(place: Path, capsys: pytest.CaptureFixture[str], url: str) -> None:
    for command in (["list"], ["show", "t"], ["cancel", "t"], ["audit"]):
        assert "there is no store" in refused(capsys, *command, "--store", url)[1]
    for new in (["up", "app.py"], [*SUBMIT, '{"who":"ann"}']):
        code, said = refused(capsys, *new, "--store", url)
        assert code == 1
        assert said.endswith("; name another file\n")


@pytest.mark.parametrize(
    ("codec", "words"),
    [
        ("app.py:cars", "this is of type Agent, and no codec; name an object that has a name, encode"),
        ("app.py:Trip", "this is the class Trip, and no codec"),
        ("encodings:utf_8", "has no name that matches"),
    ],
)
def test_codecs(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, codec: str, words: str
) -> None:
    monkeypatch.setenv("MAKEGOOD_CODEC", codec)
    code, said = refused(capsys, "show", "t")
    assert code == 2
    assert f"error: MAKEGOOD_CODEC={codec}: " in said
    assert words in said


NUMBERS = ["", "-1", "-inf", "nan", "abc", "\0", "0x10", "1,5", "1e"]
NUMBERED = [
    ["watch", "t", "--timeout"],
    [*SUBMIT, '{"who":"ann"}', "--wait", "--timeout"],
    [*SUBMIT, '{"who":"ann"}', "--deadline"],
    ["list", "--limit"],
    ["up", "app.py", "--audit-every"],
    ["demo", "--trips"],
    ["demo", "--kills"],
]


@pytest.mark.parametrize("command", NUMBERED, ids=lambda command: f"{command[0]} {command[-1]}")
def test_numbers(place: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    for number in NUMBERS:
        assert refused(capsys, *command, number)[0] == 2


def test_deadlines_without_end(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none, endless = "'--deadline': 0.0 is not in the range x>0", "a deadline is a length of time in seconds"
    for number, words in (("0", none), ("1e-400", none), ("inf", endless), ("1e400", endless)):
        assert words in refused(capsys, *SUBMIT, '{"who":"ann"}', "--deadline", number)[1]


# --- as a shell starts it


@pytest.fixture(scope="module")
def shell(original: Path) -> Shell:
    return Shell(original)


def test_in_a_process_of_its_own(shell: Shell) -> None:
    for arguments, code, words in (
        (["up", "leaves.py"], 2, "ends the program when imported"),
        ([*SUBMIT, "@bomb.json"], 2, "error: INPUT: "),
        (["list", "--store", "sqlite:///cut.db"], 1, "cut.db"),
    ):
        said = shell.run(*arguments)
        assert (said.code, said.out) == (code, ""), said
        assert words in said.err
        assert "Traceback" not in said.err


def test_a_pipe_that_ends_in_the_middle_of_the_input(shell: Shell) -> None:
    ended = subprocess.run(
        [*COMMAND, *SUBMIT, "-"],
        input=b'{"who": "\xff',
        capture_output=True,
        cwd=shell.folder,
        env=shell.environment(),
        timeout=30,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert b"error: INPUT: " in ended.stderr
    assert b"Traceback" not in ended.stderr
