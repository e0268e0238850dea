"""The core in the small world of `small_model`: one step, a network that delays, reorders and loses.

Every interleaving is explored breadth first. What the core decides is folded in with each fact, as in a
process that hosts every room; time passes from one moment that matters to the next.
"""

from collections.abc import Iterator
from typing import NamedTuple

from makegood.core import machine, remedy
from makegood.core.draft import Draft
from makegood.core.events import (
    NULL,
    Answer,
    CancelAsked,
    Claimed,
    Driven,
    Event,
    Inspected,
    Probed,
    Reply,
    Reported,
    TaskSubmitted,
)
from makegood.core.plan import Millis, Plan
from makegood.core.record import KIND_OF, OFFERED, Head, Kind, TaskState, decode_head, encode_head

START: Millis = 1_000_000


class Truth(NamedTuple):
    """What the service really is, whatever the plan declares; calls land within `lands` of their claim."""

    keyed: bool = False
    tombstone: bool = False
    lands: Millis = 14_999


class Call(NamedTuple):
    attempt: int
    kind: Kind
    key: str
    do_key: str
    deadline: Millis
    lands_by: Millis
    alive: bool = True
    sent: bool = False
    landed: bool = False
    said: str = ""

    @property
    def flying(self) -> bool:
        return self.sent and not self.landed

    @property
    def over(self) -> bool:
        return not self.alive and not self.flying


class World(NamedTuple):
    """`troubles` and `crashes` are what may still go wrong; `live` the effects that are there."""

    head: bytes
    now: Millis = START
    do_key: str = ""
    calls: tuple[Call, ...] = ()
    live: int = 0
    most: int = 0
    seen: frozenset[str] = frozenset()
    tombs: frozenset[str] = frozenset()
    crashes: int = 1
    troubles: int = 2
    cancels: int = 1

    def known_as(self) -> tuple[object, ...]:
        """The same for worlds that differ only in when they are and in how many attempts came before."""
        head, gone = decode_head(self.head), self.now
        shift = {call.attempt: n for n, call in enumerate(self.calls)}
        opened = [
            tuple(_shifted(name, getattr(o, name), gone, shift) for name in o.__struct_fields__)
            for o in head.open.values()
        ]
        calls = [
            call._replace(attempt=n, deadline=max(-1, call.deadline - gone), lands_by=call.lands_by - gone)
            for n, call in enumerate(self.calls)
        ]
        rest = (head.state, head.direction, head.rounds.get(0), head.undo_rounds.get(0))
        mine = self._replace(head=b"", now=0, calls=())
        return (bytes(head.marks), *map(tuple, opened), *calls, rest, mine)


MOMENTS = frozenset(("due", "complete_by", "landing", "not_before"))
UNIMPORTANT = frozenset(("since", "started_at", "first_at", "owner", "error", "deadline", "key_until"))


def _shifted(name: str, value: object, gone: Millis, shift: dict[int, int]) -> object:
    if name in MOMENTS and isinstance(value, int):
        return value and max(-1, value - gone)
    if name == "attempt" and isinstance(value, int):
        return shift.get(value, -1)
    return None if name in UNIMPORTANT else value


class Small:
    """The transition system: a plan of one step, and the truth about its service."""

    def __init__(self, plan: Plan, truth: Truth) -> None:
        self.plan = plan
        self.truth = truth

    def first(self) -> World:
        draft = machine.submit(self.plan, "t", TaskSubmitted(NULL), START)
        return self.told(World(encode_head(draft.head)))

    def told(self, world: World, *events: Event) -> World:
        """The world after one commit: facts, then what the rooms say, then claims."""
        draft = Draft(self.plan, "t", decode_head(world.head), world.now)
        for event in events:
            machine.fold(draft, event)
        self._rooms(draft)
        claims = [Claimed(s, o.attempt, "") for s, o in draft.head.open.items() if draft.marks[s] in OFFERED]
        for claim in claims:
            assert machine.fold(draft, claim)
        machine.due(self.plan, draft.head)
        world = world._replace(head=encode_head(draft.head))
        return self._called(world, draft.head) if claims else world

    def _rooms(self, draft: Draft) -> None:
        for _ in range(4):
            if remedy.wants_inspection(draft.head, draft.now):
                machine.fold(draft, Inspected(0, tuple(draft.head.open)))
            if machine.wants_driving(draft):
                machine.fold(draft, Driven())

    def _called(self, world: World, head: Head) -> World:
        opened = head.open[0]
        kind = next(kind for phase, kind in KIND_OF.items() if phase == head.marks[0])
        do_key = opened.key if kind is Kind.DO else world.do_key
        lands_by = world.now + self.truth.lands
        call = Call(opened.attempt, kind, opened.key, do_key, opened.complete_by, lands_by)
        return world._replace(do_key=do_key, calls=(*world.calls, call))

    # --- what may happen next

    def moves(self, world: World) -> Iterator[World]:
        for at, call in enumerate(world.calls):
            yield from (
                w._replace(calls=tuple(c for c in w.calls if not c.over)) for w in self._of(world, at, call)
            )
        head = decode_head(world.head)
        if world.cancels and head.state is TaskState.RUNNING:
            yield self.told(world._replace(cancels=0), CancelAsked("ann"))
        yield from self._later(world, head)

    def _of(self, world: World, at: int, call: Call) -> Iterator[World]:
        if call.alive and not call.sent and world.now < call.deadline:
            yield _with(world, at, call._replace(sent=True))
        if call.alive and world.crashes:
            yield _with(world, at, call._replace(alive=False))._replace(crashes=0)
        if call.flying:
            yield self._landed(world, at, call)
            if world.troubles:
                lost = _with(world, at, call._replace(landed=True))
                yield lost._replace(troubles=world.troubles - 1)
        if call.alive and call.said and world.now <= call.deadline:
            heard = _with(world, at, call._replace(alive=False))
            yield self.told(heard, _report(call))
            if world.troubles:
                yield self.told(heard._replace(troubles=world.troubles - 1), _unknown(call))
        if call.alive and world.now >= call.deadline:
            gone = _with(world, at, call._replace(alive=False))
            yield self.told(gone, _unknown(call)) if call.sent else self.told(gone, _not_sent(call))

    def _later(self, world: World, head: Head) -> Iterator[World]:
        """Time passes to the next due moment, deadline or bound; to pass by a live call is trouble."""
        due = machine.due(self.plan, head)
        moments = [c.deadline for c in world.calls if c.alive]
        moments += [c.lands_by + 1 for c in world.calls if c.flying]
        moments += [] if due is None else [due]
        ahead = [moment for moment in moments if moment > world.now]
        if not ahead or any(c.flying and c.lands_by < min(ahead) for c in world.calls):
            return
        idle = not any(c.alive and (c.flying or c.said or not c.sent) for c in world.calls)
        if idle or world.troubles:
            later = world._replace(now=min(ahead), troubles=world.troubles - (not idle))
            yield self.told(later)

    def _landed(self, world: World, at: int, call: Call) -> World:
        if call.kind is Kind.PROBE:
            answer = Answer.THERE if world.live else Answer.ABSENT
            return _with(world, at, call._replace(landed=True, said=answer))
        known = self.truth.keyed and call.key in world.seen
        refused = self.truth.tombstone and call.kind is Kind.DO and call.key in world.tombs
        said = Reply.REFUSED if refused else Reply.DONE
        world = _with(world, at, call._replace(landed=True, said=said))
        if known or refused:
            return world
        live = world.live + 1 if call.kind is Kind.DO else max(0, world.live - 1)
        tombs = world.tombs | {call.do_key} if call.kind is Kind.UNDO else world.tombs
        return world._replace(
            live=live, most=max(world.most, live), tombs=tombs, seen=world.seen | {call.key}
        )


def _with(world: World, at: int, call: Call) -> World:
    return world._replace(calls=(*world.calls[:at], call, *world.calls[at + 1 :]))


def _report(call: Call) -> Event:
    if call.kind is Kind.PROBE:
        return Probed(0, call.attempt, Answer(call.said))
    return Reported(0, call.attempt, call.kind, Reply(call.said))


def _unknown(call: Call) -> Event:
    if call.kind is Kind.PROBE:
        return Probed(0, call.attempt, Answer.CANNOT_TELL)
    return Reported(0, call.attempt, call.kind, Reply.UNKNOWN)


def _not_sent(call: Call) -> Event:
    if call.kind is Kind.PROBE:
        return Probed(0, call.attempt, Answer.CANNOT_TELL)
    return Reported(0, call.attempt, call.kind, Reply.TRANSIENT)


def wrong(world: World) -> str:
    """What does not hold although nothing can move any more; "" if all does."""
    state = decode_head(world.head).state
    if world.most > 1:
        return "booked twice"
    if state in (TaskState.RUNNING, TaskState.COMPENSATING):
        return "stranded"
    if state is TaskState.COMPLETED and world.live != 1:
        return "done, and not there"
    if state is TaskState.COMPENSATED and world.live != 0:
        return "undone, and there"
    return ""


class Seen(NamedTuple):
    wrong: str
    ends: frozenset[TaskState]
    worlds: int


def explore(plan: Plan, truth: Truth) -> Seen:
    """Every world that can be reached, or up to the first that is wrong."""
    small = Small(plan, truth)
    first = small.first()
    seen, edge, ends = {first.known_as()}, [first], set()
    while edge:
        following = []
        for world in edge:
            nexts = list(small.moves(world))
            if not nexts:
                ends.add(decode_head(world.head).state)
            if (not nexts and wrong(world)) or world.most > 1:
                return Seen(wrong(world), frozenset(ends), len(seen))
            for each in nexts:
                name = each.known_as()
                if name not in seen:
                    seen.add(name)
                    following.append(each)
        edge = following
    return Seen("", frozenset(ends), len(seen))
