"""JSON that a command is given: as it stands, in a file, or on stdin."""

import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from makegood.core.doubled import doubled_key
from makegood.errors import PayloadError
from makegood.payload import PAYLOAD_MAX

READ_MAX = 16 * PAYLOAD_MAX
"""The most bytes that are read: a payload is measured as it is stored, without spaces and escapes."""


def read_json(source: str, what: str) -> bytes:
    """The JSON that is meant. Raises PayloadError when it cannot be read, is none, or holds a key twice."""
    try:
        raw = _read(source, what)
        msgspec.json.decode(raw)
        doubled = doubled_key(raw)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        hint = "" if source[:1] in "@-" else "; in a shell, put it in single quotes"
        raise PayloadError(f"{what}: {error}{hint}") from None
    if doubled:
        raise PayloadError(f"{what}: {doubled}")
    return raw


def _read(source: str, what: str) -> bytes:
    if source == "-":
        return _at_most(sys.stdin.buffer, what)
    if not source.startswith("@"):
        return source.encode("utf-8", "surrogateescape")
    try:
        with Path(source[1:]).open("rb") as file:
            return _at_most(file, what)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PayloadError(f"{what}: {source[1:]!r}: {reason}; @ stands before the name of a file") from None


def _at_most(file: BinaryIO, what: str) -> bytes:
    """All of it; raises PayloadError for what is far too large to be kept, or has no end."""
    raw = file.read(READ_MAX + 1)
    if len(raw) > READ_MAX:
        raise PayloadError(
            f"{what} has more than {READ_MAX:,} bytes; a payload may take {PAYLOAD_MAX:,}: "
            "keep the data where it is and pass its address"
        )
    return raw
