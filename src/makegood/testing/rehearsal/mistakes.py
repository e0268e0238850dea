"""Mistakes in a user's own code: errors by which Python says that the code is wrong, and no service anything.

To a task such an error is Unknown, as every error is that nobody knows: a person is asked. In a rehearsal it
is written down, with its line, wherever an own function raises it, or what a fake service does.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, NamedTuple

import msgspec

from makegood.agents.call import Call
from makegood.agents.work import returned
from makegood.authoring.action import Action, Function
from makegood.authoring.places import users_frames
from makegood.core.record import Kind
from makegood.errors import in_words, plain
from makegood.testing.rehearsal.fakes import stage_here

ERRORS: Final = frozenset(
    (AssertionError, AttributeError, ImportError, IndexError, KeyError, ModuleNotFoundError, NameError)
    + (NotImplementedError, RecursionError, TypeError, UnboundLocalError, ZeroDivisionError)
)
"""Just these: an error of a class that derives from one of them may be somebody's word."""


class Mistake(NamedTuple):
    """What was raised during a call for a step, and where: `app.py:12 in book`."""

    step: str
    kind: Kind
    error: str
    where: str


class Mistakes:
    """Those that came to light in one world, and how often."""

    def __init__(self) -> None:
        self.made: Counter[Mistake] = Counter()
        self._known: list[BaseException] = []

    def look(self, error: BaseException, during: Call, where: str) -> None:
        """Write an error down if it is a mistake; one that passes through several hands once.

        `where` is said where no line of the user's own led to it.
        """
        if isinstance(error, BaseExceptionGroup):
            for one in error.exceptions:
                self.look(one, during, where)
        elif type(error) in ERRORS and not any(error is known for known in self._known):
            self._known.append(error)
            [where] = users_frames(error.__traceback__)[-1:] or [where]
            said, _, _ = during.hides(in_words(error, at_most=None)).partition("\n")
            self.made[Mistake(during.step, during.kind, plain(said), where)] += 1


def watched(action: Action) -> Action:
    """The same action; the world in which its functions run is told what they raise."""
    return msgspec.structs.replace(
        action,
        do=_watched(action.do),
        undo=action.undo and _watched(action.undo),
        probe=action.probe and _watched(action.probe),
    )


def _watched(function: Function) -> Function:
    fn: Callable[..., Any] = function.fn

    @wraps(fn)
    async def awaited(*args: Any, **given: Any) -> Any:
        with _told(function):
            return returned(await fn(*args, **given))

    @wraps(fn)
    def called(*args: Any, **given: Any) -> Any:
        with _told(function):
            return returned(fn(*args, **given))

    return msgspec.structs.replace(function, fn=awaited if function.is_async else called)


@contextmanager
def _told(function: Function) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        stage = stage_here()
        if stage is not None:
            stage.raised(error, function.place)
        raise
