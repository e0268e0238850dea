"""What a codec makes of payloads and error texts before they are stored, and how it is told from clear text.

A closed payload is a JSON string, `"{makegood:NAME:...}"`, which names the codec that can open it. In a
longer text such a part may stand anywhere: the core puts texts together, and cuts long ones off.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Protocol

import msgspec

from makegood.errors import MakegoodError, PayloadError, in_words
from makegood.payload.codec import PAYLOAD_MAX

CLEAR_MAX = 16 * PAYLOAD_MAX
"""The most bytes of a payload that is given to a codec."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,29}")
CLOSED = re.compile(
    r"\{makegood:([A-Za-z0-9._-]*)([:=]?)([A-Za-z0-9_=-]*)(\}?)(\{(?!makegood:[^{}]*\})[A-Za-z0-9._:=-]*)?"
)
"""`=` before what was text already, `:` before the base64 of anything else; no `}` where it was cut off, and
behind it perhaps the beginning of another that was."""
AS_TEXT = re.compile(rb"[A-Za-z0-9_=-]+")


GIVE_IT = "give the one that wrote it: MAKEGOOD_CODEC=APP:NAME, or codec="


class PayloadCodec(Protocol):
    """Makes other bytes of what is stored: encryption, compression. `name` is stored beside them."""

    @property
    def name(self) -> str: ...
    def encode(self, clear: bytes, /) -> bytes: ...
    def decode(self, stored: bytes, /) -> bytes: ...


class Envelope:
    """Closes and opens what one process stores and reads; without a codec everything is stored as it is.

    Raises MakegoodError for a codec that is none.
    """

    def __init__(self, codec: PayloadCodec | None = None) -> None:
        self._codec = codec
        if codec is not None and not NAME.fullmatch(str(getattr(codec, "name", ""))):
            raise MakegoodError(
                f"codec {codec!r} has no name that matches {NAME.pattern}; it is stored, so that a reader "
                "without the codec is told which: name = 'fernet-2027'"
            )

    @property
    def clear_max(self) -> int:
        """The most bytes that a payload may have before it is closed."""
        return PAYLOAD_MAX if self._codec is None else CLEAR_MAX

    # --- payloads

    def close(self, clear: bytes, where: str) -> bytes:
        """A payload as it is stored; raises PayloadError if it could not be opened again, or is too large."""
        if self._codec is None:
            if clear.startswith(b'"{makegood:'):
                raise PayloadError(
                    f"{where} looks like something that a codec has written; begin it otherwise"
                )
            return clear
        closed = msgspec.json.encode(self._closed(self._codec, clear, where))
        if len(closed) > PAYLOAD_MAX:
            raise PayloadError(
                f"{where} takes {len(closed):,} bytes as codec {self._codec.name!r} writes it; a payload may "
                f"take {PAYLOAD_MAX:,}: keep the data where it is and pass its address"
            )
        return closed

    def open(self, stored: bytes, where: str) -> bytes:
        """A payload in clear; what was stored without a codec is clear. Raises PayloadError."""
        if not stored.startswith(b'"{makegood:'):
            return stored
        found = CLOSED.fullmatch(msgspec.json.decode(stored, type=str))
        return stored if found is None else self._opened(found, where)

    def show(self, stored: bytes) -> bytes:
        """A payload in clear, or JSON text that says why it cannot be."""
        try:
            return self.open(stored, "this")
        except PayloadError as error:
            return msgspec.json.encode(f"({error})")

    # --- texts

    def close_text(self, text: str, kept: int) -> str:
        """A text as it is stored: in two parts, so that the first can be read where only `kept` are kept."""
        if self._codec is None or not text:
            return text
        try:
            whole = self._closed(self._codec, text.encode(), "an error")
            if len(whole) <= kept:
                return whole
            length = next((n for n in range(kept, 0, -10) if self._fits(text[:n], kept)), 0)
            return self._closed_text(text[:length]) + self._closed_text(text[length:])
        except PayloadError:  # how a call ended is told in any case
            return f"an error that codec {self._codec.name!r} failed on"

    def open_text(self, text: str) -> str:
        """A text in clear; it says so where a part of it cannot be opened."""
        return CLOSED.sub(self._told, text) if "{makegood:" in text else text

    def _fits(self, text: str, kept: int) -> bool:
        return len(self._closed_text(text)) <= kept

    def _closed_text(self, text: str) -> str:
        return self._closed(self._codec, text.encode(), "an error") if self._codec and text else ""

    def _told(self, found: re.Match[str]) -> str:
        if not found[4]:
            return "..."
        try:
            return self._opened(found, "this").decode() + ("..." if found[5] else "")
        except (PayloadError, UnicodeError) as error:
            return f"({error})"

    # --- both

    def _closed(self, codec: PayloadCodec, clear: bytes, where: str) -> str:
        try:
            stored = _bytes(codec.encode(clear), "encode")
            kept = _bytes(codec.decode(stored), "decode") == clear
        except Exception as error:  # the user's own
            raise PayloadError(f"{where}: codec {codec.name!r} failed: {in_words(error)}") from None
        if not kept:
            raise PayloadError(f"{where}: codec {codec.name!r} cannot read back what it has written")
        if AS_TEXT.fullmatch(stored):
            return f"{{makegood:{codec.name}={stored.decode()}}}"
        return f"{{makegood:{codec.name}:{urlsafe_b64encode(stored).decode()}}}"

    def _opened(self, found: re.Match[str], where: str) -> bytes:
        name, form, text = found[1], found[2], found[3]
        if self._codec is None:
            raise PayloadError(
                f"{where} is stored by codec {name!r}, which this process was not given; {GIVE_IT}"
            )
        if self._codec.name != name:
            raise PayloadError(
                f"{where} is stored by codec {name!r}, and this process was given {self._codec.name!r}; "
                f"{GIVE_IT}"
            )
        try:
            stored = text.encode() if form == "=" else urlsafe_b64decode(text)
            return _bytes(self._codec.decode(stored), "decode")
        except Exception as error:  # the user's own
            raise PayloadError(
                f"{where} is stored, and codec {name!r} cannot open it: {in_words(error)}; if it has "
                f"another key, {GIVE_IT}"
            ) from None


def _bytes(made: object, by: str) -> bytes:
    if not isinstance(made, bytes | bytearray | memoryview):
        raise TypeError(f"its {by} gave {type(made).__name__}; it must give bytes")
    return bytes(made)
