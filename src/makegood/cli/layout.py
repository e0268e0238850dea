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
    Where these have no room themselves, each row goes on below its beginning.
    """
    lines = [list(columns), *[[one_line(cell) for cell in row] for row in rows]]
    widths = [max(cells(row[n]) for row in lines) for n in range(len(columns))]
    if width is not None and sum(widths[:-1]) + len(GAP) * (len(widths) - 2) > width:
        return [_stacked(row, width) for row in lines]
    laid = [(_lead(row, widths), row[-1]) for row in lines]
    below = width is not None and any(_has_no_room(lead, text, width) for lead, text in laid)
    return [_beside(lead, text, width, below=below) for lead, text in laid]


def row_lines(row: Sequence[str], widths: Sequence[int], width: int | None) -> list[str]:
    """A row whose columns have these widths, the last folded to what is left of `width`."""
    shown = [one_line(cell) for cell in row]
    return _beside(_lead(shown, widths), shown[-1], width)


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


def _stacked(row: Sequence[str], width: int) -> list[str]:
    """A row without columns: as many of its cells as have room beside each other, and the last below them."""
    *first, last = row
    lines = [first[0]]
    for cell in filter(None, first[1:]):
        if cells(lines[-1]) + len(GAP) + cells(cell) <= width:
            lines[-1] += GAP + cell
        else:
            lines.append(INDENT + cell)
    below = _wrapped(last, width - len(INDENT)) if last.strip() else []
    return lines + [f"{INDENT}{line}" for line in below]


def _has_no_room(lead: str, text: str, width: int) -> bool:
    taken = cells(lead)
    return taken + cells(text) > width and width - taken < _least([text])


def _beside(lead: str, text: str, width: int | None, *, below: bool = False) -> list[str]:
    """A text that follows a lead, folded below its own beginning, or, without room there, below the lead."""
    if width is None or not ((text and below) or cells(lead) + cells(text) > width):
        return [f"{lead}{text}".rstrip()]
    below = below or _has_no_room(lead, text, width)
    margin = INDENT if below else " " * cells(lead)
    first, *more = _wrapped(text, max(width - len(margin), PROSE_WIDTH_MIN))
    rest = [f"{margin}{line}" for line in more]
    if below:
        return [*filter(None, [lead.rstrip()]), f"{margin}{first}".rstrip(), *rest]
    return [f"{lead}{first}".rstrip(), *rest]


def _least(texts: Iterable[str]) -> int:
    """Cells that a column of prose needs, so that words (an address, say) are seldom cut."""
    longest = max((cells(word) for text in texts for word in text.split()), default=0)
    return min(max(longest, PROSE_WIDTH_MIN), WORD_KEPT)


SECOND_CELL = "\0"
"""Behind a wide character while a text is folded, so that it counts for two. `one_line` leaves none of it."""


def _wrapped(line: str, width: int, indent: str = "") -> list[str]:
    """A line folded to a width; what goes on below begins with `indent`."""
    wrapper = TextWrapper(width, subsequent_indent=indent, break_on_hyphens=False)
    if cells(line) <= len(line):
        return wrapper.wrap(line) or [""]
    wrapper.width -= 1  # a word that is broken may be so within a wide character
    spread = "".join(f"{each}{SECOND_CELL}" if _cells_of(each) == 2 else each for each in line)
    return [part.replace(SECOND_CELL, "") for part in wrapper.wrap(spread)] or [""]
