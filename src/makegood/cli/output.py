"""What the command line writes: data on stdout, talk on stderr; coloured on a terminal, with rich."""

import errno
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from io import TextIOWrapper
from shutil import get_terminal_size
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from makegood.errors import MakegoodError, PayloadError, PlanError
from makegood.reading.words import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
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

PROSE = frozenset({"WHAT", "WAITS FOR OR BECAUSE", "RESULT OR ERROR"})
"""Columns that may be folded to the terminal's width; ids and moments stay in one piece."""

PROSE_WIDTH_MIN = 20
WORD_KEPT = 30
"""Characters of a word up to which prose is given the room that the word stands in one piece."""
FIRST_COLUMN = re.compile(r" +\S+(?: \S+)* {2,}")
"""Of an indented line that has two columns, with the space between them."""
INDENT = "    "
"""Before what stands below the line that it belongs to."""

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Why a stream cannot be written; one that nobody reads any more is no error."""

Rows = Sequence[Sequence[str]]


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
    if console is not None and _width_needed(columns, rows) <= console.width:
        console.print(rich_table(columns, rows, console.width))
        return
    for line in plain_table(columns, rows, room()):
        data(line)


def plain_table(columns: Sequence[str], rows: Rows, width: int | None = None) -> list[str]:
    """One line a row, columns aligned, two spaces between them.

    Where a width is given, the last is folded to it; it goes below the others where those leave one no room.
    """
    cells = [list(columns), *[[one_line(cell) for cell in row] for row in rows]]
    widths = [max(len(row[n]) for row in cells) for n in range(len(columns))]
    laid = [(_lead(row, widths), row[-1]) for row in cells]
    below = width is not None and any(_has_no_room(lead, text, width) for lead, text in laid)
    return [line for lead, text in laid for line in _beside(lead, text, width, below=below)]


def _lead(row: Sequence[str], widths: Sequence[int]) -> str:
    """All columns but the last."""
    return "".join(f"{cell:{size}}  " for cell, size in zip(row[:-1], widths[:-1], strict=True))


def _has_no_room(lead: str, text: str, width: int) -> bool:
    return len(lead) + len(text) > width and width - len(lead) < _least([text])


def _beside(lead: str, text: str, width: int | None, *, below: bool = False) -> list[str]:
    """A text that follows a lead, folded below its own beginning, or, without room there, below the lead."""
    if width is None or not ((text and below) or len(lead) + len(text) > width):
        return [f"{lead}{text}".rstrip()]
    below = below or _has_no_room(lead, text, width)
    margin = INDENT if below else " " * len(lead)
    folded = wrap(text, max(width - len(margin), PROSE_WIDTH_MIN), break_on_hyphens=False) or [""]
    lines = [f"{margin}{line}" for line in folded]
    return [*filter(None, [lead.rstrip()]), *lines] if below else [f"{lead}{folded[0]}", *lines[1:]]


def _least(texts: Iterable[str]) -> int:
    """Characters that a column of prose needs, so that words (an address, say) are seldom cut."""
    longest = max((len(word) for text in texts for word in text.split()), default=0)
    return min(max(longest, PROSE_WIDTH_MIN), WORD_KEPT)


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
        self._widths = [len(cell) for cell in widest]

    def add(self, rows: Rows) -> None:
        """Print some more rows."""
        if not rows:
            return
        cells = [[one_line(cell) for cell in row] for row in (*self._head, *rows)]
        self._head = []
        self._widths = [max(size, *[len(row[n]) for row in cells]) for n, size in enumerate(self._widths)]
        for each in cells:
            row(each, self._widths)


def row(cells: Sequence[str], widths: Sequence[int]) -> None:
    """A row of a table without a head: each cell in its width, the last one folded on a terminal."""
    shown = [one_line(cell) for cell in cells]
    for line in _beside(_lead(shown, widths), shown[-1], room()):
        data(line)


def fields(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and what they stand for, one below the other."""
    widths = [max(len(name) for name, _ in pairs), 0]
    for pair in pairs:
        row(pair, widths)


def prose(text: str) -> None:
    """Lines of text; on a terminal they are folded to its width, what goes on below stands further in.

    What is set in two columns, in an indented line, stays so.
    """
    width = room()
    for line in map(one_line, text.split("\n")):
        data("\n".join(_folded(line, width)))


def _folded(line: str, width: int | None) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    if column := FIRST_COLUMN.match(line):
        return _beside(column[0], line[column.end() :], width)
    indent = line[: -len(line.lstrip())] + INDENT
    return wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def room() -> int | None:
    """Characters that fit in a line of the terminal; None where stdout is none."""
    return get_terminal_size().columns if _is_terminal(sys.stdout) else None


def can_ask() -> bool:
    """Whether somebody sees what is said, and can type an answer; Python's input() needs a stdout as well."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr) and sys.stdout is not None


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()  # None in a process that was started without it


def rich_table(columns: Sequence[str], rows: Rows, width: int) -> "Table | Text":
    """The table for a terminal of this width; plain lines, folded, where ids would not fit."""
    from rich.table import Table
    from rich.text import Text

    if _width_needed(columns, rows) > width:
        return Text("\n".join(plain_table(columns, rows, width)), overflow="fold")
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold", no_wrap=column not in PROSE)
    for row in rows:
        made.add_row(*[Text(one_line(cell), style=STYLES.get(cell.partition(",")[0], "")) for cell in row])
    return made


def _width_needed(columns: Sequence[str], rows: Rows) -> int:
    """Characters a line needs so that only prose is folded, to no less than it needs."""
    needed = 0
    for n, column in enumerate(columns):
        cells = [column, *[one_line(row[n]) for row in rows]]
        widest = max(map(len, cells))
        needed += min(widest, _least(cells)) if column in PROSE else widest
    return needed + 2 * (len(columns) - 1)


def terminal() -> "Console | None":
    """A rich console when stdout is a terminal and rich is installed. rich itself heeds NO_COLOR."""
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


def failed(error: MakegoodError) -> int:
    """Say what went wrong; answers the exit code."""
    say(f"error: {str(error) or type(error).__name__}")
    warnings.filterwarnings("ignore", ".* was never awaited")  # what an app called that was refused just now
    return MALFORMED if isinstance(error, PlanError | PayloadError) else COULD_NOT


def misused(message: str, command: str) -> int:
    """Say how the command line was wrong; answers the exit code."""
    message = message.replace("\n\t", " ")  # click's list of choices
    say(f"error: {message.rstrip('.')}; see `{command} --help`")
    return MALFORMED


def broke(error: Exception) -> int:
    """Say that makegood itself failed; answers the exit code."""
    where = f"{type(error).__name__}: {error}".replace("\n", " ")
    say(f"error: makegood itself failed ({where}); MAKEGOOD_DEBUG=1 shows where: please report it")
    return COULD_NOT
