"""Agents with one fault each, and beside each the same without it."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from makegood import Agent, PlanDefinition, Refused, Transient, Unknown, call, plan, step
from makegood.testing import FakeService, NothingThere
from makegood.testing.rehearsal.promises import Promise

bank = Agent("bank", timeout=10, keyed=True, tombstone=True)


def repay(receipt: str | None) -> None:
    """Simulated, as `pay` is."""


@bank.action(undo=repay)
def pay(guest: str) -> str:
    return guest


class Shop(NamedTuple):
    """A plan of two steps, `book` and `pay`; the agent's own functions are run."""

    plan: PlanDefinition[Any, Any]
    agent: Agent


def shop(agent: Agent, book: Callable[[str], Any]) -> Shop:
    @plan
    def stay(guest: str) -> None:
        step(book, guest)
        step(pay, guest)

    return Shop(stay, agent)


def refunds_twice(*, faulty: bool, do_sends_its_key: bool = True) -> Shop:
    hotels = FakeService("hotels", keyed=True, cancels_again="repeats")
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        await hotels.cancel(id or "", of=call().do_key, key="" if faulty else call().key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key=call().key if do_sends_its_key else "", guest=guest)).id

    return shop(agent, book)


def probed(
    hotels: FakeService,
    *,
    settle: float = 10,
    looks_for: str = "",
    catches: tuple[type[Exception], ...] = (),
) -> Shop:
    """An agent without keys, whose probe asks for what was booked; what it catches is as good as a no."""
    agent = Agent("hotel", timeout=10, settle=settle)

    async def find() -> str | None:
        found = None
        with suppress(*catches):
            found = await hotels.find(reference=looks_for or call().task_id)
        return found.id if found else None

    async def cancel(id: str | None) -> None:
        if booked := id or await find():
            await hotels.cancel(booked)

    @agent.action(undo=cancel, probe=find)
    async def book(guest: str) -> str:
        return (await hotels.book(reference=call().task_id, guest=guest)).id

    return shop(agent, book)


def probe_lies_for_a_minute(*, faulty: bool) -> Shop:
    return probed(FakeService("hotels", shows_after=60 if faulty else 0))


def probe_looks_for_something_else(*, faulty: bool) -> Shop:
    return probed(FakeService("hotels"), looks_for="another" if faulty else "")


def probe_takes_no_answer_for_no(*, faulty: bool) -> Shop:
    return probed(FakeService("hotels"), catches=(TimeoutError,) if faulty else ())


def settle_too_short(*, faulty: bool) -> Shop:
    return probed(FakeService("hotels", settle=50), settle=5 if faulty else 60)


def keyed(
    hotels: FakeService,
    *,
    declares: bool | float = True,
    tombstone: bool = False,
    catches: tuple[type[Exception], ...] = (),
) -> Shop:
    """An agent with keys; its undo lets pass what it catches."""
    agent = Agent("hotel", timeout=10, keyed=declares, tombstone=tombstone)

    async def cancel(id: str | None) -> None:
        with suppress(*catches):
            await hotels.cancel(of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key=call().key, guest=guest)).id

    return shop(agent, book)


def asks_before_it_reads_its_key() -> Shop:
    """What it raises of that first request certainly had no effect."""
    hotels = FakeService("hotels", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        await hotels.cancel(of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        try:
            await hotels.call(lambda _: "open", within=2)
        except TimeoutError:
            raise Transient("the hotel does not say whether it is open") from None
        return (await hotels.book(key=call().key, guest=guest)).id

    return shop(agent, book)


def undo_says_that_nobody_knows() -> Shop:
    """Where no answer comes to it: as right as to let the TimeoutError pass."""
    hotels = FakeService("hotels")
    agent = Agent("hotel", timeout=10, settle=1)

    async def cancel(id: str | None) -> None:
        try:
            if id is not None:
                await hotels.cancel(id)
        except TimeoutError:
            raise Unknown("the hotel does not answer") from None

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(reference=call().key, guest=guest)).id

    return shop(agent, book)


def forgets_its_result() -> Shop:
    """So its undo does not learn what to cancel, and does nothing."""
    hotels = FakeService("hotels")
    agent = Agent("hotel", timeout=10, settle=1)

    async def find() -> str | None:
        found = await hotels.find(reference=call().do_key)
        return found.id if found else None

    async def cancel(id: str | None) -> None:
        if id is not None:
            await hotels.cancel(id)

    @agent.action(undo=cancel, probe=find)
    async def book(guest: str) -> str:  # type: ignore[return]  # the fault
        await hotels.book(reference=call().key, guest=guest)

    return shop(agent, book)


def not_keyed(*, faulty: bool) -> Shop:
    return keyed(FakeService("hotels", keyed=not faulty))


def forgets_keys(*, faulty: bool) -> Shop:
    return keyed(FakeService("hotels", keyed=5 if faulty else 3600), declares=3600)


def forgets_old_keys(*, faulty: bool) -> Shop:
    return keyed(FakeService("hotels", keyed=86400), declares=True if faulty else 86400)


def forgets_keys_before_their_time(*, faulty: bool) -> Shop:
    return keyed(FakeService("hotels", keyed=1800 if faulty else 3600), declares=3600)


def no_tombstone(*, faulty: bool) -> Shop:
    return keyed(FakeService("hotels", keyed=True, tombstone=not faulty), tombstone=True)


def undo_minds_that_nothing_is_there(*, faulty: bool) -> Shop:
    hotels = FakeService("hotels", keyed=True, cancels_again="fails")
    return keyed(hotels, catches=() if faulty else (NothingThere,))


def undo_does_nothing(*, faulty: bool) -> Shop:
    hotels = FakeService("hotels", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        await hotels.find(of=call().do_key) if faulty else await hotels.cancel(of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key=call().key, guest=guest)).id

    return shop(agent, book)


def undo_needs_the_result(*, faulty: bool) -> Shop:
    hotels = FakeService("hotels", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        if faulty and id is None:
            raise ValueError("there is no id")
        await hotels.cancel(of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key=call().key, guest=guest)).id

    return shop(agent, book)


def sends_a_key_of_its_own(*, faulty: bool) -> Shop:
    hotels = FakeService("hotels", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        await hotels.cancel(id or "", of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        key = f"{call().key}-{call().attempt}" if faulty else call().key
        return (await hotels.book(key=key, guest=guest)).id

    return shop(agent, book)


def sends_no_key(*, faulty: bool) -> Shop:
    hotels = FakeService("hotels", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        await hotels.cancel(of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        return (await hotels.book(key="" if faulty else call().key, guest=guest)).id

    return shop(agent, book)


def with_breakfast(*, undone_too: bool = True, minds_a_refusal: bool = True) -> Shop:
    """An action of two requests, each to a service of its own."""
    hotels, kitchen = FakeService("hotels", keyed=True), FakeService("kitchen", keyed=True)
    agent = Agent("hotel", timeout=10, keyed=True)

    async def cancel(id: str | None) -> None:
        await hotels.cancel(of=call().do_key)
        if undone_too:
            await kitchen.cancel(of=call().do_key)

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        await kitchen.book(key=call().key, guest=guest)
        try:
            return (await hotels.book(key=call().key, guest=guest)).id
        except Refused:
            if minds_a_refusal:
                await kitchen.cancel(of=call().key)
            raise

    return shop(agent, book)


def books_breakfast_as_well(*, faulty: bool) -> Shop:
    return with_breakfast(undone_too=not faulty)


def keeps_breakfast_where_the_room_is_refused(*, faulty: bool) -> Shop:
    return with_breakfast(minds_a_refusal=not faulty)


def says(instead: Callable[[], str], *, faulty: bool) -> Shop:
    """An agent with neither keys nor a probe, which has its own word for a call without an answer."""
    hotels = FakeService("hotels")
    agent = Agent("hotel", timeout=10)

    async def cancel(id: str | None) -> None:
        await hotels.cancel(id or "")

    @agent.action(undo=cancel)
    async def book(guest: str) -> str:
        try:
            return (await hotels.book(guest=guest)).id
        except TimeoutError:
            if faulty:
                return instead()
            raise

    return shop(agent, book)


def makes_up_a_result(*, faulty: bool) -> Shop:
    return says(lambda: "hotels-0", faulty=faulty)


def takes_a_timeout_for_transient(*, faulty: bool) -> Shop:
    def transient() -> str:
        raise Transient("no answer")

    return says(transient, faulty=faulty)


def takes_a_timeout_for_refused(*, faulty: bool) -> Shop:
    def refused() -> str:
        raise Refused("no answer")

    return says(refused, faulty=faulty)


FAULTS: dict[Callable[..., Shop], tuple[Promise, str]] = {
    refunds_twice: (Promise.UNDONE_ONCE, "undo cancel was called again after its answer was lost"),
    probe_lies_for_a_minute: (Promise.ONCE, "probe find said it is not there though hotels-1 was in effect"),
    probe_looks_for_something_else: (Promise.ONCE, "probe find said it is not there"),
    probe_takes_no_answer_for_no: (Promise.ONCE, "probe find said it is not there though hotels-1 was in"),
    settle_too_short: (Promise.IN_TIME, "declare a longer settle"),
    not_keyed: (Promise.ONCE, "its service booked again for the same key"),
    forgets_keys: (Promise.ONCE, "its service booked again for the same key"),
    forgets_old_keys: (Promise.ONCE, "for the same key, 720 h later; its agent declares keyed"),
    forgets_keys_before_their_time: (Promise.ONCE, "for the same key, 58"),
    no_tombstone: (Promise.NOTHING_SILENT, "a key that was undone before; its agent declares tombstone"),
    undo_minds_that_nothing_is_there: (Promise.NEEDS_NOBODY, "though nothing was there to undo"),
    undo_does_nothing: (Promise.NOTHING_SILENT, "undo cancel returned though hotels-1 was in effect"),
    undo_needs_the_result: (Promise.NEEDS_NOBODY, "undo cancel raised ValueError"),
    sends_a_key_of_its_own: (Promise.ONCE, "which is not the one of call().key"),
    sends_no_key: (Promise.SENDS_KEYS, "book sent no key, though its agent declares keyed"),
    books_breakfast_as_well: (Promise.NOTHING_SILENT, "kitchen-1 was in effect"),
    keeps_breakfast_where_the_room_is_refused: (
        Promise.NOTHING_SILENT,
        "book raised Refused (certainly no effect: the service says no) though its call had booked kitchen-1",
    ),
    makes_up_a_result: (Promise.DONE_IS_DONE, "book returned a result though nothing was booked"),
    takes_a_timeout_for_transient: (Promise.ONCE, "book raised Transient (certainly no effect"),
    takes_a_timeout_for_refused: (Promise.NOTHING_SILENT, "book raised Refused (certainly no effect"),
}
"""What is found, and what must be said of it."""


def own(book: str) -> str:
    """The text of an app whose own function `book`, written so, is rehearsed as its one step."""
    return f"""from makegood import Agent, plan, step
from makegood.testing import Rehearsal
hotels = Agent('hotel')
@hotels.action(undo=None)
{book}
@plan
def stay(guest: str) -> None:
    step(book, guest)
stage = Rehearsal()
stage.runs(hotels)
"""
