"""The record against what services hold: orphans, losses, doubles, doubts, and what cannot be learned."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from makegood import Agent, Makegood, PlanDefinition, plan, step
from makegood.auditing import End, Finding, Held, Report, audit
from makegood.authoring import KeyForm
from makegood.core.keys import derive_key
from makegood.core.record import Kind as Call
from makegood.core.words import moment
from makegood.errors import PlanError
from tests.audit import shop
from tests.audit.conftest import ENDS, Place


def compared(place: Place) -> Report:
    return place.audit(agents=shop.AGENTS)


def told(report: Report) -> set[tuple[str, str, str]]:
    return {(finding.kind, finding.task_id, finding.step) for finding in report.findings}


def test_what_is_as_recorded_is_clean(place: Place) -> None:
    report = compared(place)
    assert report.findings == []
    assert report.compared is not None
    assert report.compared.compared == 2 * (len(ENDS) - 1)
    assert report.compared.held == 9
    assert report.compared.under_way == ["new"]
    assert report.compared.unlisted == ["post/send_letter"]
    [doubt] = report.compared.doubts
    assert (doubt.task_id, doubt.step, doubt.held) == ("doubt", "charge", True)


def undone_and_held(place: Place) -> None:
    shop.shelf("stock").joinpath("refused-reserve").write_text("pen")


def never_and_held(place: Place) -> None:
    shop.shelf("bank").joinpath("refused_9").touch()


def nobody_s(place: Place) -> None:
    shop.shelf("stock").joinpath("gone-4711-reserve").write_text("pen")


def nobody_s_by_its_task(place: Place) -> None:
    shop.shelf("bank").joinpath("gone_1").touch()


def lost(place: Place) -> None:
    shop.shelf("stock").joinpath("completed-reserve").unlink()


def booked_twice(place: Place) -> None:
    shop.shelf("bank").joinpath("completed_99").touch()


def accepted_twice(place: Place) -> None:
    shop.shelf("stock").joinpath("accepted-reserve~2").write_text("pen")


WRONG: dict[str, tuple[Callable[[Place], None], str, str, str]] = {
    "held though undone": (undone_and_held, "orphan", "refused", "reserve"),
    "held though it never happened": (never_and_held, "orphan", "refused", "charge"),
    "held for no task": (nobody_s, "orphan", "gone-4711", ""),
    "held for no task, by its id": (nobody_s_by_its_task, "orphan", "gone", ""),
    "not held though in effect": (lost, "loss", "completed", "reserve"),
    "held twice": (booked_twice, "double", "completed", "charge"),
    "a round that never was": (accepted_twice, "orphan", "accepted", ""),
}


@pytest.mark.parametrize(("happens", "kind", "task_id", "at"), WRONG.values(), ids=WRONG)
def test_what_is_not_as_recorded_is_found(
    place: Place, happens: Callable[[Place], None], kind: str, task_id: str, at: str
) -> None:
    happens(place)
    report = compared(place)
    assert told(report) == {(kind, task_id, at)}
    assert report.half_done == 1
    assert place.audit().clean, "only the comparison can tell"


def test_the_command_compares_with_an_app(place: Place) -> None:
    undone_and_held(place)
    said = place.run("--with", "shop.py")
    assert said.code == 1
    assert "the record says it is undone, but list_stock of stock holds refused-reserve (pen)" in said.out
    assert "compared with services: 14 effects, done or not; 10 of them held there\n" in said.out
    assert "not compared, as nothing lists them: post/send_letter\n" in said.out
    assert "not compared, being under way: new\n" in said.out
    assert "doubt charge is in doubt; list_bank of bank holds doubt (doubt_3)" in said.out
    assert said.out.endswith("half done: 1\n")
    code, report = place.json("--with", "shop.py")
    assert (code, report["halfDone"]) == (1, 1)
    assert report["compared"]["underWay"] == ["new"]
    [task] = report["tasks"]
    assert task["findings"] == report["findings"]


def test_an_app_that_lists_nothing_cannot_be_compared_with(place: Place) -> None:
    (place.folder / "mute.py").write_text("from makegood import Agent\nstock = Agent('stock')\n")
    said = place.run("--with", "mute.py")
    assert (said.code, said.out) == (2, "")
    assert "mute.py: no action there has lists=" in said.err


def test_one_task_can_be_compared_alone(place: Place) -> None:
    undone_and_held(place)
    nobody_s(place)
    code, report = place.json("completed", "--with", "shop.py")
    assert (code, report["compared"]["compared"]) == (0, 2)
    assert place.json("refused", "--with", "shop.py")[0] == 1


def test_what_is_none_of_ours_is_counted(place: Place) -> None:
    for name in ("4711", "ABC-DEF", "their-order-17", "x y-reserve", "a-reserve-undo"):
        shop.shelf("stock").joinpath(name).write_text("")
    report = compared(place)
    assert report.clean
    assert report.compared is not None
    assert report.compared.foreign == 5


def test_what_a_damaged_record_may_have_done_is_no_orphan(place: Place) -> None:
    place.sql("UPDATE tasks SET head = x'00' WHERE task_id = 'completed'")
    assert {kind for kind, _, _ in told(compared(place))} == {"record"}


# --- under way


def test_only_what_is_at_rest_since_before_the_listing_counts(place: Place) -> None:
    """A task that is undone while the services list: what they still show of it is no orphan."""

    async def list_late() -> list[Held]:
        async with Makegood(place.url, agents=shop.AGENTS) as mg:
            held = [Held(key=goods.name) for goods in shop.shelf("stock").iterdir()]
            await mg.task("stuck").resolve("reserve", "undone", by="ann")
            (shop.shelf("stock") / "stuck-reserve").unlink()
            await mg.task("new").wait(30)
            return held

    report = place.audit(agents=[listed_by(list_late)])
    assert report.clean
    assert report.compared is not None
    assert set(report.compared.under_way) == {"stuck", "new"}


def test_what_was_under_way_before_the_listing_does_not_count_whatever_its_moments_say(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A moment on record may lag behind its commit, where the answer of a store came late."""

    async def list_first() -> list[Held]:
        held = [Held(key=goods.name) for goods in shop.shelf("stock").iterdir()]
        async with Makegood(place.url, agents=shop.AGENTS) as mg:
            assert await mg.task("new").wait(30) == "Completed"
        return held

    monkeypatch.setattr(audit, "moment", lambda at: moment(at + 3_600_000))
    report = place.audit(agents=[listed_by(list_first)])
    assert report.findings == []
    assert report.compared is not None
    assert report.compared.under_way == ["new"]


# --- listing functions that fail


def listed_by(function: Any) -> Agent:
    """The stock, its listing done by another function."""
    agent = Agent("stock", keyed=True)

    async def reserve(order: shop.Order) -> str:
        return ""

    agent.action(undo=None, lists=function)(reserve)
    return agent


async def raises() -> list[Held]:
    raise ConnectionError("no route")


async def hangs() -> list[Held]:
    await asyncio.sleep(60)
    return []


def blocks() -> list[Held]:
    time.sleep(4)
    return []


def exits() -> list[Held]:
    raise SystemExit(3)


async def leaves() -> list[Held]:
    raise SystemExit(4)


async def cancels_its_task() -> list[Held]:
    this = asyncio.current_task()
    assert this is not None
    this.cancel()
    await asyncio.sleep(0)
    return []


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("nor can it say so")


async def is_speechless() -> list[Held]:
    raise Speechless


def is_speechless_in_a_thread() -> list[Held]:
    raise Speechless


async def is_no_text() -> list[Held]:
    raise ValueError("\ud800")


async def nothing() -> Any: ...


async def texts() -> Any:
    return ["a-reserve"]


async def wrong_form() -> Any:
    yield Held(key="", task_id="")


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (raises, "ConnectionError: no route (tests/audit/test_comparing.py:"),
        (hangs, "it was not through within 0.2 s"),
        (blocks, "it was not through within 0.2 s"),
        (exits, "SystemExit: 3"),
        (leaves, "SystemExit: 4"),
        (cancels_its_task, "CancelledError"),
        (is_speechless, ": Speechless"),
        (is_speechless_in_a_thread, ": Speechless"),
        (is_no_text, "ValueError: \\ud800"),
        (nothing, "TypeError: 'NoneType' object is not iterable"),
        (texts, "it listed 'a-reserve', which is no Held"),
        (wrong_form, "give the key that the service kept"),
    ],
)
def test_a_listing_that_fails_is_a_finding_and_harms_no_other(place: Place, function: Any, why: str) -> None:
    undone_and_held(place)
    began = time.monotonic()
    report = place.audit(agents=[listed_by(function), shop.bank], listing_timeout=0.2)
    assert time.monotonic() - began < 3
    [finding] = report.findings
    assert (finding.kind, finding.task_id) == ("notCompared", "")
    assert f"{function.__name__} of stock could not be compared" in finding.what
    assert why in finding.what
    assert report.half_done == 0
    assert report.compared is not None
    assert report.compared.compared == len(ENDS) - 1


def test_the_command_does_not_wait_for_a_listing_that_hangs_in_a_thread(place: Place) -> None:
    app = place.folder / "slow.py"
    app.write_text(
        "import time\n"
        "from makegood import Agent\n"
        "stock = Agent('stock')\n"
        "def hangs(): time.sleep(60)\n"
        "@stock.action(undo=None, lists=hangs)\n"
        "def reserve(order: str) -> str: return order\n"
    )
    began = time.monotonic()
    said = place.run("--with", "slow.py", "--listing-timeout", "0.1")
    assert time.monotonic() - began < 25
    assert (said.code, "hangs of stock could not be compared: TimeoutError" in said.out) == (1, True)


# --- other forms of names


def order_at(agent: Agent, lists: Any) -> PlanDefinition[str, None]:
    async def give_back(done: str | None) -> None: ...

    @agent.action(undo=give_back, lists=lists)
    async def take(item: str) -> str:
        return item

    @agent.action(undo=give_back, lists=lists)
    async def wrap(item: str) -> str:
        return item

    @plan
    def order(item: str) -> None:
        step(take, item)
        step(wrap, item)

    return order


def ordered(url: Path, agent: Agent, lists: Any, count: int = 1) -> Report:
    """An audit after some orders have completed."""
    definition = order_at(agent, lists)

    async def run() -> Report:
        async with Makegood(f"sqlite:///{url}", agents=[agent]) as mg:
            for number in range(count):
                await (await mg.submit(definition, "pen", task_id=f"order-{number}")).result(30)
            return await mg.audit()

    return asyncio.run(run())


def test_an_engine_compares_with_its_own_agents(tmp_path: Path) -> None:
    async def held() -> list[Held]:
        return [Held(key="order-0-take"), Held(task_id="order-0", step="wrap")]

    assert ordered(tmp_path / "a.db", Agent("shop", keyed=True), held).clean
    found = told(ordered(tmp_path / "b.db", Agent("shop", keyed=True), held, count=2))
    assert found == {("loss", "order-1", "take"), ("loss", "order-1", "wrap")}


def test_keys_with_a_prefix_are_known_and_others_are_not(tmp_path: Path) -> None:
    def held() -> list[Held]:
        ours = ["app:order-0-take", "app:order-0-wrap", "app:order-7-wrap"]
        return [Held(key=key) for key in (*ours, "order-8-wrap", "app:order-9-cook")]

    report = ordered(tmp_path / "a.db", Agent("shop", keyed=True, key=KeyForm(prefix="app:")), held)
    assert told(report) == {("orphan", "order-7", "")}
    assert report.compared is not None
    assert report.compared.foreign == 2


@pytest.mark.parametrize(
    "form", [KeyForm(), KeyForm(prefix="app:"), KeyForm(uuid=True), KeyForm(max_length=20)]
)
def test_a_step_that_was_never_called_is_known_by_the_key_it_would_have_had(
    tmp_path: Path, form: KeyForm
) -> None:
    def held() -> list[Held]:
        return [Held(key=derive_key("order-0", "wrap", Call.DO, 1, form))]

    agent = Agent("shop", keyed=True, key=form)

    async def run() -> Report:
        async with Makegood(f"sqlite:///{tmp_path / 'a.db'}") as nobody_up:
            task = await nobody_up.submit(order_at(agent, held), "pen", task_id="order-0")
            await task.cancel(by="ann")
            return await nobody_up.audit(agents=[agent])

    [finding] = asyncio.run(run()).findings
    assert (finding.kind, finding.task_id, finding.step) == ("orphan", "order-0", "wrap")
    assert "the record says it never happened, but held of shop holds" in finding.what


def test_a_step_must_be_named_where_it_can_be_one_of_several(tmp_path: Path) -> None:
    def held() -> list[Held]:
        return [Held(task_id="order-0"), Held(task_id="order-0", step="wrap"), Held(key="order-0-take")]

    [finding] = ordered(tmp_path / "a.db", Agent("shop", keyed=True), held).findings
    assert isinstance(finding, Finding)
    assert (finding.kind, finding.task_id) == ("notCompared", "order-0")
    assert "of which of its steps (take, wrap)? Give step= to Held" in finding.what


def test_a_step_that_no_plan_has_is_an_orphan(tmp_path: Path) -> None:
    def held() -> list[Held]:
        names = ("take", "wrap", "cook")
        return [Held(task_id="order-0", step=name) for name in names]

    assert told(ordered(tmp_path / "a.db", Agent("shop"), held)) == {("orphan", "order-0", "cook")}


# --- skipped


def skipped(place: Path, items: list[Held], then: Callable[[Makegood], Any]) -> Report:
    """An audit of a task whose step `take` was skipped before it was called, and then went on."""

    def held() -> list[Held]:
        return items

    agent = Agent("shop", keyed=True)
    definition = order_at(agent, held)

    async def run() -> Report:
        async with Makegood(f"sqlite:///{place / 'a.db'}") as nobody_up:
            task = await nobody_up.submit(definition, "pen", task_id="order-0")
            await task.skip("take", by="ann", why="done by phone")
        async with Makegood(f"sqlite:///{place / 'a.db'}", agents=[agent]) as mg:
            await then(mg)
            return await mg.audit()

    return asyncio.run(run())


BY_HAND = [Held(task_id="order-0", step="take"), Held(key="order-0-take")]
"""What a person did may carry the task's id, or the key that the audit shows."""


@pytest.mark.parametrize("by_hand", BY_HAND, ids=str)
def test_what_was_skipped_may_have_been_done_by_hand(tmp_path: Path, by_hand: Held) -> None:
    items = [by_hand, Held(key="order-0-wrap")]
    report = skipped(tmp_path, items, lambda mg: mg.task("order-0").wait(30))
    assert report.ends[End.COMPLETED] == 1
    assert report.findings == []
    assert report.compared is not None
    [told] = report.compared.doubts
    assert (told.step, told.stands, told.held) == ("take", "skipped", True)


def test_what_was_skipped_and_is_not_held_is_no_loss(tmp_path: Path) -> None:
    report = skipped(tmp_path, [Held(key="order-0-wrap")], lambda mg: mg.task("order-0").wait(30))
    assert report.clean
    assert report.compared is not None
    assert report.compared.doubts == []


@pytest.mark.parametrize("by_hand", BY_HAND, ids=str)
def test_what_was_done_by_hand_is_left_over_when_its_task_is_undone(tmp_path: Path, by_hand: Held) -> None:
    report = skipped(tmp_path, [by_hand], lambda mg: mg.task("order-0").cancel(by="ann"))
    [finding] = report.findings
    assert (finding.kind, finding.step, report.half_done) == ("orphan", "take", 1)
    assert "the record says it was skipped" in finding.what


# --- declaring


def test_a_listing_is_checked_where_it_is_declared() -> None:
    agent = Agent("shop")

    async def take(item: str) -> str:
        return item

    async def with_parameter(item: str) -> list[Held]:
        return []

    async def fine() -> list[Held]:
        return []

    wrong: list[tuple[Any, Any, str]] = [
        (with_parameter, {"undo": None}, "takes 'item', but it is given nothing"),
        (lambda: fine(), {"undo": None}, "a lambda has no name"),
        ("list", {"undo": None}, "is no plain function"),
        (fine, {"reads": True}, "only reads, so nothing of it can be held"),
    ]
    for lists, way_back, words in wrong:
        with pytest.raises(PlanError, match=words):
            agent.action(lists=lists, **way_back)(take)
    assert agent.actions == {}


def test_what_a_listing_returns_is_checked_with_the_other_types() -> None:
    agent = Agent("shop")

    async def keys() -> list[str]:
        return []

    @agent.action(undo=None, lists=keys)
    async def take(item: str) -> str:
        return item

    with pytest.raises(PlanError, match=r"keys returns list\[str\]; it returns or yields Held items"):
        agent.actions["take"].check_types()
