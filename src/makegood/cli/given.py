"""JSON that a command is given: as it stands, in a file, or on stdin."""

import sys
from pathlib import Path

import msgspec

from makegood.errors import PayloadError


def read_json(source: str, what: str) -> bytes:
    """The JSON that is meant. Raises PayloadError when it cannot be read or is none."""
    raw = _read(source, what)
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "" if source[:1] in "@-" else "; in a shell, put it in single quotes"
        raise PayloadError(f"{what}: {error}{hint}") from None
    return raw


def _read(source: str, what: str) -> bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    if not source.startswith("@"):
        return source.encode("utf-8", "surrogateescape")
    try:
        return Path(source[1:]).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PayloadError(f"{what}: {source[1:]!r}: {reason}; @ stands before the name of a file") from None
