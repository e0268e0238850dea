"""A plan as an SVG: forward is read downward on the left, undo upward on the right. Light and dark."""

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from makegood.core.plan import Plan
from makegood.drawing.rows import Close, Open, Row, Step, marks, rows, title
from makegood.reading.words import one_line

NAME_WIDTH, DETAIL_WIDTH = 8.4, 6.6
"""What a character takes at most, on average, in the two sizes of text."""
HEAD, FOOT = 78, 30
STEP, STEP_BOX, OPEN, CLOSE = 58, 46, 28, 12
RAIL, LEFT, BETWEEN, INDENT = 30, 60, 56, 14
BOX_MIN = 150

STYLE = """
    text { fill: #1f2933; font-size: 12px; }
    .paper { fill: #ffffff; }
    .title { font-size: 17px; font-weight: 600; }
    .name { font-size: 14px; font-weight: 600; }
    .soft { fill: #52606d; }
    .step { fill: #e6f0fa; stroke: #2b6cb0; }
    .reads { fill: #ffffff; stroke: #7b8794; }
    .pivot { fill: #fde8d0; stroke: #b7791f; stroke-width: 2.5; }
    .undo { fill: #ffffff; stroke: #2b6cb0; }
    .order { fill: #2b6cb0; }
    .number { fill: #ffffff; font-weight: 600; }
    .group { fill: none; stroke: #7b8794; stroke-dasharray: 5 4; }
    .line { fill: none; stroke: #52606d; stroke-width: 1.6; }
    .back { stroke-dasharray: 2 4; }
    .tip { fill: #52606d; }
    @media (prefers-color-scheme: dark) {
      text { fill: #e4e7eb; }
      .paper { fill: #0d1117; }
      .soft { fill: #b0bac5; }
      .step { fill: #17314d; stroke: #63b3ed; }
      .reads, .undo { fill: #1f2933; }
      .undo { stroke: #63b3ed; }
      .pivot { fill: #4a3413; stroke: #ecc94b; }
      .line { stroke: #b0bac5; }
      .tip { fill: #b0bac5; }
    }"""


class Columns(NamedTuple):
    """Where things stand across; `depth` is how deep groups lie at most."""

    step: float
    undo: float
    depth: int

    @property
    def undo_left(self) -> float:
        return LEFT + self.step + 2 * INDENT * self.depth + BETWEEN

    @property
    def width(self) -> float:
        return self.undo_left + self.undo + LEFT


class Placed(NamedTuple):
    """A row, and how far down it begins."""

    row: Row
    top: float


def svg(plan: Plan) -> str:
    """The whole file's text. Its texts can be selected, and it tells a screen reader what it shows."""
    placed = list(_placed(plan))
    columns = _columns([each.row for each in placed])
    height = placed[-1].top + _height(placed[-1].row) + FOOT
    return "\n".join(
        [
            *_head(plan, columns.width, height),
            *_rails(placed, columns, height),
            *_groups(placed, columns),
            *[line for each in placed if isinstance(each.row, Step) for line in _step(each, columns)],
            "</svg>",
        ]
    )


# --- where things stand


def _placed(plan: Plan) -> Iterator[Placed]:
    top = float(HEAD)
    for row in rows(plan):
        yield Placed(row, top)
        top += _height(row)


def _height(row: Row) -> float:
    return STEP if isinstance(row, Step) else OPEN if isinstance(row, Open) else CLOSE


def _columns(drawn: list[Row]) -> Columns:
    steps = [row for row in drawn if isinstance(row, Step)]
    depth = max(row.depth for row in steps)
    return Columns(
        step=max(BOX_MIN, *[_room(row.plan.name, _details(row)) for row in steps]),
        undo=max(BOX_MIN, *[40 + _room(row.way_back) for row in steps]) + INDENT * depth,
        depth=depth,
    )


def _room(name: str, details: str = "") -> float:
    return 24 + max(NAME_WIDTH * len(one_line(name)), DETAIL_WIDTH * len(details))


def _details(row: Step) -> str:
    return one_line(", ".join(marks(row.plan)))


# --- what is drawn


def _head(plan: Plan, width: float, height: float) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-labelledby="title description" '
        "font-family=\"system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif\">"
    )
    yield f'  <title id="title">Plan {title(plan)}</title>'
    yield f'  <desc id="description">{escape(_described(plan))}</desc>'
    yield f"  <style>{STYLE}\n  </style>"
    yield '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"'
    yield '    markerUnits="userSpaceOnUse" orient="auto">'
    yield '    <path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>'
    yield f'  <rect class="paper" width="{width:g}" height="{height:g}" rx="10"/>'
    yield _text("title", RAIL - 10, 30, title(plan))


def _described(plan: Plan) -> str:
    """The drawing in words."""
    steps = [row for row in rows(plan) if isinstance(row, Step)]
    forward = ", ".join(f"{row.plan.name} ({_details(row)})" for row in steps)
    undos = sorted((row for row in steps if row.order), key=lambda row: row.order)
    back = ", ".join(f"{row.order} {row.way_back} for {row.plan.name}" for row in undos)
    return one_line(f"Forward: {forward}. Undo, in this order: {back or 'nothing'}.")


def _rails(placed: list[Placed], columns: Columns, height: float) -> Iterator[str]:
    """The two long arrows. The undo lane begins above the pivot, if there is one."""
    right = columns.width - RAIL
    top, bottom = HEAD - 8, height - FOOT + 6
    pivot = [each.top for each in placed if isinstance(each.row, Step) and each.row.plan.pivot]
    yield _text("soft", RAIL - 10, HEAD - 18, "forward")
    yield _text("soft", right + 10, HEAD - 18, "undo, from 1 on", anchor="end")
    yield f'  <path class="line" d="M{RAIL} {top}V{bottom:g}" marker-end="url(#tip)"/>'
    yield f'  <path class="line" d="M{right:g} {min([bottom, *pivot]):g}V{top}" marker-end="url(#tip)"/>'


def _groups(placed: list[Placed], columns: Columns) -> Iterator[str]:
    begun: list[Placed] = []
    for each in placed:
        if isinstance(each.row, Open):
            begun.append(each)
            left = LEFT + INDENT * each.row.depth
            yield _text("soft", left + 2, each.top + 17, each.row.group.value)
        elif isinstance(each.row, Close):
            yield _frame(begun.pop(), each.top + CLOSE - 6, columns)


def _frame(begun: Placed, bottom: float, columns: Columns) -> str:
    inset = LEFT - 10 + INDENT * begun.row.depth
    return _box("group", inset, begun.top, columns.width - 2 * inset, bottom - begun.top)


def _step(each: Placed, columns: Columns) -> Iterator[str]:
    assert isinstance(each.row, Step)
    row, top, middle = each.row, each.top + 4, each.top + 4 + STEP_BOX / 2
    left = LEFT + INDENT * row.depth
    kind = "pivot" if row.plan.pivot else "reads" if row.plan.reads else "step"
    yield _box(kind, left, top, columns.step)
    yield _text("name", left + 12, top + 19, row.plan.name)
    yield _text("soft", left + 12, top + 37, _details(row))
    at = columns.undo_left
    yield f'  <path class="line back" d="M{left + columns.step:g} {middle:g}H{at:g}"/>'
    if not row.order:
        yield _text("soft", at + 6, middle + 4, row.way_back)
        return
    yield _box("undo", at, top, columns.undo - INDENT * row.depth)
    yield f'  <circle class="order" cx="{at + 20:g}" cy="{middle:g}" r="11"/>'
    yield _text("number", at + 20, middle + 4, str(row.order), anchor="middle")
    yield _text("name", at + 40, middle + 5, row.way_back)


def _box(kind: str, left: float, top: float, width: float, height: float = STEP_BOX) -> str:
    return f'  <rect class="{kind}" x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="7"/>'


def _text(kind: str, x: float, y: float, words: str, *, anchor: str = "start") -> str:
    return (
        f'  <text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(one_line(words))}</text>'
    )
