"""How a store and those who work on it are: what the doctor looks at, and what it makes of that."""

from makegood.health.examine import examine
from makegood.health.line import Level, Line

__all__ = ["Level", "Line", "examine"]
