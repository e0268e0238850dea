"""One thing that the doctor looked at."""

from enum import Enum

import msgspec


class Level(Enum):
    """How well it is."""

    OK = "ok"
    WARN = "warn"
    """It works, and may not go on so."""
    BROKEN = "broken"
    """Tasks stand still, or what is recorded is at risk."""


class Line(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What was looked at, how it is, and the way out where it is not well."""

    level: Level
    about: str
    what: str
    way_out: str = ""


def ok(about: str, what: str) -> Line:
    return Line(Level.OK, about, what)


def warn(about: str, what: str, way_out: str) -> Line:
    return Line(Level.WARN, about, what, way_out)


def broken(about: str, what: str, way_out: str) -> Line:
    return Line(Level.BROKEN, about, what, way_out)
