"""Kills, freezes and outages at random moments, while trips are being booked: what happens in one run."""

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, sleep

from makegood.core.reports import LEASE
from tests.acceptance.yard import Watched
from tests.soak.services import Service
from tests.soak.world import ENDS_WITHIN, World

LEASE_SECONDS = LEASE / 1000
FREEZE_LEASES = (1.1, 3.0)
"""How long an engine is frozen, in leases: past its own, always."""
SPARED_SECONDS = 2.0
"""How long a thawed engine is not killed: its late calls and reports shall get out."""
DOWN_SECONDS = (0.0, 0.5)
"""How long a killed engine or client is away."""
OUTAGE_SECONDS = (0.3, 1.5)
"""How long a killed service is away."""
FREEZE_LOCK_SHARE = 0.1
"""How often an engine stays frozen that holds the store's lock for write: then nobody gets on."""
KILL_FROZEN_SHARE = 0.05
TRIPS_MAX = 100_000
"""More than can be booked in one run: clients are killed at its end."""


@dataclass(frozen=True, kw_only=True)
class Dose:
    """What one run is given. `kill_every`: seconds between two kills on average. Each client has so many
    `travellers`, each with a trip under way all the time; a share of the trips is `cancelled`, and as
    many have a deadline."""

    kills: int = 100
    freezes: int = 15
    frozen_at_once: int = 4
    ends: int = 6
    outages: int = 6
    client_kills: int = 8
    engines: int = 7
    clients: int = 2
    kill_every: float = 0.4
    travellers: int = 12
    cancelled: float = 0.15


class Timeline:
    """What is to be done when, in one thread."""

    def __init__(self) -> None:
        self._next: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._next, (monotonic() + seconds, next(self._order), act))

    def run(self) -> None:
        """Do one after the other until there is nothing left to do."""
        while self._next:
            at, _, act = heapq.heappop(self._next)
            sleep(max(0.0, at - monotonic()))
            act()


@dataclass
class Post:
    """A place for an engine: whatever becomes of one, another takes its place."""

    engine: Watched | None = None
    frozen: bool = False
    spared_until: float = 0.0

    @property
    def going(self) -> bool:
        return self.engine is not None and not self.frozen


class Chaos:
    """One run of it. What it did is counted in `did`."""

    def __init__(self, world: World, dose: Dose, seed: int) -> None:
        self.did: Counter[str] = Counter()
        self._world = world
        self._dose = dose
        self._chance = random.Random(seed)
        self._timeline = Timeline()
        self._posts = [Post() for _ in range(dose.engines)]
        self._clients: dict[str, Watched] = {}

    def run(self) -> None:
        """From the first engine to the last fault; then everything is there again, and heals."""
        for post in self._posts:
            self._man(post)
        for number in range(self._dose.clients):
            self._travel(f"trip-{number}")
        self._plan()
        self._timeline.run()
        for client in self._clients.values():
            client.kill()
        for service in self._world.services:
            service.kill()
            service.start("none")

    def _plan(self) -> None:
        dose, after = self._dose, self._timeline.after
        seconds = dose.kills * dose.kill_every
        after(self._between(0, dose.kill_every), self._kill)
        for _ in range(min(dose.frozen_at_once, dose.freezes)):
            after(self._between(0.5, 2), self._freeze)
        for often, act in ((dose.ends, self._end), (dose.client_kills, self._kill_client)):
            for _ in range(often):
                after(self._between(1, seconds), act)
        for _ in range(dose.outages):
            after(self._between(1, seconds), self._outage)

    # --- engines

    def _man(self, post: Post) -> None:
        post.engine, post.frozen = self._world.quick_engine(), False

    def _kill(self) -> None:
        """SIGKILL for one that works, at times for a frozen one; and so on until there were enough."""
        frozen = self._chance.random() < KILL_FROZEN_SHARE
        post = self._pick(frozen=frozen) or self._pick(frozen=False)
        if post is None:
            self._timeline.after(0.1, self._kill)
            return
        self._engine(post).kill()
        post.engine = None
        self.did["kills"] += 1
        self._timeline.after(self._between(*DOWN_SECONDS), lambda: self._man(post))
        if self.did["kills"] < self._dose.kills:
            self._timeline.after(self._between(0, 2 * self._dose.kill_every), self._kill)

    def _freeze(self) -> None:
        """SIGSTOP for one that works, for longer than its lease; and so on until there were enough."""
        if self.did["freezes"] >= self._dose.freezes:
            return
        post = self._pick(frozen=False)
        if post is None or sum(post.going for post in self._posts) < 2:
            self._timeline.after(0.2, self._freeze)
            return
        engine = self._engine(post)
        engine.freeze()
        if self._world.locked():
            if self._chance.random() > FREEZE_LOCK_SHARE:
                engine.thaw()
                self._timeline.after(0.05, self._freeze)
                return
            self.did["freezes with the lock"] += 1
        post.frozen = True
        self.did["freezes"] += 1
        seconds = LEASE_SECONDS * self._between(*FREEZE_LEASES)
        self._timeline.after(seconds, lambda: self._thaw(post, engine))
        self._timeline.after(seconds + self._between(0, 0.5), self._freeze)

    def _thaw(self, post: Post, engine: Watched) -> None:
        if post.engine is engine:  # and not killed meanwhile
            engine.thaw()
            post.frozen, post.spared_until = False, monotonic() + SPARED_SECONDS

    def _end(self) -> None:
        """SIGTERM: it hands back what it has not sent, and leaves when its calls are over."""
        post = self._pick(frozen=False)
        if post is None:
            self._timeline.after(0.2, self._end)
            return
        engine, post.engine = self._engine(post), None
        engine.terminate()
        self.did["ends"] += 1
        self._see_off(post, engine, monotonic() + ENDS_WITHIN)

    def _see_off(self, post: Post, engine: Watched, over: float) -> None:
        if engine.alive and monotonic() < over:
            self._timeline.after(0.1, lambda: self._see_off(post, engine, over))
            return
        assert engine.ended(within=0) in (0, -15), engine.talk  # -15: it was told before it could listen
        self._man(post)

    def _pick(self, *, frozen: bool) -> Post | None:
        now = monotonic()
        able = [
            post
            for post in self._posts
            if post.engine is not None and post.frozen is frozen and now > post.spared_until
        ]
        return self._chance.choice(able) if able else None

    @staticmethod
    def _engine(post: Post) -> Watched:
        assert post.engine is not None
        assert post.engine.alive, f"an engine ended by itself: {post.engine.talk}"
        return post.engine

    # --- services and clients

    def _outage(self) -> None:
        """SIGKILL for a service, with the calls it serves; it comes back with its ledger."""
        service = self._chance.choice(self._world.services)
        if service.process is not None:
            service.kill()
            self.did["outages"] += 1
            self._timeline.after(self._between(*OUTAGE_SECONDS), lambda: self._restore(service))

    def _restore(self, service: Service) -> None:
        service.start(self._world.faults)

    def _kill_client(self) -> None:
        """SIGKILL for a client, in whatever it submits or cancels; the next goes on where it died."""
        name = self._chance.choice(sorted(self._clients))
        if self._clients[name].alive:
            self._clients[name].kill()
            self.did["client kills"] += 1
            self._timeline.after(self._between(*DOWN_SECONDS), lambda: self._travel(name))

    def _travel(self, name: str) -> None:
        notes, dose = self._world.notes(name), self._dose
        self._clients[name] = self._world.quick_client(notes, TRIPS_MAX, dose.travellers, dose.cancelled)

    def _between(self, low: float, high: float) -> float:
        return self._chance.uniform(low, high)
