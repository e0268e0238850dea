"""What a probe says: the effect is there, with its result, or it is not."""

import enum
from typing import Any, Final, Generic, TypeVar

import msgspec

T_co = TypeVar("T_co", covariant=True)


class There(msgspec.Struct, Generic[T_co], frozen=True):
    """The effect is there, and this is its result; needed where the result itself may be None."""

    value: T_co


class NotThere(enum.Enum):
    """The type of NOT_THERE, for hints: `There[Seat | None] | NotThere`."""

    NOT_THERE = "NOT_THERE"


NOT_THERE: Final = NotThere.NOT_THERE
"""The effect is not there."""


def probe_answer(answer: Any) -> There[Any] | NotThere:
    """What a probe returned, in one form: a plain None means not there, any other plain value there."""
    if isinstance(answer, There | NotThere):
        return answer
    return NOT_THERE if answer is None else There(answer)
