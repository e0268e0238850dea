"""Fake services: what a user's own functions talk to in a rehearsal, in place of the network."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar
from weakref import WeakSet

from makegood.agents.call import call
from makegood.errors import Refused, Transient
from makegood.testing.rehearsal.ledgers import Booking, CancelsAgain, Habits, Ledger
from makegood.testing.rehearsal.over_http import HttpAnswer, failure, success
from makegood.testing.virtual import PROCESS, Process, strand

T = TypeVar("T")

GIVES_UP_EARLY = 0.001
"""Seconds before its call's timeout at which a client gives up, so that the action hears of it."""


class NoSuchMethod(AttributeError):
    """A function was to call what a fake service does not have: a method of the real client."""


class Stage(Protocol):
    """A world that is played, as a fake service sees it."""

    def has(self, process: Process) -> bool:
        """Whether this process is one of its own."""

    def reached_out(self, where: str) -> None:
        """Write down that the running call was about to reach something outside."""

    def raised(self, error: Exception, where: str) -> None:
        """Look at what the own function of the running call raises, which is defined at `where`."""

    async def ask(
        self, service: "FakeService", work: Callable[[Ledger], object], *, books: bool = False
    ) -> object:
        """Carry one call to this service's ledger in this world, and its answer back.

        `books`: it is meant to book something.
        """


STAGES: WeakSet[Stage] = WeakSet()
"""The worlds there are. In which of them the running code is, its process tells."""


def stage_here() -> Stage | None:
    """The world in which the running code is; None: it is in none."""
    process = PROCESS.get()
    return next((stage for stage in STAGES if stage.has(process)), None) if process else None


class FakeService:
    """A service that is only there in a rehearsal, reached over the same bad network as a simulated one.

    Make it at the top level of a module: each rehearsed run begins with an empty one. How it is, not how you
    declare it: `keyed`: a call with a key that it knows is answered as before (seconds: for how long it
    knows); `tombstone`: a key cancelled before is refused; `cancels_again`: what it does when there is
    nothing to cancel: "fine" nothing, "fails" it says no, "repeats" it does so once more; `settle`: how long
    after the caller's timeout it may still act (if not said: as the action declares); `slow`: how long it
    takes; `shows_after`: how long a booking cannot be found. Seconds. `apart_by`: the detail by which the
    bookings of one step are different things, such as its seats, and two at once are no double booking.

    What a call raises is what a client would: Refused, Transient, TimeoutError, ConnectionError. Outside of a
    rehearsal every call raises Refused: it certainly has no effect, so that no step is left in doubt.
    """

    def __init__(
        self,
        name: str,
        *,
        keyed: bool | float = False,
        tombstone: bool = False,
        cancels_again: CancelsAgain = "fine",
        settle: float | None = None,
        slow: float = 0.0,
        shows_after: float = 0.0,
        apart_by: str = "",
    ) -> None:
        self.name = name
        self.habits = Habits(
            keyed=keyed,
            tombstone=tombstone,
            cancels_again=cancels_again,
            settle=settle,
            slow=slow,
            shows_after=shows_after,
            apart_by=apart_by,
        )
        self.sync = SyncFakeService(self)
        """The same for plain functions, which run in threads."""

    def __repr__(self) -> str:
        return f"<fake service {self.name}>"

    if not TYPE_CHECKING:  # which sees for itself what is not there

        def __getattr__(self, name: str) -> NoReturn:
            raise _no_such(self, name)

    async def call(self, work: Callable[[Ledger], T], *, within: float | None = None) -> T:
        """One call: `work` runs inside the service, when and if the call arrives there.

        `within`: seconds after which the client gives up, if that is before the end of its action's call.
        """
        return await self._ask(work, within=within)

    async def http(self, work: Callable[[Ledger], object], *, within: float | None = None) -> HttpAnswer:
        """The same as an HTTP client hears it: what `work` returns is JSON, with status 200.

        What it raises, or the network, is a status: 404 for NothingThere, 422 for Refused, 429 for Transient.
        No answer raises TimeoutError.
        """
        try:
            return success(await self.call(work, within=within))
        except (Refused, Transient) as error:
            return failure(error)

    async def book(self, *, key: str = "", **details: Any) -> Booking:
        """Book something; the same key again is the same booking, where the service heeds keys."""
        return await self._ask(lambda ledger: ledger.book(key=key, **details), books=True)

    async def cancel(self, id: str = "", *, of: str = "", key: str = "") -> bool:
        """Cancel a booking by its id, or by the key `of` which it was made; `key` is this call's own."""
        return await self.call(lambda ledger: ledger.cancel(id, of=of, key=key))

    async def find(self, id: str = "", *, of: str = "", **details: Any) -> Booking | None:
        """A booking in effect, by its id, by the key `of` which it was made, or by its details."""
        return await self.call(lambda ledger: ledger.find(id, of=of, **details))

    async def _ask(
        self, work: Callable[[Ledger], T], *, books: bool = False, within: float | None = None
    ) -> T:
        stage = self._stage()
        left = max(0.0, call().time_left - GIVES_UP_EARLY)
        async with asyncio.timeout(left if within is None else min(left, within)):
            answer: Any = await stage.ask(self, work, books=books)
        return answer  # type: ignore[no-any-return]  # what `work` returned, over a network

    def _stage(self) -> Stage:
        stage = stage_here()
        if stage is not None:
            return stage
        raise Refused(
            f"fake service {self.name} was called outside of a rehearsal, or in an action's own thread; "
            "let `makegood rehearse APP:PLAN` or a test call it, and use it only there: --stage, a fixture"
        )


class SyncFakeService:
    """A fake service for plain functions; see FakeService."""

    def __init__(self, service: FakeService) -> None:
        self._service = service

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise _no_such(self, name)

    def call(self, work: Callable[[Ledger], T], *, within: float | None = None) -> T:
        """One call: `work` runs inside the service, when and if the call arrives there.

        `within`: seconds after which the client gives up, if that is before the end of its action's call.
        """
        return self._wait(self._service.call(work, within=within))

    def http(self, work: Callable[[Ledger], object], *, within: float | None = None) -> HttpAnswer:
        """The same as an HTTP client hears it; see FakeService."""
        return self._wait(self._service.http(work, within=within))

    def book(self, *, key: str = "", **details: Any) -> Booking:
        """Book something; the same key again is the same booking, where the service heeds keys."""
        return self._wait(self._service.book(key=key, **details))

    def cancel(self, id: str = "", *, of: str = "", key: str = "") -> bool:
        """Cancel a booking by its id, or by the key `of` which it was made; `key` is this call's own."""
        return self._wait(self._service.cancel(id, of=of, key=key))

    def find(self, id: str = "", *, of: str = "", **details: Any) -> Booking | None:
        """A booking in effect, by its id, by the key `of` which it was made, or by its details."""
        return self._wait(self._service.find(id, of=of, **details))

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        thread = strand()
        if thread is not None:
            return thread.wait(coroutine)
        coroutine.close()
        self._service._stage()  # outside of a rehearsal this says so
        raise Refused(
            f"fake service {self._service.name}: .sync is for plain functions; in an async function, await "
            "the service itself"
        )


def _no_such(service: FakeService | SyncFakeService, name: str) -> AttributeError:
    """What to raise where this is looked for; Python itself looks for much that begins with `_`."""
    if name.startswith("_"):
        return AttributeError(f"{type(service).__name__} has no {name}")
    fake = service if isinstance(service, FakeService) else service._service
    return NoSuchMethod(
        f"fake service {fake.name} has no {name}(); it has book, cancel, find, http and call(work): in the "
        "client's place put an object whose methods return call(work)"
    )
