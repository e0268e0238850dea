"""What no argument of the client can be is refused by its name, with the reason and the way out."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from makegood import Makegood, MakegoodError, sync
from makegood.alerts import Alert, Command, Hook, WebHook
from makegood.client import Where
from tests.client.sample import Order, lamps, light


def deaf(alert: Alert) -> None: ...


async def empty() -> None: ...


def made(**given: Any) -> Callable[[Makegood], Any]:
    return lambda _: Makegood("memory:", **given)


REFUSED: list[tuple[Callable[[Makegood], Any], str]] = [
    (made(alerts=[deaf]), "alerts: deaf is not async; a hook is an async function of an Alert"),
    (made(alerts=["tee"]), "alerts: 'tee' is no function; .*or a Command or WebHook of makegood.alerts"),
    (lambda _: Command("cat > told.json"), "no shell reads it, so '>' means nothing; write sh -c"),
    (made(alerts="tee"), r"alerts='tee' is no list of hooks; give one: alerts=\[page\]"),
    (made(alerts=Command("true")), "alerts=<makegood.* is no list of hooks"),
    (made(agents=lamps), r"<agent lamps.* is no list of agents; give one: agents=\[flights, hotels\]"),
    (made(alerts=[empty]), "alerts: empty cannot be called with an Alert"),
    (made(alerts=[WebHook]), "alerts: WebHook is not async"),
    (made(audit_every="5"), "audit_every='5' is no length of time: give seconds, 0 or more, or a timedelta"),
    (lambda makegood: makegood.task("a").wait("5"), "timeout='5' is no length of time"),  # type: ignore[arg-type]
    (lambda makegood: makegood.task("a").result(float("nan")), "timeout=nan is no length of time"),
    (lambda makegood: makegood.task("a").wait(timedelta(-1)), "timeout=datetime.timedelta.* is no length"),
    (lambda makegood: makegood.audit(listing_timeout=-1), "listing_timeout=-1 is no length of time"),
    (lambda makegood: anext(makegood.act_on([], str, rate="5")), "a rate of '5' acts"),  # type: ignore[arg-type]
    (lambda makegood: makegood.list("state=failed"), "chosen by a Where, as in Where"),  # type: ignore[arg-type]
    (lambda makegood: makegood.find({"state": "failed"}), "where=.* chosen by a Where"),  # type: ignore[arg-type]
    (lambda makegood: makegood.submit_many(light, "abc"), "inputs='abc': submit_many takes a list"),  # type: ignore[misc]
    (
        lambda makegood: makegood.submit_many(light, [], task_ids="a"),
        "task_ids='a': submit_many takes a list",
    ),
    (lambda _: Where(states="Failed"), "states='Failed', .*give a tuple of states"),  # type: ignore[arg-type]
    (lambda _: Where(states=(1,)), "states=\\(1,\\), .*give a tuple of states"),  # type: ignore[arg-type]
    (lambda _: Where(ended="no"), "ended='no': give True, False, or None"),  # type: ignore[arg-type]
    (lambda _: Where(paused="yes"), "paused='yes': give True, False, or None"),  # type: ignore[arg-type]
    (lambda makegood: makegood.list(after="9" * 10_000), "is no page's `next`"),
    (lambda makegood: makegood.submit(light, Order("ann"), tags={"a": "b" * 20_000}), "put what is long"),
    (lambda _: Where(older_than="1h"), "older_than='1h' is no length of time"),  # type: ignore[arg-type]
    (lambda makegood: makegood.__enter__(), "opened by `async with`; `with` opens the one of makegood.sync"),  # type: ignore[attr-defined]
    (lambda _: sync.Makegood().__aenter__(), "opened by `with`; `async with` opens makegood.Makegood"),  # type: ignore[attr-defined]
]


@pytest.mark.parametrize(("use", "words"), REFUSED, ids=[words[:40] for _, words in REFUSED])
def test_what_cannot_be_is_refused(use: Callable[[Makegood], Any], words: str) -> None:
    async def work() -> None:
        async with Makegood("memory:") as makegood:
            with pytest.raises(MakegoodError, match=words):
                await use(makegood)

    asyncio.run(work())


def test_a_length_of_time_may_be_a_timedelta_or_beyond_all_measure() -> None:
    async def work() -> None:
        hour = timedelta(hours=1)
        hooks: list[Hook] = [WebHook("https://pager.example.org"), Command("true")]
        async with Makegood("memory:", [lamps], audit_every=hour, alerts=hooks) as makegood:
            task = await makegood.submit(light, Order("ann"))
            assert await task.wait(hour) == "Completed"
            assert await task.wait(10**400) == "Completed"
            assert await makegood.find(Where(younger_than=hour)) == [task.task_id]

    asyncio.run(work())


def test_a_plain_with_says_which_twin_it_opens() -> None:
    with pytest.raises(MakegoodError, match="`with` opens the one of"):
        with Makegood("memory:"):  # type: ignore[attr-defined]  # on purpose
            pass
