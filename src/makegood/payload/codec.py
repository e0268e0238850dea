"""One codec per type hint."""

import re
from functools import lru_cache
from types import NoneType
from typing import Any

import msgspec

from makegood.errors import PayloadError
from makegood.payload.faults import first_difference, too_deep, too_large, unencodable, unreadable
from makegood.payload.traits import traits_of

STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')
BRACKETS = re.compile(rb"[\[\]{}]")

PAYLOAD_MAX = 1024 * 1024
"""The most bytes one payload may take, measured on what is stored."""
NESTING_MAX = 200
"""How deep a payload may be nested: what is written must be readable whatever the reader's stack holds."""


class Codec:
    """Writes and reads values of one type hint. Raises PayloadError if JSON cannot hold the type."""

    def __init__(self, hint: Any) -> None:
        self.hint = NoneType if hint is None else hint
        traits = traits_of(self.hint)
        self._holds_any = traits.holds_any
        self._several_forms = traits.several_forms
        # Sets have no order of their own; equal sets must still give equal bytes.
        self._encode = msgspec.json.Encoder(order="deterministic" if traits.holds_sets else None).encode
        self._decode = msgspec.json.Decoder(self.hint).decode

    def encode(self, value: Any, where: str = "value") -> bytes:
        """Compact JSON from which `decode` makes an equal value; raises PayloadError if there is none."""
        try:
            raw = self._encode(value)
        except Exception as error:  # the user's own types take part in all of this, with errors of their own
            raise unencodable(value, where, error) from None
        if len(raw) > PAYLOAD_MAX:
            raise too_large(where, len(raw), PAYLOAD_MAX)
        if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and nesting(raw) > NESTING_MAX:
            raise too_deep(where, NESTING_MAX)
        back = self.decode(raw, where)
        self._check_kept(value, back, where)
        # An int given for a float is written as the float it is, so that equal inputs are equal bytes.
        return self._encode(back) if self._several_forms else raw

    def decode(self, raw: bytes, where: str = "value") -> Any:
        """The value; raises PayloadError naming the path that does not fit the hint."""
        try:
            return self._decode(raw)
        except Exception as error:
            raise unreadable(where, error) from None

    def convert(self, builtins: Any, where: str = "value") -> Any:
        """The value from decoded JSON; raises PayloadError naming the path that does not fit the hint.

        Parts of the result may be the very objects given: nobody may change either.
        """
        try:
            return msgspec.convert(builtins, self.hint, str_keys=True)
        except Exception as error:
            raise unreadable(where, error) from None

    def _check_kept(self, value: Any, back: Any, where: str) -> None:
        try:
            # Equality is the fast road; types without an equality of their own take the walk.
            if back == value:
                return
            lost = first_difference(value, back, where, exact=self._holds_any)
        except Exception as error:
            raise unreadable(where, error) from None
        if lost:
            raise PayloadError(lost)


def nesting(raw: bytes) -> int:
    """How deep a JSON text is nested."""
    depth = deepest = 0
    for bracket in BRACKETS.findall(STRINGS.sub(b"", raw)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def codec_for(hint: Any) -> Codec:
    """The codec of a type hint, made once per hint; raises PayloadError if JSON cannot hold the type."""
    try:
        hash(hint)
    except TypeError:
        return Codec(hint)
    return _cached_codec(hint)


_cached_codec = lru_cache(maxsize=4096)(Codec)


def encode(value: Any, hint: Any, where: str = "value") -> bytes:
    """Write a value of this type; see Codec.encode."""
    return codec_for(hint).encode(value, where)


def decode(raw: bytes, hint: Any, where: str = "value") -> Any:
    """Read a value of this type; see Codec.decode."""
    return codec_for(hint).decode(raw, where)


def convert(builtins: Any, hint: Any, where: str = "value") -> Any:
    """A value of this type from decoded JSON; see Codec.convert."""
    return codec_for(hint).convert(builtins, where)
