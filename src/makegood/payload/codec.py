"""One codec per type hint."""

import re
from functools import lru_cache
from types import NoneType
from typing import Any

import msgspec

from makegood.errors import PayloadError
from makegood.payload import foreign
from makegood.payload.defaults import own_defaults
from makegood.payload.faults import (
    first_difference,
    inexact,
    naive,
    too_deep,
    too_large,
    unencodable,
    unreadable,
)
from makegood.payload.finding import sort_sets, unknown_field
from makegood.payload.floats import (
    changed_in_sets,
    changed_number,
    exact_json,
    holds_large_int,
    kept_float,
    told_where,
)
from makegood.payload.parts import naive_moment
from makegood.payload.traits import traits_of

STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')
CHANGING = re.compile(rb"[0-9]{16}|[eE]-[0-9]{3}")
"""In JSON with an int that a float may not keep, or a number that is too small for one."""
BRACKETS = re.compile(rb"[\[\]{}]")
NAIVE = re.compile(rb'"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+"')
"""How a moment without a time zone is written."""

PAYLOAD_MAX = 1024 * 1024
"""The most bytes one payload may take, measured on what is stored."""
NESTING_MAX = 200
"""How deep a payload may be nested: what is written must be readable whatever the reader's stack holds."""


class Codec:
    """Writes and reads values of one type hint. Raises PayloadError if JSON cannot hold the type.

    What it says of a secret, or of a value that holds one, is its path and its type.
    """

    def __init__(self, hint: Any) -> None:
        self.hint = NoneType if hint is None else hint
        self._traits = traits_of(self.hint)
        self._write = msgspec.json.Encoder(enc_hook=foreign.written).encode
        self._decode = msgspec.json.Decoder(self.hint, dec_hook=foreign.read, float_hook=kept_float).decode

    def encode(self, value: Any, where: str = "value", *, limit: int = PAYLOAD_MAX) -> bytes:
        """Compact JSON from which `decode` makes an equal value.

        Raises PayloadError if there is none, or if it takes more than `limit` bytes.
        """
        traits = self._traits
        try:
            raw = self._encode(value)
        except Exception as error:  # the user's own types take part in all of this, with errors of their own
            raise unencodable(value, where, error, traits.marks) from None
        if len(raw) > limit:
            raise too_large(where, len(raw), limit)
        if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and nesting(raw) > NESTING_MAX:
            raise too_deep(where, NESTING_MAX)
        if traits.holds_moments and NAIVE.search(raw) and (path := naive_moment(value, where)):
            raise naive(traits.marks.shown(path, where))
        return self._kept(value, raw, where)

    def decode(self, raw: bytes, where: str = "value") -> Any:
        """The value; raises PayloadError naming the path that does not fit the hint, and UnknownField for a
        field that the type does not have: nothing is dropped."""
        if self._traits.form is not None:
            self._check_known(_any(raw, where), where)
        value = self._read(raw, where)
        if self._traits.holds_floats and CHANGING.search(raw):
            self._check_numbers(exact_json(raw), value, where)
        return value

    def convert(self, builtins: Any, where: str = "value") -> Any:
        """The value from decoded JSON; raises as `decode`.

        Parts of the result may be the very objects given: nobody may change either.
        """
        self._check_known(builtins, where)
        try:
            value = msgspec.convert(builtins, self.hint, str_keys=True, dec_hook=foreign.read)
            self._finish(value)
        except Exception as error:
            raise unreadable(where, error, self._traits.marks, self.hint) from None
        if self._traits.holds_floats and holds_large_int(builtins):
            self._check_numbers(builtins, value, where)
        return value

    def _check_numbers(self, json: Any, value: Any, where: str) -> None:
        """Raise PayloadError for a number that was read as a float which is another number."""
        find = changed_in_sets if self._traits.holds_sets else changed_number
        changed = find(json, msgspec.json.decode(self._write(value)), where)
        if changed is not None:
            raise inexact(changed.path, changed.given, changed.kept, where, self._traits.marks)

    def _encode(self, value: Any) -> bytes:
        """Sets have no order of their own; equal sets must still give equal bytes."""
        raw = self._write(value)
        if not self._traits.holds_sets:
            return raw
        json = msgspec.json.decode(raw)
        sort_sets(self._traits.form, json)
        return msgspec.json.encode(json)

    def _read(self, raw: bytes, where: str) -> Any:
        try:
            value = self._decode(raw)
            self._finish(value)
        except Exception as error:
            raise unreadable(where, told_where(error, raw), self._traits.marks, self.hint) from None
        return value

    def _finish(self, value: Any) -> None:
        """What msgspec leaves undone of a value that it has read."""
        if self._traits.holds_validated:
            foreign.validate(value)
        if self._traits.holds_defaults:
            own_defaults(value)

    def _check_known(self, json: Any, where: str) -> None:
        unknown = unknown_field(self._traits.form, json, where, self._traits.marks)
        if unknown is not None:
            raise unknown

    def _kept(self, value: Any, raw: bytes, where: str) -> bytes:
        """What is stored of a value written as `raw`; raises PayloadError if it would not come back."""
        traits = self._traits
        back = self._read(raw, where)
        try:
            # An int given for a float is written as the float it is, so that equal inputs are equal bytes.
            kept = self._encode(back) if traits.several_forms else raw
            alike = kept == raw or not traits.holds_decimals
            # Equality is the fast road; it does not tell all of some types, nor a float from a Decimal.
            if alike and not traits.partly_equal and back == value:
                return kept
            lost = first_difference(value, back, where, exact=traits.holds_any, marks=traits.marks)
        except Exception as error:
            raise unreadable(where, error, traits.marks) from None
        if lost:
            raise PayloadError(lost)
        return kept


def nesting(raw: bytes) -> int:
    """How deep a JSON text is nested."""
    depth = deepest = 0
    for bracket in BRACKETS.findall(STRINGS.sub(b"", raw)):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _any(raw: bytes, where: str) -> Any:
    try:
        return msgspec.json.decode(raw)
    except Exception as error:
        raise unreadable(where, error) from None


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
