"""Errors that tell a user what to mend end at the line of his test, with no frame of ours below it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from makegood.errors import MakegoodError

P = ParamSpec("P")
T = TypeVar("T")


def to_the_point(function: Callable[P, T]) -> Callable[P, T]:
    """The same; what it says with an error of makegood's is shown by pytest at the caller's line."""

    @wraps(function)
    def pointed(*args: P.args, **named: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return function(*args, **named)
        except MakegoodError as error:
            raise error.with_traceback(None)  # noqa: B904  # it is the same error

    return pointed
