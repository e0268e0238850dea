"""Simulated services with ledgers: what really happened, kept outside the core."""

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import msgspec

from makegood.core.events import NULL, Answer, Reply
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import Kind


@dataclass
class Effect:
    """One booking. `spoiled`: its caller could not record what it got: it is found by what was asked."""

    number: int
    task_id: str
    key: str
    live: bool = True
    spoiled: bool = False

    @property
    def result(self) -> msgspec.Raw:
        return msgspec.Raw(b"%d" % self.number)


class Said(NamedTuple):
    """What a service answers: a reply to a do or an undo, an answer to a probe."""

    word: Reply | Answer
    result: msgspec.Raw = NULL
    retry_after: Millis = 0


@dataclass
class Message:
    """One call, as the service reads it."""

    task_id: str
    kind: Kind
    key: str
    do_key: str
    result: msgspec.Raw | None


@dataclass
class Service:
    """One step's service, of the class its plan declares, or of another where a test lies about it."""

    step: StepPlan
    keyed: bool
    tombstone: bool
    refuses_undo: bool = False
    trouble: bool = True
    refuses: bool = False
    effects: list[Effect] = field(default_factory=list)
    answers: dict[str, tuple[Millis, Said]] = field(default_factory=dict)
    tombs: set[str] = field(default_factory=set)
    most_live: int = 0

    def live(self, task_id: str) -> list[Effect]:
        return [effect for effect in self.effects if effect.task_id == task_id and effect.live]

    def knows(self, key: str, now: Millis) -> bool:
        """Whether a call with this key would be answered as before."""
        if not self.keyed or key not in self.answers:
            return False
        return self.step.keyed_for is None or now < self.answers[key][0] + self.step.keyed_for

    def handle(self, message: Message, now: Millis, rng: Random) -> Said:
        """A message has arrived: act on it and answer."""
        if message.kind is Kind.PROBE:
            return self._probed(message, rng)
        if self.knows(message.key, now):
            return self.answers[message.key][1]
        said = self._do(message, rng) if message.kind is Kind.DO else self._undo(message, now, rng)
        if said.word in (Reply.DONE, Reply.SPOILED) and self.keyed:
            self.answers[message.key] = (now, said)
        return said

    def _do(self, message: Message, rng: Random) -> Said:
        if self.tombstone and message.key in self.tombs:
            return Said(Reply.REFUSED)
        if self.refuses:
            return Said(Reply.REFUSED)
        dice = rng.random() if self.trouble else 1.0
        if dice < 0.12:
            return Said(Reply.REFUSED)
        if dice < 0.25:
            return Said(Reply.TRANSIENT, retry_after=rng.choice((0, 0, 20_000)))
        if self.step.reads:
            return Said(Reply.DONE, msgspec.Raw(b"7"))
        effect = self.book(message.task_id, message.key)
        if dice < 0.29:
            effect.spoiled = True
            return Said(Reply.SPOILED)
        return Said(Reply.DONE, effect.result)

    def book(self, task_id: str, key: str) -> Effect:
        effect = Effect(len(self.effects) + 1, task_id, key)
        self.effects.append(effect)
        self.most_live = max(self.most_live, len(self.live(task_id)))
        return effect

    def _undo(self, message: Message, now: Millis, rng: Random) -> Said:
        if self.refuses_undo:
            return Said(Reply.REFUSED)
        if self.trouble and rng.random() < 0.15:
            return Said(Reply.TRANSIENT)
        for effect in self._found(message, now):
            effect.live = False
        if self.tombstone:
            self.tombs.add(message.do_key)
        return Said(Reply.DONE)

    def _found(self, message: Message, now: Millis) -> list[Effect]:
        """What an undo undoes: by its result, or, where that is not known, by the key of the do."""
        live = self.live(message.task_id)
        if message.result is not None and bytes(message.result) != b"null":
            return [effect for effect in live if bytes(effect.result) == bytes(message.result)]
        if self.keyed:
            known = self.knows(message.do_key, now)
            return [e for e in live if e.spoiled or (known and e.key == message.do_key)]
        return live

    def _probed(self, message: Message, rng: Random) -> Said:
        if self.trouble and rng.random() < 0.2:
            return Said(rng.choice((Answer.RUNNING, Answer.CANNOT_TELL)))
        live = self.live(message.task_id)
        return Said(Answer.THERE, live[-1].result) if live else Said(Answer.ABSENT)


def service_of(step: StepPlan, *, refuses_undo: bool = False) -> Service:
    """A service that is what the plan declares."""
    return Service(step, step.keyed, step.tombstone, refuses_undo)
