"""The limits of the house, held over all of src. Each rule is also shown something bad: it can fail."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "makegood"

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
CLOCK_READS_MAX = 6
PUBLIC_NAMES_MAX = 25

CLOCK_FILE = "clock.py"
"""Time is read in files of this name, behind the clock port; everything else is told the time."""

STRANGERS = PurePosixPath("demo/services")
"""The demo's services stand for somebody else's code, which keeps its own time."""

CLOCK_READS = frozenset(
    {
        f"time.{name}{ns}"
        for name in ("time", "monotonic", "perf_counter", "clock_gettime")
        for ns in ("", "_ns")
    }
    | {f"time.{name}" for name in ("ctime", "gmtime", "localtime")}
    | {f"datetime.datetime.{name}" for name in ("now", "today", "utcnow")}
    | {"datetime.date.today", "uuid.uuid1"}
)
"""What counts as reading a clock, called or handed on; `loop.time()` of an event loop counts as well."""

CORE_MAY_IMPORT = frozenset(
    {"makegood.core", "makegood.errors", "msgspec"}
    | {"__future__", "abc", "collections", "copy", "dataclasses", "enum", "functools", "types", "typing"}
    | {"bisect", "datetime", "decimal", "fractions", "hashlib", "heapq", "itertools", "json", "math"}
    | {"operator", "re", "string", "uuid"}
)
"""Data, arithmetic and types."""

CORE_NEVER = frozenset({"sleep", "random", "uuid1", "uuid4"})


@dataclass(frozen=True)
class Source:
    """One Python file: its path inside the package, and its text."""

    path: PurePosixPath
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def within(self, folder: PurePosixPath | str) -> bool:
        return self.path.is_relative_to(folder)


class Rule(Protocol):
    """Looks at one file and yields what is wrong with it, in words that end the matter."""

    __name__: str

    def __call__(self, source: Source, /) -> Iterator[str]: ...


def file_length(source: Source) -> Iterator[str]:
    lines = len(source.text.splitlines())
    if lines > FILE_LINES_MAX:
        yield f"{lines} lines; at most {FILE_LINES_MAX}"


def function_length(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"line {node.lineno}: {node.name} has {lines} lines; at most {FUNCTION_LINES_MAX}"


def clock_outside_its_file(source: Source) -> Iterator[str]:
    if source.path.name != CLOCK_FILE and not source.within(STRANGERS):
        for line, name in clock_reads(source):
            yield f"line {line}: {name} reads the clock; take the time from the clock port"


def clock_reads(source: Source) -> Iterator[tuple[int, str]]:
    """Line and name of every reading of a clock, under whatever name it was imported."""
    imported = dict(imported_names(source.tree))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute):
            first, dot, rest = ast.unparse(node).partition(".")
            name = imported.get(first, first) + dot + rest
            if name in CLOCK_READS or re.search(r"loop(\(\))?\.time$", name):
                yield node.lineno, name


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name used in the file, full name) of everything imported anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names)


def code_from_data(source: Source) -> Iterator[str]:
    """No pickle, and no eval, exec or yaml.load: recorded data never turns into code."""
    for _, name in imported_names(source.tree):
        if re.match(r"(pickle|_pickle|cPickle|cloudpickle|dill|marshal|shelve)\b", name):
            yield f"imports {name}"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.removeprefix("builtins.") in {"eval", "exec", "yaml.load"}:
                yield f"line {node.lineno}: calls {name}"


def impure_core(source: Source) -> Iterator[str]:
    """The core imports what is listed and nothing else, and neither sleeps nor throws dice."""
    if not source.within("core"):
        return
    for _, name in imported_names(source.tree):
        if not name.startswith(".") and not any(
            f"{name}.".startswith(f"{pure}.") for pure in CORE_MAY_IMPORT
        ):
            yield f"imports {name}, which is not on the core's list"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).split(".")[-1] in CORE_NEVER:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def unfinished(source: Source) -> Iterator[str]:
    for number, line in enumerate(source.text.splitlines(), 1):
        if word := re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield f"line {number}: {word[0]}; do it, or open an issue"


def unnamed_ignore(source: Source) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT and re.search(
            r"(type|pyright):\s*ignore(?!\[[\w-])|\bnoqa\b(?!:\s*[A-Z]+\d)", token.string
        ):
            yield f"line {token.start[0]}: {token.string!r} names no code; write what it hides"


def public_names(source: Source) -> Iterator[str]:
    if source.path != PurePosixPath("__init__.py"):
        return
    names = exported(source.tree)
    if not names:
        yield "no __all__: the public names stand there and nowhere else"
    if len(names) > PUBLIC_NAMES_MAX:
        yield f"{len(names)} public names; at most {PUBLIC_NAMES_MAX}"
    if names != sorted(names, key=constants_classes_functions):
        yield "__all__ is not sorted: constants, classes, functions, each by name"


def exported(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def constants_classes_functions(name: str) -> tuple[bool, bool, str]:
    """The order that `ruff check --fix` gives to __all__."""
    return not name.isupper(), not name[:1].isupper(), name


RULES: list[Rule] = [
    file_length,
    function_length,
    clock_outside_its_file,
    code_from_data,
    impure_core,
    unfinished,
    unnamed_ignore,
    public_names,
]


def sources(folder: Path) -> list[Source]:
    files = sorted(folder.rglob("*.py"))
    return [
        Source(PurePosixPath(file.relative_to(folder).as_posix()), file.read_text("utf-8")) for file in files
    ]


SOURCES = sources(PACKAGE)


@pytest.mark.parametrize("rule", RULES)
def test_the_house_is_in_order(rule: Rule) -> None:
    assert SOURCES
    assert [f"{source.path}: {complaint}" for source in SOURCES for complaint in rule(source)] == []


def test_the_clock_is_read_in_few_places() -> None:
    reads = [
        f"{source.path}:{line}: {name}"
        for source in SOURCES
        if not source.within(STRANGERS)
        for line, name in clock_reads(source)
    ]
    assert len(reads) <= CLOCK_READS_MAX, reads


@pytest.mark.parametrize("folder", ["tests", "bench", "examples"])
def test_ignores_are_named_outside_src_too(folder: str) -> None:
    complaints = [
        f"{source.path}: {text}" for source in sources(ROOT / folder) for text in unnamed_ignore(source)
    ]
    assert complaints == []


def long_function(lines: int) -> str:
    return "async def f():\n" + "    pass\n" * (lines - 1)


def many_names(count: int) -> str:
    return f"__all__ = {[f'name{number:02}' for number in range(count)]}\n"


Sample = tuple[Rule, str, str]

BAD: list[Sample] = [
    (file_length, "a.py", "x = 1\n" * 601),
    (function_length, "a.py", long_function(71)),
    (clock_outside_its_file, "desk.py", "import time\nnow = time.time()\n"),
    (clock_outside_its_file, "desk.py", "import time as t\nnow = t.monotonic_ns\n"),
    (clock_outside_its_file, "desk.py", "from time import perf_counter as tick\nnow = tick()\n"),
    (clock_outside_its_file, "desk.py", "import datetime\nnow = datetime.datetime.now(tz)\n"),
    (clock_outside_its_file, "desk.py", "from datetime import datetime\nnow = datetime.utcnow()\n"),
    (clock_outside_its_file, "desk.py", "from datetime import date\nnow = date.today()\n"),
    (clock_outside_its_file, "desk.py", "now = self._loop.time()\n"),
    (clock_outside_its_file, "desk.py", "import asyncio\nnow = asyncio.get_running_loop().time()\n"),
    (clock_outside_its_file, "demo/show.py", "import time\nnow = time.time()\n"),
    (code_from_data, "a.py", "import pickle\n"),
    (code_from_data, "a.py", "def f():\n    from pickle import loads\n"),
    (code_from_data, "a.py", "eval('1')\n"),
    (code_from_data, "a.py", "exec('x = 1')\n"),
    (code_from_data, "a.py", "import yaml\nyaml.load(text)\n"),
    (impure_core, "core/retry.py", "import random\n"),
    (impure_core, "core/retry.py", "from os import environ\n"),
    (impure_core, "core/retry.py", "import makegood.store\n"),
    (impure_core, "core/retry.py", "clock.sleep(1)\n"),
    (impure_core, "core/retry.py", "jitter = chance.random()\n"),
    (impure_core, "core/keys.py", "import uuid\nkey = uuid.uuid4()\n"),
    (unfinished, "a.py", "# TODO later\n"),
    (unfinished, "a.py", "'''FIXME'''\n"),
    (unfinished, "a.py", "x = 1  # XXX\n"),
    (unnamed_ignore, "a.py", "x = 1  # type: ignore\n"),
    (unnamed_ignore, "a.py", "x = 1  # pyright: ignore\n"),
    (unnamed_ignore, "a.py", "x = 1  # noqa\n"),
    (unnamed_ignore, "a.py", "x = 1  # noqa: because\n"),
    (public_names, "__init__.py", "x = 1\n"),
    (public_names, "__init__.py", many_names(26)),
    (public_names, "__init__.py", "__all__ = ['step', 'plan']\n"),
    (public_names, "__init__.py", "__all__ = ['Agent', 'NOT_THERE', 'plan']\n"),
]

GOOD: list[Sample] = [
    (file_length, "a.py", "x = 1\n" * 600),
    (function_length, "a.py", long_function(70)),
    (
        clock_outside_its_file,
        "desk.py",
        "import time\ntime.sleep(1)\nnow = clock.time()\nclock.monotonic()\n",
    ),
    (clock_outside_its_file, "desk.py", "from datetime import datetime\ndatetime.fromtimestamp(0, UTC)\n"),
    (clock_outside_its_file, "runtime/clock.py", "import time\nnow = time.time()\n"),
    (clock_outside_its_file, "demo/services/hotel.py", "import time\nnow = time.time()\n"),
    (code_from_data, "a.py", "store.exec(sql)\nimport pickleball\n"),
    (
        impure_core,
        "core/retry.py",
        "from makegood.core.plan import Plan\nfrom . import keys\nimport collections.abc\n",
    ),
    (impure_core, "core/keys.py", "from uuid import uuid5\n"),
    (impure_core, "desk.py", "import random\n"),
    (unfinished, "a.py", "# a TODOS list\n"),
    (unnamed_ignore, "a.py", "x = 1  # type: ignore[assignment]  # pyright: ignore[reportX]\n"),
    (unnamed_ignore, "a.py", "x = '# noqa'  # noqa: E501\n"),
    (public_names, "__init__.py", "__all__ = ['NOT_THERE', 'Agent', 'There', 'call', 'plan']\n"),
    (public_names, "core/__init__.py", "x = 1\n"),
]


def names_of(samples: list[Sample]) -> list[str]:
    return [rule.__name__ for rule, _, _ in samples]


@pytest.mark.parametrize(("rule", "path", "text"), BAD, ids=names_of(BAD))
def test_a_rule_sees_what_is_bad(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(PurePosixPath(path), text)))


@pytest.mark.parametrize(("rule", "path", "text"), GOOD, ids=names_of(GOOD))
def test_a_rule_leaves_the_good_alone(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(PurePosixPath(path), text))) == []


def test_every_rule_is_shown_something_bad() -> None:
    assert {rule for rule, _, _ in BAD} == set(RULES)
