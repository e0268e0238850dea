"""A plan as plain text for a terminal: forward is read downward on the left, undo upward on the right."""

from collections.abc import Iterator
from textwrap import wrap

from makegood.core.plan import Plan
from makegood.drawing.rows import Close, Open, Row, Step, marks, rows, title
from makegood.reading.words import one_line

UNDO_AT_MAX = 46
"""The column at which the undo lane stands at the latest; a longer name on the left goes past it."""
DETAIL_MIN = 24
INDENT = "|  "
NO_BREAK = "\N{NO-BREAK SPACE}"


def text(plan: Plan) -> str:
    """The drawing, in 80 columns unless names are too long for that."""
    drawn = list(rows(plan))
    at = _undo_at(drawn)
    lines = [title(plan), "", f"{'forward':{at}}undo, from 1 on", f"{'|':{at}}^"]
    rail = "|"
    for row in drawn:
        if isinstance(row, Step) and row.plan.pivot:
            rail = ""  # compensation never begins below the pivot
        lines += _row(row, at, rail)
    return "\n".join([*lines, "v"])


def _undo_at(drawn: list[Row]) -> int:
    widths = [len(line) for row in drawn for line in _left(row, UNDO_AT_MAX)]
    return min(max(widths) + 2, UNDO_AT_MAX)


def _row(row: Row, at: int, rail: str) -> Iterator[str]:
    """The lines of a row: the left lane, with the undo lane beside it."""
    way_back = _right(row)
    for line in _left(row, at):
        if len(line) >= at:
            yield line
        else:
            yield f"{line:{at}}{rail:1}  {way_back}".rstrip()
            way_back = ""
    if way_back:
        yield f"{INDENT * (row.depth + 1):{at}}{rail:1}  {way_back}".rstrip()


def _left(row: Row, at: int) -> list[str]:
    trunk = INDENT * row.depth
    if isinstance(row, Open):
        return [f"{trunk}+- {row.group.value}"]
    if isinstance(row, Close):
        return [f"{trunk}|"]
    room = max(at - len(trunk) - len(INDENT) - 1, DETAIL_MIN)
    sign = "#" if row.plan.pivot else "o"
    return [f"{trunk}{sign}  {row.plan.name}", *[f"{trunk}{INDENT}{line}" for line in _details(row, room)]]


def _details(row: Step, room: int) -> list[str]:
    """What is declared of the step, in lines of this length; each mark stays in one piece."""
    whole = ", ".join(one_line(mark).replace(" ", NO_BREAK) for mark in marks(row.plan))
    folded = wrap(whole, room, break_long_words=False, break_on_hyphens=False)
    return [line.replace(NO_BREAK, " ") for line in folded]


def _right(row: Row) -> str:
    if not isinstance(row, Step):
        return ""
    return f"{row.order or '-'}  {one_line(row.way_back)}"
