"""How lines are set in columns and folded to a width, in cells of a terminal: some characters take two."""

import re
from collections.abc import Iterable, Sequence
from textwrap import TextWrapper
from unicodedata import combining, east_asian_width

from makegood.reading.words import one_line

Rows = Sequence[Sequence[str]]

PROSE_WIDTH_MIN = 20
WORD_KEPT = 30
"""Cells of a word up to which prose is given the room that the word stands in one piece."""
WHOLE = re.compile(r"[^\w\s]*[A-Za-z0-9][A-Za-z0-9._-]*[^\w\s]*")
"""A word that is never cut: an id or a key, with the marks before and behind it."""
FIRST_COLUMN = re.compile(r" +\S+(?: \S+)* {2,}")
"""Of an indented line that has two columns, with the space between them."""
INDENT = "    "
"""Before what stands below the line that it belongs to."""
GAP = "  "
"""Between two columns."""


def cells(text: str) -> int:
    """How many cells of a terminal a line takes: two for what is wide in East Asia, none for an accent that
    joins the character before it."""
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def _cells_of(character: str) -> int:
    if east_asian_width(character) in "WF":
        return 2
    return 0 if combining(character) else 1


def table_lines(columns: Sequence[str], rows: Rows, width: int | None = None) -> list[list[str]]:
    """The lines of the head and of each row: one a row, columns aligned, two spaces between them.

    Where a width is given, the last is folded to it; it goes below the others where those leave one no room.
    Where these have no room themselves, the last of them go below as well. The few rows that take it from the
    others by a wide cell (a long id, say) stand without columns.
    """
    lines = [list(columns), *[[one_line(cell) for cell in row] for row in rows]]
    together = lines if width is None else _together(lines, width)
    widths = _widths(together)
    below = width is not None and _goes_below(together, widths, width)
    return [_laid(row, widths, width, below=below) for row in lines]


def row_lines(row: Sequence[str], widths: Sequence[int], width: int | None) -> list[str]:
    """A row whose columns have these widths, the last folded to what is left of `width`."""
    return _laid([one_line(cell) for cell in row], widths, width)


def widened(widths: Sequence[int], rows: Rows, width: int | None) -> Sequence[int]:
    """Widths in which these rows have room as well, save those that by a wide cell leave the others none."""
    for row in rows:
        grown = _widths([row], widths)
        if width is None or not _is_wide(row, width) or _taken(grown[:-1]) + PROSE_WIDTH_MIN <= width:
            widths = grown
    return widths


def folded(line: str, width: int | None) -> list[str]:
    """A line of text; what goes on below stands further in, or under the second of two columns."""
    if width is None or cells(line) <= width:
        return [line]
    if column := FIRST_COLUMN.match(line):
        return _beside(column[0], line[column.end() :], width)
    indent = line[: -len(line.lstrip())] + INDENT
    return _wrapped(line, width, indent)


def _lead(row: Sequence[str], widths: Sequence[int]) -> str:
    """All columns but the last."""
    return "".join(
        f"{cell}{' ' * (size - cells(cell))}{GAP}" for cell, size in zip(row[:-1], widths[:-1], strict=True)
    )


def _widths(rows: Rows, least: Sequence[int] = ()) -> list[int]:
    """What each column needs, and `least` at least."""
    least = least or [0] * len(rows[0])
    return [max(size, *[cells(row[n]) for row in rows]) for n, size in enumerate(least)]


def _taken(widths: Sequence[int]) -> int:
    """Cells that columns take, with the space behind each."""
    return sum(widths) + len(GAP) * len(widths)


def _is_wide(row: Sequence[str], width: int) -> bool:
    """Whether one of its columns takes more than a third of a line, and more than words do."""
    return any(cells(cell) > max(width // 3, WORD_KEPT) for cell in row[:-1])


def _together(lines: Rows, width: int) -> Rows:
    """The rows that share columns: without the wide ones, if these are few and not all have room."""
    if not _goes_below(lines, _widths(lines), width):
        return lines
    some = [row for row in lines if not _is_wide(row, width)]
    return some if 2 * len(some) > len(lines) else lines


def _goes_below(lines: Rows, widths: Sequence[int], width: int) -> bool:
    """Whether columns of these widths leave no room beside them for the last one of some row."""
    left = width - _taken(widths[:-1])
    return left < -len(GAP) or any(cells(row[-1]) > left and left < _least(row[-1]) for row in lines)


def _laid(row: Sequence[str], widths: Sequence[int], width: int | None, *, below: bool = False) -> list[str]:
    """A row in columns of these widths, as many as have room; in none where one has not for its cell."""
    lead = _lead(row, widths)
    if width is None:
        return [f"{lead}{row[-1]}".rstrip()]
    if any(cells(cell) > size for cell, size in zip(row[:-1], widths[:-1], strict=True)):
        return _stacked(row, 0, "", width)
    kept = len(row) - 1
    while kept and _taken(widths[:kept]) - len(GAP) > width:
        kept -= 1
    if kept == len(row) - 1:
        return _beside(lead, row[-1], width, below=below)
    return _stacked(row, kept, _lead(row[: kept + 1], widths[: kept + 1]), width)


def _stacked(row: Sequence[str], kept: int, lead: str, width: int) -> list[str]:
    """A row that begins with so many columns, and has the rest below, beside each other where they have room;
    the last stands below them. A single column is none: it begins the rest."""
    alone = kept < 2
    below = _packed(row[:-1] if alone else row[kept:-1], width - len(INDENT))
    first = below.pop(0) if alone and below else lead.rstrip()
    if row[-1].strip():
        below += _wrapped(row[-1], width - len(INDENT))
    return [first, *[f"{INDENT}{line}" for line in below]]


def _packed(words: Iterable[str], width: int) -> list[str]:
    """As many of these beside each other as have room."""
    lines: list[str] = []
    for word in filter(str.strip, words):
        if lines and cells(lines[-1]) + len(GAP) + cells(word) <= width:
            lines[-1] += GAP + word
        else:
            lines.append(word)
    return lines


def _beside(lead: str, text: str, width: int, *, below: bool = False) -> list[str]:
    """A text that follows a lead, folded below its own beginning, or, without room there, below the lead."""
    taken = cells(lead)
    if not text.strip() or (not below and taken + cells(text) <= width):
        return [f"{lead}{text}".rstrip()]
    below = below or width - taken < max(_least(text), _longest_whole(text))
    margin = INDENT if below else " " * taken
    first, *more = _wrapped(text, max(width - len(margin), PROSE_WIDTH_MIN))
    rest = [f"{margin}{line}" for line in more]
    if below:
        return [*filter(None, [lead.rstrip()]), f"{margin}{first}".rstrip(), *rest]
    return [f"{lead}{first}".rstrip(), *rest]


def _least(text: str) -> int:
    """Cells that a column of prose needs, so that words (an address, say) are seldom cut."""
    longest = max(map(cells, text.split()), default=0)
    return min(max(longest, PROSE_WIDTH_MIN), WORD_KEPT)


def _longest_whole(text: str) -> int:
    """Cells of its longest word that is never cut."""
    return max((cells(word) for word in text.split() if WHOLE.fullmatch(word)), default=0)


SECOND_CELL = "\0"
"""Behind a wide character while a text is folded, so that it counts for two. `one_line` leaves none of it."""


class _Wrapper(TextWrapper):
    """Cuts no id: one that is longer than the line stands by itself, and the terminal folds it."""

    def _handle_long_word(
        self, reversed_chunks: list[str], cur_line: list[str], cur_len: int, width: int
    ) -> None:
        self.break_long_words = not WHOLE.fullmatch(reversed_chunks[-1])
        super()._handle_long_word(reversed_chunks, cur_line, cur_len, width)


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    """A line folded to a width; what goes on below begins with `indent`."""
    wrapper = _Wrapper(width, subsequent_indent=indent, break_on_hyphens=False)
    if cells(line) <= len(line):
        return wrapper.wrap(line) or [""]
    wrapper.width -= 1  # a word that is broken may be so within a wide character
    spread = "".join(f"{each}{SECOND_CELL}" if _cells_of(each) == 2 else each for each in line)
    return [part.replace(SECOND_CELL, "") for part in wrapper.wrap(spread)] or [""]
