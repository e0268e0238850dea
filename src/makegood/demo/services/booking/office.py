"""The rules of the house: what a service does with a call once it gets round to it."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from .call import Answer, Call, Json
from .faults import Fault, shown
from .ledger import Ledger, TooLate

NO_SUCH_ADDRESS = Answer(404, {"error": "no such address"})
TOO_BUSY = Answer(503, {"error": "too busy; nothing was done"})


@dataclass(frozen=True, kw_only=True)
class Service:
    """What makes one service differ from the others."""

    name: str
    prefix: str  # of its confirmations
    asks: tuple[str, ...]  # what a request must say besides reference and traveller
    describe: Callable[[Json], Json]  # from the request: what the answer says besides the confirmation
    keyed: bool  # honours Idempotency-Key, for booking and for cancelling
    cancels_by: frozenset[Literal["key", "confirmation"]]
    tombstones: bool = False  # a key once cancelled, known or not, can never be booked under
    sold_out: float = 0.0  # the share of references for which there is nothing to be had
    often: tuple[Fault, ...] = ()  # the faults it is known for


@dataclass(frozen=True, kw_only=True)
class Office:
    """Decides on calls; a decision, its effect and its note in the ledger are one durable transaction.

    With `keys` off it ignores Idempotency-Key; with `undo` off it says "cancelled" and does not cancel: two
    ways to be broken that a check of the ledgers must find.
    """

    service: Service
    ledger: Ledger
    seed: int
    keys: bool = True
    undo: bool = True

    def act(self, call: Call, fault: Fault | None, by: float) -> Answer:
        """Does what is asked before the monotonic clock passes `by`, or nothing (503)."""
        try:
            with self.ledger.transaction(by):
                answer = self._decide(call)
                self.ledger.note(call, fault, shown(fault, answer), answer.effect)
                return answer
        except TooLate:
            self.turn_away(call, fault, shown(fault, TOO_BUSY))
            return TOO_BUSY

    def turn_away(self, call: Call, fault: Fault | None, answer: Answer | None) -> None:
        """Does nothing but note that the call came."""
        with self.ledger.transaction(by=math.inf):
            self.ledger.note(call, fault, answer, None)

    def _decide(self, call: Call) -> Answer:
        match call.method, call.path:
            case "POST", ("reservations",):
                return self._reserve(call)
            case "DELETE", ("reservations", "by-key", key) if "key" in self.service.cancels_by:
                return self._once(call, "undo", lambda: self._cancel_key(key))
            case "DELETE", ("reservations", name) if "confirmation" in self.service.cancels_by:
                return self._once(call, "undo", lambda: self._cancel_confirmation(name))
            case "GET", ("reservations",):
                return Answer(200, {"reservations": self.ledger.live(call.reference)})
            case _:
                return NO_SUCH_ADDRESS

    def _reserve(self, call: Call) -> Answer:
        if self._honoured(call) and self.ledger.entombed(call.key or ""):
            return Answer(410, {"error": "this key was cancelled"})
        return self._once(call, "do", lambda: self._book(call))

    def _once(self, call: Call, kind: Literal["do", "undo"], act: Callable[[], Answer]) -> Answer:
        """Acts, or gives the first answer again where the key was seen before. Refusals are not kept."""
        if call.key is None or not self._honoured(call):
            return act()
        known = self.ledger.recall(call.key)
        if known is None:
            answer = act()
            if answer.status < 400:
                self.ledger.remember(call.key, kind, call.request, answer.body)
            return answer
        request, first = known
        if request != call.request:
            return Answer(422, {"error": "this key came before with another request"})
        return Answer(200, first)

    def _honoured(self, call: Call) -> bool:
        return call.key is not None and self.service.keyed and self.keys

    def _book(self, call: Call) -> Answer:
        needed = ("reference", "traveller", *self.service.asks)
        if not all(call.body.get(name) for name in needed):
            return Answer(422, {"error": "the body must be a JSON object that says " + ", ".join(needed)})
        if call.body.get("sold_out") or self._sold_out(call.body["reference"]):
            return Answer(422, {"error": "sold out"})
        told = self.service.describe(call.body)
        asked = {name: call.body[name] for name in self.service.asks}
        confirmation = self.ledger.book(self.service.prefix, call, asked | told)
        return Answer(201, {"confirmation": confirmation, **told}, "booked")

    def _sold_out(self, reference: str) -> bool:
        """The same for a reference however often it is asked."""
        lot = random.Random(f"{self.seed}/{reference}")  # noqa: S311 - no secrets here
        return lot.random() < self.service.sold_out

    def _cancel_key(self, key: str) -> Answer:
        if not self.undo:
            return Answer(200, {"cancelled": True})
        if self.service.tombstones:
            self.ledger.entomb(key)
        if self.ledger.cancel("key", key):
            return Answer(200, {"cancelled": True}, "cancelled")
        return Answer(200, {"cancelled": False}, "tombstone" if self.service.tombstones else None)

    def _cancel_confirmation(self, confirmation: str) -> Answer:
        if not self.undo:
            return Answer(200, {"cancelled": True})
        if self.ledger.cancel("confirmation", confirmation):
            return Answer(200, {"cancelled": True}, "cancelled")
        return Answer(404, {"error": f"no live reservation {confirmation}"})
