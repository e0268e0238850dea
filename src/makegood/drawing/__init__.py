"""A plan drawn with its way back: as text, as Mermaid, as SVG. Pure: a compiled plan in, text out."""

from makegood.drawing.mermaid import mermaid
from makegood.drawing.rows import title
from makegood.drawing.svg import svg
from makegood.drawing.text import text

__all__ = ["mermaid", "svg", "text", "title"]
