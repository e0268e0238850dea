"""Plans put together by chance: every shape, every class of service, short lives, few tries."""

from random import Random
from typing import Any

from makegood.core.record import ENDED
from makegood.testing.shorthand import (
    BARE,
    FOR_A_MINUTE,
    KEYED,
    KEYED_PROBE,
    PIVOT,
    PROBED,
    READS,
    TOMB,
    TOMB_PROBE,
    parallel,
    series,
    step,
)
from makegood.testing.simulation.scenarios import Scenario

CLASSES = (TOMB, TOMB, KEYED, KEYED, PROBED, PROBED, TOMB_PROBE, KEYED_PROBE, BARE, READS)
FORGETFUL = ({"class": {"keyed": 12}}, {"class": {"keyed": 20}, "probe": "find"}, FOR_A_MINUTE)
STEPS_MAX = 8
NAMES = "abcdefghijklmnopqrstuvwxyz"


def random_scenario(chance: Random) -> Scenario:
    """A plan, and how its services are."""
    names = list(NAMES[: chance.choice((1, 2, 2, 3, 3, 4, 5, STEPS_MAX))])
    body = _Body(chance, names).write()
    cancelled, slow = chance.random() < 0.25, chance.random() < 0.4
    return Scenario(
        "made_by_chance",
        body,
        ENDED,
        refuses=_some(chance, names, 0.35),
        refuses_undo=_some(chance, names, 0.1),
        cancel_at=chance.choice(names) if cancelled else "",
        slow={name: chance.choice((0.2, 0.6, 1.2)) for name in names} if slow else {},
        deadline=chance.choice((0, 0, 0, 0, 2.5, 9.0)),
        moody=chance.random() < 0.3,
    )


def _some(chance: Random, names: list[str], likely: float) -> frozenset[str]:
    return frozenset(chance.choice(names)) if chance.random() < likely else frozenset()


class _Body:
    """Writes the body of a plan: parts side by side and one after the other, at most one pivot."""

    def __init__(self, chance: Random, names: list[str]) -> None:
        self._chance = chance
        self._names = names
        self._pivot = chance.randrange(len(names)) if chance.random() < 0.25 else None
        self._known: list[str] = []

    def write(self) -> dict[str, Any]:
        parts, left = [], list(self._names)
        while left:
            count = 1 if self._is_pivot(left[0]) else self._chance.choice((1, 1, 2, 3, 4))
            taken, left = left[:count], left[count:]
            if any(map(self._is_pivot, taken)):
                count = next(n for n, name in enumerate(taken) if self._is_pivot(name)) or 1
                taken, left = taken[:count], taken[count:] + left
            parts.append(self._part(taken))
            self._known += taken
        return series(*parts)

    def _is_pivot(self, name: str) -> bool:
        return self._pivot is not None and name == self._names[self._pivot]

    def _part(self, names: list[str]) -> dict[str, Any]:
        if len(names) == 1:
            return self._step(names[0])
        if len(names) > 2 and self._chance.random() < 0.4:
            return parallel(self._part(names[:1]), series(*(self._step(name) for name in names[1:])))
        return parallel(*(self._step(name) for name in names))

    def _step(self, name: str) -> dict[str, Any]:
        chance, more = self._chance, self._policies()
        if self._known and chance.random() < 0.5:
            more["args"] = {"wish": {"$ref": chance.choice(self._known)}}
        if self._is_pivot(name):
            return step(name, chance.choice((TOMB, KEYED, KEYED_PROBE, PROBED, BARE)), PIVOT, **more)
        kind = chance.choice(FORGETFUL if chance.random() < 0.15 else CLASSES)
        if kind is not READS and chance.random() < 0.1:
            more["undo"] = None
        return step(name, kind, **more)

    def _policies(self) -> dict[str, Any]:
        chance = self._chance
        return {
            "timeout": chance.choice((2, 2, 3)),
            "settle": chance.choice((0.5, 1, 1, 2)),
            "asks": chance.choice((2, 5)),
            "retry": {
                "attempts": chance.choice((1, 2, 3, 5)),
                "delay": chance.choice((0, 0.2, 1)),
                "cap": chance.choice((0.3, 1.5, 4)),
            },
            "undoRetry": {
                "delay": 0.5,
                "cap": chance.choice((0.7, 8)),
                "within": chance.choice((9e8, 9e8, 3600, 20)),
            },
            "deadline": chance.choice((None, None, None, None, None, 3)),
        }
