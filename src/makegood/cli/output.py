"""What the command line writes: data on stdout, talk on stderr; coloured on a terminal, with rich."""

import errno
import logging
import os
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from io import TextIOWrapper
from itertools import chain
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from makegood.cli.layout import INDENT, Rows, cells, folded, row_lines, table_lines, widened
from makegood.errors import MakegoodError, PayloadError, PlanError
from makegood.reading.words import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

OK, COULD_NOT, MALFORMED, INTERRUPTED = 0, 1, 2, 130
WAITED = {"Completed": 0, "Compensated": 10, "Failed": 20}
NOT_ENDED = 30
"""The exit codes. WAITED and NOT_ENDED are those of a command that waited for a task."""

STYLES = {
    "Running": "blue",
    "Completed": "green",
    "Compensating": "yellow",
    "Compensated": "cyan",
    "Failed": "bold red",
    "Skipped": "magenta",
    "NotStarted": "dim",
}
STATE = re.compile(rf"(?:^|(?<=  ))(?:{'|'.join(STYLES)})(?=,|  |$)")
"""A state in its column."""

COLUMNS = 80
"""Of a terminal that does not say how many it has."""
UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Why a stream cannot be written; one that nobody reads any more is no error."""


def say(text: str) -> None:
    """Talk: to the person, not to the next program. Where it cannot be written, nobody listens."""
    with suppress(OSError):
        _write(sys.stderr, text)


def data(text: str) -> None:
    """What was asked for. Raises MakegoodError where it cannot be written, on a full disk say."""
    try:
        _write(sys.stdout, text)
    except BrokenPipeError:  # whoever reads has seen enough
        raise
    except OSError as error:
        raise unwritten(error) from None


def done(told: str, in_words: str = "") -> None:
    """Tell of what is done and stays so: where stdout cannot, say it (`in_words`), and raise as `data`."""
    try:
        data(told)
    except (MakegoodError, BrokenPipeError):
        say(in_words or told)
        raise


def is_of_stream(error: OSError) -> bool:
    """Whether it came from writing to what was open already: those errors name no file."""
    return error.filename is None and error.errno in UNWRITABLE


def unwritten(error: OSError) -> MakegoodError:
    """That what was asked for could not be written."""
    return MakegoodError(f"stdout: {error.strerror}; send it to where there is room")


def document(value: Any) -> None:
    """JSON, indented for people."""
    data(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def document_line(value: Any) -> None:
    """JSON on a line of its own."""
    data(json_line(value))


def json_line(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def table(columns: Sequence[str], rows: Rows) -> None:
    """A table, nothing in it cut; on a terminal it is folded to the width, and with rich it is coloured."""
    console = terminal()
    if console is not None and not console.no_color:  # rich itself would still write the head bold
        console.print(coloured_table(columns, rows, console.width), soft_wrap=True)
        return
    for line in chain.from_iterable(table_lines(columns, rows, room())):
        data(line)


def progress(text: str) -> None:
    """How far it is, in place, on a terminal; nothing in the end, and nothing elsewhere."""
    if _is_terminal(sys.stderr):
        with suppress(OSError):
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()


class Stream:
    """A table that grows while it is shown: rows come in batches, under one head; columns only widen.

    `widest` is the row with the widest cells that are to be expected, so that they seldom have to.
    """

    def __init__(self, columns: Sequence[str], widest: Sequence[str]) -> None:
        self._head: Rows = [columns]
        self._widths: Sequence[int] = [cells(cell) for cell in widest]

    def add(self, rows: Rows) -> None:
        """Print some more rows."""
        if not rows:
            return
        lines = [[one_line(cell) for cell in row] for row in (*self._head, *rows)]
        self._head = []
        self._widths = widened(self._widths, lines, room())
        for each in lines:
            row(each, self._widths)


def row(columns: Sequence[str], widths: Sequence[int]) -> None:
    """A row of a table without a head: each cell in its width, the last one folded on a terminal."""
    for line in row_lines(columns, widths, room()):
        data(line)


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and what they stand for, one below the other."""
    widths = [max(cells(name) for name, _ in pairs), 0]
    for pair in pairs:
        row(pair, widths)


def prose(text: str) -> None:
    """Lines of text; on a terminal they are folded to its width, what goes on below stands further in.

    What is set in two columns, in an indented line, stays so.
    """
    width = room()
    for line in map(one_line, text.split("\n")):
        data("\n".join(folded(line, width)))


def room() -> int | None:
    """Characters that fit in a line of the terminal; None where stdout is none."""
    return _columns_of(sys.stdout)


def _columns_of(stream: TextIO | None) -> int | None:
    if stream is None or not _is_terminal(stream):
        return None
    asked = 0  # what follows asks for stdout's alone
    with suppress(OSError):
        asked = os.get_terminal_size(stream.fileno()).columns
    return get_terminal_size((asked or COLUMNS, 0)).columns


def can_ask() -> bool:
    """Whether somebody sees what is said, and can type an answer; Python's input() needs a stdout as well."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr) and sys.stdout is not None


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None in a process that was started without it


def coloured_table(columns: Sequence[str], rows: Rows, width: int) -> "Text":
    """The table for a terminal of this width, its head bold and each state in its colour."""
    from rich.text import Text

    head, *told = table_lines(columns, rows, width)
    made = Text()
    made.append("\n".join(head), "bold")
    for line in chain.from_iterable(told):
        made.append(f"\n{line}")
        for state in STATE.finditer(line):
            begin = len(made) - len(line)
            if line[: state.start()].strip() or state.start() <= len(INDENT):  # else it is folded prose
                made.stylize(STYLES[state[0]], begin + state.start(), begin + state.end())
    return made


def terminal() -> "Console | None":
    """A rich console when stdout is a terminal and rich is installed."""
    if not _is_terminal(sys.stdout) or os.environ.get("TERM") == "dumb" or find_spec("rich") is None:
        return None
    from rich.console import Console

    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # rich writes what it cannot, as _write would not
    return Console(soft_wrap=False, highlight=False)


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None:  # started without it, as daemons are: there is nobody to tell
        return
    lines = (one_line(line) for line in text.split("\n"))
    encoding = stream.encoding or "utf-8"
    safe = "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding)
    stream.write(f"{safe}\n")
    stream.flush()


# --- errors and warnings


class _Brief(logging.Formatter):
    """A warning in one line, without the traceback that may hang on it."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(f"{record.levelname.lower()}: {record.getMessage()}")


def brief_warnings() -> None:
    """Warnings of the parts below (a store that is busy, say) reach the person as talk."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Brief())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def say_error(what: str) -> None:
    """Say what went wrong; on a terminal it is folded at words."""
    width = _columns_of(sys.stderr)
    lines = map(one_line, f"error: {what}".split("\n"))
    say("\n".join(chain.from_iterable(folded(line, width) for line in lines)))


def failed(error: MakegoodError) -> int:
    """Say what went wrong; answers the exit code."""
    say_error(str(error) or type(error).__name__)
    warnings.filterwarnings("ignore", ".* was never awaited")  # what an app called that was refused just now
    return MALFORMED if isinstance(error, PlanError | PayloadError) else COULD_NOT


def misused(message: str, command: str) -> int:
    """Say how the command line was wrong; answers the exit code."""
    message = message.replace("\n\t", " ")  # click's list of choices
    say_error(f"{message.rstrip('.')}; see `{command} --help`")
    return MALFORMED


def broke(error: Exception) -> int:
    """Say that makegood itself failed; answers the exit code."""
    where = f"{type(error).__name__}: {error}".replace("\n", " ")
    say_error(f"makegood itself failed ({where}); MAKEGOOD_DEBUG=1 shows where: please report it")
    return COULD_NOT
