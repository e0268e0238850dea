"""Rows and heads whose payloads and texts a codec has closed, opened for a person to see."""

from typing import Any, Protocol

import msgspec

from makegood.core.events import AnyFact, Row
from makegood.core.record import Head


class Opener(Protocol):
    """Opens what a codec has closed. Of what it cannot open it tells so, in its place."""

    def show(self, stored: bytes, /) -> bytes: ...
    def open_text(self, text: str, /) -> str: ...


class AsStored:
    """Opens nothing: what is stored is clear."""

    def show(self, stored: bytes, /) -> bytes:
        return stored

    def open_text(self, text: str, /) -> str:
        return text


AS_STORED = AsStored()


def opened_row(row: Row, opener: Opener) -> Row:
    """A row in clear."""
    return msgspec.structs.replace(row, facts=[_opened(fact, opener) for fact in row.facts])


def opened_head(head: Head, opener: Opener) -> Head:
    """The very head, in clear."""
    head.reason, head.pending = opener.open_text(head.reason), opener.open_text(head.pending)
    for opened in head.open.values():
        opened.error = opener.open_text(opened.error)
    return head


def _opened(fact: AnyFact, opener: Opener) -> AnyFact:
    changed: dict[str, Any] = {}
    for name, value in msgspec.structs.asdict(fact).items():
        match value:
            case msgspec.Raw():
                changed[name] = msgspec.Raw(opener.show(bytes(value)))
            case (msgspec.Raw() as given,):
                changed[name] = (msgspec.Raw(opener.show(bytes(given))),)
            case str() if type(value) is str:
                changed[name] = opener.open_text(value)
            case _:
                pass
    return msgspec.structs.replace(fact, **changed) if changed else fact
