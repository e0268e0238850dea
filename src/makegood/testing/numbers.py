"""The numbers and keys of a task's calls, followed through its history: S4 and S5."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from makegood.core.events import (
    Answer,
    AnyFact,
    Claimed,
    EvidenceFiled,
    Moved,
    Offered,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    Restored,
    RetryAsked,
    Surfaced,
)
from makegood.core.record import CERTAINLY_NOT, Kind, Phase
from makegood.core.restoring import ATTEMPTS_LOST

UNDO_ENDED = frozenset((Phase.UNDONE, Phase.UNDONE_BLIND, Phase.UNDO_STUCK))


@dataclass
class Numbers:
    """One key an effect and one effect a key, numbers that only grow, one outcome an attempt.

    `take` raises AssertionError where a row breaks that.
    """

    last: int = 0
    latest: dict[int, int] = field(default_factory=dict)
    """The attempt that a step was last offered under."""
    keys: dict[str, tuple[int, Kind, int]] = field(default_factory=dict)
    named: set[tuple[int, Kind, int]] = field(default_factory=set)
    accepted: set[int] = field(default_factory=set)
    over: set[tuple[int, Kind]] = field(default_factory=set)
    """Steps and kinds of which the last round may be followed by another."""

    def take(self, facts: Sequence[AnyFact]) -> None:
        """Follow the facts of the next row."""
        for fact, follower in zip(facts, [*facts[1:], None], strict=True):
            match fact:
                case Offered():
                    self._offered(fact)
                case Claimed(step=step, attempt=attempt):
                    assert attempt == self.latest.get(step), "S5: a claim of another attempt"
                case Reported() | Probed() if not isinstance(follower, EvidenceFiled):
                    self._accepted(fact)
                case Moved(step=step, phase=phase):
                    self._moved(step, phase)
                case ResolveAsked(step=step) | Surfaced(step=step):
                    self.over |= {(step, Kind.DO), (step, Kind.UNDO)}
                case Restored():
                    self.last += ATTEMPTS_LOST
                case RetryAsked(step=step):
                    steps = self.latest if step < 0 else [step]
                    self.over |= {(each, Kind.UNDO) for each in steps}
                case _:
                    pass

    def _offered(self, fact: Offered) -> None:
        assert fact.attempt == self.last + 1, "S5: an attempt number was left out or used twice"
        self.last = self.latest[fact.step] = fact.attempt
        named = (fact.step, fact.kind, fact.round)
        if fact.key:
            assert fact.key not in self.keys, f"S4: {fact.key} names two effects"
            assert named not in self.named, f"S4: {named} got a second key"
            if fact.round > 1:
                assert (fact.step, fact.kind) in self.over, (
                    f"S4: {fact.key}, and the round before is not over"
                )
                self.over.remove((fact.step, fact.kind))
            self.keys[fact.key] = named
            self.named.add(named)
        elif fact.kind is not Kind.PROBE:
            assert named in self.named, f"S4: {named} has no key"

    def _accepted(self, fact: Reported | Probed) -> None:
        assert fact.attempt not in self.accepted, "S5: two outcomes of one attempt were accepted"
        assert fact.attempt == self.latest.get(fact.step), "S5: the report of an earlier attempt was accepted"
        self.accepted.add(fact.attempt)
        if isinstance(fact, Probed) and fact.answer in (Answer.ABSENT, Answer.THERE):
            self.over.add((fact.step, Kind.UNDO if fact.answer is Answer.THERE else Kind.DO))
        elif isinstance(fact, Reported) and (
            fact.reply is Reply.REFUSED
            or (fact.kind is Kind.UNDO and fact.reply in (Reply.DONE, Reply.SPOILED))
        ):
            self.over.add((fact.step, fact.kind))

    def _moved(self, step: int, phase: Phase) -> None:
        if phase in CERTAINLY_NOT:
            self.over.add((step, Kind.DO))
        elif phase in UNDO_ENDED:
            self.over.add((step, Kind.UNDO))
