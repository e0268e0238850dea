"""The runs of the soak, each a world of its own from its first process to its last: kills, disks, clocks."""

import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import localtime, monotonic, sleep

from tests.acceptance.yard import NOTHING, Running, until
from tests.soak.chaos import Chaos, Dose
from tests.soak.clocks import AHEAD, AHEADS, BEHIND, RIGHT, WrongClock
from tests.soak.ills import Ill, ills
from tests.soak.judge import Case, Verdict, judge
from tests.soak.outcome import Outcome
from tests.soak.world import REST_WITHIN, World

TRIPS, TRAVELLERS, CANCELLED = 40, 8, 0.15
BEFORE_SECONDS = (0.5, 1.5)
"""How long everything goes well before a disk fails."""
ILL_SECONDS = (2.0, 4.0)
"""How long it fails."""
JUMPS, JUMP_SECONDS = 12, (0.2, 1.0)
"""How often a clock jumps, and how long it stands then."""
KILL_AT = (4, 8)
"""After which of the jumps an engine is killed."""

Happening = Callable[[World], Verdict]


def kills(seed: int, dose: Dose | None = None, *, options: tuple[str, ...] = ()) -> Outcome:
    """Kills, freezes and outages; see Dose. `options` are the services'."""

    def happen(world: World) -> Verdict:
        chaos = Chaos(world, dose or Dose(), seed)
        chaos.run()
        return concluded(world, chaos.did)

    return play("kills", seed, happen, faults="high", options=options)


def disk(ill: Ill, seed: int) -> Outcome:
    """A disk fails while trips are booked, and is healed. The engines go on, or such as come anew."""

    def happen(world: World) -> Verdict:
        chance = random.Random(seed)
        ill.prepare(world)
        crew = Crew(world, [ill.given(world)] * 2, cancelled=0 if ill.forgets else CANCELLED)
        crew.work()
        if ill.forgets:
            world.end_engines()
            crew.work()
        sleep(chance.uniform(*BEFORE_SECONDS))
        _fail(crew, ill, chance)
        if ill.forgets:
            crew.notes.unlink()
        crew.work()
        crew.see_through()
        verdict = concluded(world, crew.did, clocks_agree=not ill.forgets)
        if ill.forgets:
            verdict.excuse("double: car", "booked again")
        verdict.broken += _untold(world, ill)
        return verdict

    faults, options = ("none", ("--sold-out", "0")) if ill.forgets else ("none", ())
    return play(f"disk: {ill.name}", seed, happen, faults=faults, options=options)


def _fail(crew: "Crew", ill: Ill, chance: random.Random) -> None:
    """It strikes, lasts and is healed; at times all processes die of it though they need not."""
    if ill.struck_dead:
        crew.kill()
    ill.strike(crew.world)
    sleep(chance.uniform(*ILL_SECONDS))
    if ill.healed_dead or chance.random() < 0.5:
        crew.kill()
    ill.heal(crew.world)
    if ill.ends_them:
        crew.let_end()


def _untold(world: World, ill: Ill) -> list[Case]:
    """Nobody said what is wrong, or somebody in words that help nobody."""
    talks = [engine.talk for engine in world.engines]
    missing = [] if any(ill.says in talk for talk in talks) else [Case("", f"no engine said: {ill.says}")]
    return missing + [Case("", f"a traceback: {talk}") for talk in talks if "Traceback" in talk]


def clocks(name: str, seed: int) -> Outcome:
    """Engines and clients whose wall clocks are wrong or jump; some engines are killed."""

    def happen(world: World) -> Verdict:
        chance, jumping = random.Random(seed), list[WrongClock]()
        givens = []
        for number, ahead in enumerate(AHEADS[name]):
            clock = WrongClock(world.folder / f"clock-{number}")
            clock.set(ahead or RIGHT)
            jumping += [] if ahead else [clock]
            givens.append(clock.given)
        crew = Crew(world, givens[:-1], givens[-1])
        crew.work()
        _prove_faked(world, AHEADS[name])
        for number in range(JUMPS):
            sleep(chance.uniform(*JUMP_SECONDS))
            for clock in jumping:
                clock.jump(chance)
            crew.did["jumps"] += len(jumping)
            if number in KILL_AT:
                crew.kill_one(chance)
                crew.work()
        crew.see_through()
        return concluded(world, crew.did, clocks_agree=False)

    return play(f"clocks: {name}", seed, happen, faults="high")


def _prove_faked(world: World, aheads: Sequence[str]) -> None:
    """An engine whose clock is ten years off says so at the start of each line of its log."""
    for engine, ahead in zip(world.engines, aheads, strict=False):
        years_off = int(engine.talk[:4]) - localtime().tm_year
        assert abs(years_off) >= 9 or ahead not in (AHEAD, BEHIND), f"its clock is right: {engine.talk}"


class Crew:
    """Some engines and a client that books all its trips, each living in an environment of its own."""

    def __init__(
        self,
        world: World,
        givens: Sequence[Mapping[str, str]],
        client_given: Mapping[str, str] = NOTHING,
        *,
        cancelled: float = CANCELLED,
    ) -> None:
        self.world = world
        self.did: Counter[str] = Counter()
        self.notes = world.notes("trip")
        self._givens = givens
        self._client_given = client_given
        self._cancelled = cancelled
        self._engines: list[Running | None] = [None] * len(givens)
        self._client: Running | None = None

    def work(self) -> None:
        """Have everybody there who is not."""
        for number, engine in enumerate(self._engines):
            if engine is None or not engine.alive:
                self._engines[number] = self.world.engine(given=self._givens[number])
        if self._client is None or not self._client.alive:
            self._client = self._travel()

    def _travel(self) -> Running:
        """A client, once it has something to say or nothing to do."""
        said = len(self._noted())
        told = (self.notes, TRIPS, TRAVELLERS, self._cancelled)
        client = self.world.client(*told, given=self._client_given)
        until(lambda: len(self._noted()) > said or not client.alive, "a trip under way")
        return client

    def _noted(self) -> str:
        return self.notes.read_text() if self.notes.exists() else ""

    def kill(self) -> None:
        """SIGKILL for all of them."""
        self.did["kills"] += len(self.world.living())
        self.world.kill_engines()
        if self._client is not None and self._client.alive:
            self._client.kill()
            self.did["client kills"] += 1

    def let_end(self) -> None:
        """Wait for the engines that are going down."""
        sleep(0.5)  # who saw it just now has said so then
        for engine in self._engines:
            assert engine is not None
            if engine.alive and "going down" in engine.talk:
                engine.ended()

    def kill_one(self, chance: random.Random) -> None:
        """SIGKILL for one of the engines."""
        chance.choice(self.world.living()).kill()
        self.did["kills"] += 1

    def see_through(self) -> None:
        """Until the client has seen the end of every trip."""
        assert self._client is not None
        assert self._client.ended(REST_WITHIN) == 0, self._client.talk


def concluded(world: World, did: Counter[str], *, clocks_agree: bool = True) -> Verdict:
    """Let everything come to rest, and judge."""
    rested = world.settle()
    verdict = judge(world, clocks_agree=clocks_agree)
    verdict.counts += did
    if not rested:
        verdict.broken.append(Case("", f"not at rest {REST_WITHIN:g} s after the last fault"))
    return verdict


def play(kind: str, seed: int, happen: Happening, *, faults: str, options: tuple[str, ...] = ()) -> Outcome:
    """Let it happen in a world of its own. What is worth a look is kept, and the outcome says where."""
    began = monotonic()
    folder = Path(tempfile.mkdtemp(prefix="makegood-soak-"))
    world = World(folder, seed, faults=faults, options=options)
    try:
        world.open()
        verdict = happen(world)
        story = _story(world, verdict)
    except Exception as error:
        verdict, story = Verdict(broken=[Case("", f"the run broke off: {error}")]), traceback.format_exc()
    finally:
        world.close()
    worth_a_look = bool(verdict.broken or verdict.late)
    if not worth_a_look:
        shutil.rmtree(folder)
    return Outcome(
        kind=kind,
        seed=seed,
        seconds=round(monotonic() - began, 1),
        counts=dict(verdict.counts),
        broken=[case.words for case in verdict.broken],
        late=[case.words for case in verdict.late],
        kept=str(folder) if worth_a_look else "",
        story=story,
    )


def _story(world: World, verdict: Verdict) -> str:
    """The history of the first task that something is wrong with, if the store knows it."""
    known = world.states()
    task_id = next((case.task for case in verdict.broken if case.task in known), None)
    return "" if task_id is None else world.cli("history", task_id)


Run = Callable[[int], Outcome]
KILLS: dict[str, Run] = {"kills": kills}
DISKS: dict[str, Run] = {f"disk: {ill.name}": partial(disk, ill) for ill in ills()}
CLOCKS: dict[str, Run] = {f"clocks: {name}": partial(clocks, name) for name in AHEADS}
