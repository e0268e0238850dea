"""Pieces of Markdown."""

from collections.abc import Iterable, Sequence
from textwrap import indent


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; bars inside a cell are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def indented(text: str) -> str:
    """Text that is shown as it stands, and not run by those who try out documents."""
    return indent(text, "    ")
