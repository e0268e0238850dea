"""The world of one run: three services, any number of engines and clients, and one store between them."""

import itertools
import re
from collections.abc import Mapping
from contextlib import ExitStack, closing
from functools import cached_property
from pathlib import Path
from time import monotonic, sleep

import apsw

from makegood.client import Where
from makegood.demo.world import SERVICE_SETTLE
from tests.acceptance.yard import NOTHING, Place, Running, Watched
from tests.soak.nursery import Forked, Nursery
from tests.soak.services import SERVICES, Service

APP = "tests.soak.app"
REST_WITHIN = 90.0
"""Seconds without faults in which every task must come to rest."""
ENDS_WITHIN = 20.0
"""Seconds for an engine that was told to end: its grace, and a little."""
STORE_ERROR = re.compile(r"^Store\w+ ", re.MULTILINE)
"""What a client notes of an error of the store."""
LOOK_EVERY = 0.3
LOCK_MILLIS = 100
"""For how long an engine that works holds the store's lock at most, and the next one gets its turn."""


class World(Place):
    """All of it lies below one folder: the store, the ledgers, the clients' notes, what each process said."""

    def __init__(self, folder: Path, seed: int, *, faults: str, options: tuple[str, ...] = ()) -> None:
        super().__init__(folder)
        self.services = [
            Service(name, folder, seed + number, options) for number, name in enumerate(SERVICES)
        ]
        self._numbers = itertools.count()
        self._forked: list[Forked] = []
        self.engines: list[Watched] = []
        self.faults = faults
        self.store_folder = folder
        self.at_the_end = ExitStack()

    @property
    def store(self) -> Path:
        return self.store_folder / "tasks.db"

    def open(self) -> None:
        """Start the services."""
        for service in self.services:
            service.start(self.faults)

    @property
    def environment(self) -> dict[str, str]:
        places = {f"MAKEGOOD_DEMO_{service.name.upper()}": service.url for service in self.services}
        return super().environment | places

    @cached_property
    def nursery(self) -> Nursery:
        return Nursery(self)

    def quick_engine(self) -> Watched:
        """`makegood up` as a fork of what has everything imported; it is not up yet."""
        self.engines.append(self._fork("engine", "up", APP, "--store", self.store_url))
        return self.engines[-1]

    def engine(self, *apps: str, given: Mapping[str, str] = NOTHING) -> Running:
        """The same as a program that is started, with something added to its environment; it is up."""
        engine = super().engine(*(apps or (APP,)), given=given)
        self.engines.append(engine)
        return engine

    def quick_client(self, *told: object) -> Watched:
        """A client as a fork; what it is told stands at `tests.soak.client.main`."""
        return self._fork("client", self.store_url, *map(str, told))

    def client(self, *told: object, given: Mapping[str, str] = NOTHING) -> Running:
        """The same as a program that is started, with something added to its environment."""
        return self.start("tests.soak.client", self.store_url, *map(str, told), given=given)

    def _fork(self, program: str, *arguments: str) -> Forked:
        log = self.folder / f"{program}-{next(self._numbers)}.log"
        log.touch()
        self._forked.append(self.nursery.fork(program, arguments, log))
        return self._forked[-1]

    def notes(self, name: str) -> Path:
        return self.folder / f"{name}.notes"

    def errors_told(self) -> int:
        """How often an engine or a client said that something is wrong with the store."""
        told = [len(STORE_ERROR.findall(notes.read_text())) for notes in self.all_notes()]
        return sum(told) + sum(engine.talk.count(f" {self.store}: ") for engine in self.engines)

    def all_notes(self) -> list[Path]:
        return sorted(self.folder.glob("*.notes"))

    def settle(self) -> bool:
        """Whether every task came to rest now that there are no more faults; no engine runs any more.

        All engines leave once that is so, which lets them report what is under way, and one that comes anew
        does what is still to be done about that.
        """
        rested = self._none_goes_on()
        self.end_engines()
        sleep(SERVICE_SETTLE)
        self.quick_engine().wait_for(" up as ")
        rested = self._none_goes_on() and rested
        self.end_engines()
        return rested

    def living(self) -> list[Watched]:
        """The engines that live."""
        return [engine for engine in self.engines if engine.alive]

    def kill_engines(self) -> None:
        """SIGKILL for every engine."""
        for engine in self.living():
            engine.kill()

    def locked(self) -> bool:
        """Whether somebody holds the store's lock for write, and does not let go of it."""
        with closing(apsw.Connection(str(self.store))) as store:
            store.set_busy_timeout(LOCK_MILLIS)
            try:
                store.execute("BEGIN IMMEDIATE; ROLLBACK")
            except apsw.BusyError:
                return True
            return False

    def end_engines(self) -> None:
        """SIGTERM for every engine that lives; each must leave in good order."""
        living = self.living()
        for engine in living:
            engine.terminate()
        for engine in living:
            assert engine.ended(ENDS_WITHIN) == 0, engine.talk

    def _none_goes_on(self) -> bool:
        over = monotonic() + REST_WITHIN
        while self.ask(
            lambda makegood: makegood.list(Where(states=("Running", "Compensating")), limit=1)
        ).tasks:
            if monotonic() > over:
                return False
            sleep(LOOK_EVERY)
        return True

    def close(self) -> None:
        for forked in self._forked:
            forked.kill()
        super().close()
        for service in self.services:
            service.kill()
        self.at_the_end.close()
