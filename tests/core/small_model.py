"""The protocol of one step, by itself: a tiny transition system, without a line of the core.

One row with an epoch, two agents, a supervisor whose clock may fire at any moment, a service behind a network
that delays, reorders and loses replies. It is explored breadth first, every interleaving; what must hold is
checked where nothing can move any more.
"""

from collections.abc import Iterator
from typing import NamedTuple, TypeVar

T = TypeVar("T")

AGENTS = 2
NET_MAX = 4
UNDOER = AGENTS
"""Whose reply slot an undo's answer goes to."""


class Guards(NamedTuple):
    """What protects the step. `quiesce_*`: that order is given only when no do can still be on its way."""

    fence: bool = True
    keyed: bool = False
    tombstone: bool = False
    probe: bool = False
    quiesce_retry: bool = False
    quiesce_undo: bool = False
    retries: int = 2
    crashes: int = 1
    parks: bool = False
    """A call whose outcome is unknown is neither repeated nor undone: a person is asked."""


class World(NamedTuple):
    state: str = "NotStarted"
    epoch: int = 0
    retries: int = 0
    crashes: int = 0
    effect: int = 0
    most: int = 0
    commits: int = 0
    seen: bool = False
    tomb: bool = False
    net: tuple[tuple[str, int], ...] = ()
    replies: tuple[bool, ...] = (False,) * (AGENTS + 1)
    agents: tuple[tuple[str, int], ...] = (("idle", 0),) * AGENTS
    undoing: bool = False

    @property
    def over(self) -> bool:
        return self.state in ("Done", "Undone", "Parked")


def moves(world: World, guards: Guards) -> Iterator[World]:
    """Every world that may come next."""
    for agent in range(AGENTS):
        yield from agent_moves(world, guards, agent)
    yield from supervisor_moves(world, guards)
    yield from service_moves(world, guards)


def agent_moves(world: World, guards: Guards, agent: int) -> Iterator[World]:
    doing, epoch = world.agents[agent]
    if doing == "idle" and world.state == "NotStarted":
        claimed = world._replace(
            state="Running", epoch=world.epoch + 1, replies=slot(world.replies, agent, False)
        )
        yield claimed._replace(agents=slot(world.agents, agent, ("claimed", claimed.epoch)))
    if doing == "claimed":
        idle = world._replace(agents=slot(world.agents, agent, ("idle", 0)))
        if world.crashes < guards.crashes:
            yield idle._replace(crashes=world.crashes + 1)
        if len(world.net) < NET_MAX:
            sent = world._replace(net=packed(*world.net, ("do", agent)))
            yield sent._replace(agents=slot(world.agents, agent, ("sent", epoch)))
    if doing == "sent":
        idle = world._replace(agents=slot(world.agents, agent, ("idle", 0)))
        yield idle  # the reply is lost, the call times out or the agent dies: unknown
        if world.replies[agent]:
            heard = idle._replace(replies=slot(world.replies, agent, False))
            mine = epoch == world.epoch and world.state == "Running"
            accepted = mine or (not guards.fence and not world.over)
            yield heard._replace(state="Done", commits=world.commits + 1) if accepted else heard


def supervisor_moves(world: World, guards: Guards) -> Iterator[World]:
    flying = any(doing == "claimed" for doing, _ in world.agents) or any(
        kind == "do" for kind, _ in world.net
    )
    if world.state == "Running" and guards.parks:
        yield world._replace(state="Parked", epoch=world.epoch + 1)
    elif world.state == "Running" and world.retries < guards.retries:
        if not (guards.quiesce_retry and flying):
            again = world._replace(retries=world.retries + 1, epoch=world.epoch + 1, state="NotStarted")
            there = guards.probe and world.effect > 0
            yield again._replace(state="Done", commits=world.commits + 1) if there else again
    elif world.state == "Running" and not (guards.quiesce_undo and flying):
        yield world._replace(epoch=world.epoch + 1, state="Undoing")
    if world.state == "Undoing" and not world.undoing and len(world.net) < NET_MAX:
        yield world._replace(undoing=True, net=packed(*world.net, ("undo", UNDOER)))
    if world.undoing and world.replies[UNDOER]:
        heard = world._replace(undoing=False, replies=slot(world.replies, UNDOER, False))
        yield heard._replace(state="Undone") if world.state == "Undoing" else heard


def service_moves(world: World, guards: Guards) -> Iterator[World]:
    for message in set(world.net):
        left = list(world.net)
        left.remove(message)
        kind, sender = message
        landed = world._replace(net=tuple(left))
        answered = slot(world.replies, sender, True)
        if kind == "undo":
            yield landed._replace(effect=max(0, world.effect - 1), tomb=True, replies=answered)
            continue
        if not ((guards.keyed and world.seen) or (guards.tombstone and world.tomb)):
            effect = world.effect + 1
            landed = landed._replace(effect=effect, most=max(world.most, effect), seen=True)
        yield landed  # the reply is lost
        yield landed._replace(replies=answered)


def slot(values: tuple[T, ...], at: int, value: T) -> tuple[T, ...]:
    return (*values[:at], value, *values[at + 1 :])


def packed(*messages: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """A network does not keep the order."""
    return tuple(sorted(messages))


def wrong(world: World) -> str:
    """What does not hold although nothing can move any more; "" if all does."""
    if world.most > 1:
        return "booked twice"
    if world.commits > 1:
        return "two owners committed"
    if not world.over:
        return "stranded"
    if world.state == "Done" and world.effect != 1:
        return "done, and not there"
    if world.state == "Undone" and world.effect != 0:
        return "undone, and there"
    return ""


def explore(guards: Guards) -> tuple[str, int]:
    """(the first thing that is wrong, or "" if nothing ever is; how many worlds were seen)."""
    seen, edge = {World()}, [World()]
    while edge:
        following = []
        for world in edge:
            nexts = set(moves(world, guards))
            if not nexts and wrong(world):
                return wrong(world), len(seen)
            following += [each for each in nexts if each not in seen]
            seen |= nexts
        edge = list(set(following))
    return "", len(seen)
