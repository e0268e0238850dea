"""What a task's history holds for its next call: the input, the results and the keys of its steps.

Payloads stay the raw bytes they were recorded as; nobody here looks inside.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from makegood.core.events import (
    NULL,
    Answer,
    AnyFact,
    Moved,
    Offered,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    SkipAsked,
    Surfaced,
    TaskSubmitted,
)
from makegood.core.keys import derive_key
from makegood.core.plan import StepPlan
from makegood.core.record import Kind, Phase


class Values:
    """The input of a task and, by step, the results that are known and the keys that were used."""

    __slots__ = ("_done", "_late", "_said", "do_keys", "input", "results")

    def __init__(self) -> None:
        self.input: msgspec.Raw = NULL
        self.results: dict[int, msgspec.Raw] = {}
        self.do_keys: dict[int, str] = {}
        self._done: set[int] = set()
        self._said: dict[int, msgspec.Raw] = {}
        self._late: dict[int, msgspec.Raw] = {}

    def absorb(self, facts: Iterable[AnyFact]) -> None:
        """Take in the facts of the next row.

        A result counts once its step is done. One that evidence brought counts from the next round of the
        undo on: every attempt of a round sends the same bytes.
        """
        for fact in facts:
            take = _TAKES.get(type(fact))
            if take is not None:
                take(self, fact)

    def do_key(self, task_id: str, step: StepPlan) -> str:
        """The key of a step's do. One that is not on record, as a backup was put back, was its first."""
        return self.do_keys.get(step.index) or derive_key(task_id, step.name, Kind.DO, 1, step.key)

    def _submitted(self, fact: TaskSubmitted) -> None:
        self.input = fact.input

    def _reported(self, fact: Reported) -> None:
        if fact.kind is Kind.DO and fact.reply is Reply.DONE:
            self._said[fact.step] = fact.result

    def _probed(self, fact: Probed) -> None:
        if fact.answer is Answer.THERE:
            self.results[fact.step] = self._said[fact.step] = fact.result

    def _settled(self, fact: SkipAsked | ResolveAsked) -> None:
        """A person's result; of a step that is done already it is a correction, and counts at once."""
        if fact.result is None:
            return
        known = self.results if fact.step in self._done else self._said
        known[fact.step] = fact.result

    def _surfaced(self, fact: Surfaced) -> None:
        if fact.step in self._said:
            self._late[fact.step] = self._said.pop(fact.step)

    def _moved(self, fact: Moved) -> None:
        if fact.phase is Phase.DONE or fact.phase is Phase.SKIPPED:
            self._done.add(fact.step)
            self._known(fact.step, self._late if fact.step in self._late else self._said)

    def _offered(self, fact: Offered) -> None:
        if fact.key and fact.kind is Kind.DO:
            self.do_keys[fact.step] = fact.key
        elif fact.key:
            self._known(fact.step, self._late)

    def _known(self, step: int, source: dict[int, msgspec.Raw]) -> None:
        if step in source:
            self.results[step] = source.pop(step)


_TAKES: Final[dict[type[AnyFact], Callable[[Values, Any], None]]] = {
    TaskSubmitted: Values._submitted,
    Reported: Values._reported,
    Probed: Values._probed,
    SkipAsked: Values._settled,
    ResolveAsked: Values._settled,
    Surfaced: Values._surfaced,
    Moved: Values._moved,
    Offered: Values._offered,
}
"""What each kind of fact adds; the others hold no payload and no key."""
