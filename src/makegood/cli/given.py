"""What a command is given: text, times, and JSON as it stands, in a file or its lines, or on stdin."""

import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import date, datetime, timedelta
from itertools import count
from math import isnan, nan
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click
import msgspec
from click.types import StringParamType

from makegood.cli.malformed import is_utf16, reason, way_out
from makegood.core.doubled import doubled_key
from makegood.errors import MakegoodError, PayloadError
from makegood.payload import PAYLOAD_MAX
from makegood.reading.matching import LENGTH, length_in_seconds

READ_MAX = 16 * PAYLOAD_MAX
"""The most bytes that are read: a payload is measured as it is stored, without spaces and escapes."""
ZONE = re.compile(r"(Z|[+-]\d\d:?\d\d)$")
"""A time zone at the end of a moment."""


@contextmanager
def as_misuse(what: str = "") -> Iterator[None]:
    """Make a usage error, with exit code 2, of what is refused in here: it was said on the command line."""
    try:
        yield
    except MakegoodError as error:
        raise click.UsageError(f"{what}: {error}" if what else str(error)) from None


class Text(StringParamType):
    """Words that are recorded, or compared with what is: a shell can pass bytes that are no text."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text; a usage error where it is not valid Unicode."""
        text = super().convert(value, param, ctx)
        try:
            text.encode()
        except UnicodeEncodeError:
            self.fail(f"{text!r} is not valid UTF-8; give text", param, ctx)
        return text


TEXT = Text()


class Whole(click.IntRange):
    """A whole number; where it is none, click says so in this word."""

    name = "whole number"


class Number(click.FloatRange):
    """A number; as Whole."""

    name = "number"


class Length(click.FloatRange):
    """A length of time: 90s, 10m, 2h, 3d, or a plain number of seconds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """In seconds; a usage error for what is none, or out of the range."""
        length = LENGTH.fullmatch(str(value))
        try:
            seconds = length_in_seconds(length) if length else float(value)
        except ValueError:
            seconds = nan
        if isnan(seconds):
            self.fail(f"{value!r} is no length of time; write 90s, 10m, 2h, 3d, or seconds", param, ctx)
        return float(super().convert(seconds, param, ctx))


LENGTHS = "TIME is 90s, 10m, 2h, 3d, or seconds"
"""For the help of options with a Length."""


def read_json(source: str, what: str, example: str = "") -> bytes:
    """The JSON that is meant; `example` is some that is right there, for one who gave nothing.

    Raises PayloadError when it cannot be read, is none, or holds a key twice.
    """
    try:
        raw = _read(source, what).removeprefix(BOM_UTF8)
    except UnicodeError as error:  # half of a surrogate pair, from a program
        raise PayloadError(f"{what}: {reason(error, b'')}") from None
    if not raw.strip():
        raise PayloadError(f"{what}: it is empty; give JSON" + (f", such as {example}" if example else ""))
    return check_json(raw, what, "" if source[:1] in "@-" else source)


def check_json(raw: bytes, what: str = "", typed: str = "") -> bytes:
    """The very bytes. Raises PayloadError, which names `what` they are, for no JSON, or a key in it twice.

    `typed`: as it stands on a command line.
    """
    named = f"{what}: " if what else ""
    try:
        msgspec.json.decode(raw)
        doubled = doubled_key(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        why = reason(error, raw)
        raise PayloadError(f"{named}{why}{way_out(typed, why) if typed else ''}") from None
    if doubled:
        raise PayloadError(f"{named}{doubled}")
    return raw


def read_lines(source: str) -> Iterator[tuple[int, bytes]]:
    """The lines of a file, or of stdin (-), that are not blank, numbered from 1.

    Raises PayloadError where it cannot be read, and for a line without end.
    """
    what = "stdin" if source == "-" else source
    try:
        with _opened(source) as file:
            for number in count(1):
                line = _at_most(file.readline, f"{what}, line {number}")
                line = line.removeprefix(BOM_UTF8) if number == 1 else line
                if not line:
                    return
                if number == 1 and is_utf16(line):
                    raise PayloadError(f"{what}: it is UTF-16, and JSON is UTF-8; save it as that")
                if line.strip():
                    yield number, line
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PayloadError(f"{what}: {reason}; name a file of JSON lines, or - for stdin") from None


def _opened(source: str) -> AbstractContextManager[BinaryIO]:
    return nullcontext(_stdin("--many")) if source == "-" else Path(source).open("rb")


def moment_given(source: str, what: str) -> datetime | timedelta:
    """The moment that is meant: one with its time zone, or how long from now. Raises UsageError."""
    if length := LENGTH.fullmatch(source):
        try:
            return timedelta(seconds=length_in_seconds(length))
        except OverflowError:
            raise click.UsageError(f"{what}: {source} from now is after the year 9999") from None
    if _is_day(source):
        raise click.UsageError(
            f"{what}: {source!r} is a whole day; write date and time, as in 2027-01-31T08:00:00Z"
        )
    try:
        moment = datetime.fromisoformat(source)
    except ValueError:
        raise click.UsageError(
            f"{what}: {source!r} is no moment; write 2027-01-31T08:00:00Z, or 90s, 10m, 2h, 3d from now"
        ) from None
    if moment.tzinfo is None:
        raise click.UsageError(f"{what}: {source!r} has no time zone; add Z or +01:00")
    return moment


def _is_day(source: str) -> bool:
    """Whether it is a date alone, be it with a time zone."""
    try:
        date.fromisoformat(ZONE.sub("", source))
    except ValueError:
        return False
    return True


def _read(source: str, what: str) -> bytes:
    if source == "-":
        return _read_stdin(what)
    if not source.startswith("@"):
        return source.encode("utf-8", "surrogateescape")
    try:
        with Path(source[1:]).open("rb") as file:
            return _at_most(file.read, what)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PayloadError(f"{what}: {source[1:]!r}: {reason}; @ stands before the name of a file") from None


def _read_stdin(what: str) -> bytes:
    try:
        return _at_most(_stdin(what).read, what)
    except OSError as error:
        raise PayloadError(f"{what}: stdin: {error.strerror}; pipe JSON into it, or give @file") from None


def _stdin(what: str) -> BinaryIO:
    stdin: TextIO | None = sys.stdin  # None in a process that was started without one
    if stdin is None:
        raise PayloadError(f"{what}: - is stdin, which is closed; pipe JSON into it, or give a file")
    return stdin.buffer


def _at_most(read: Callable[[int], bytes], what: str) -> bytes:
    """All of it; raises PayloadError for what is far too large to be kept, or has no end."""
    raw = read(READ_MAX + 1)
    if len(raw) > READ_MAX:
        raise PayloadError(
            f"{what} has more than {READ_MAX:,} bytes; a payload may take {PAYLOAD_MAX:,}: "
            "keep the data where it is and pass its address"
        )
    return raw
