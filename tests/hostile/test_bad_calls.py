"""Bad input to the Python interface: the error, its words, and a store that is as it was."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

import makegood
from makegood import Retry, call, parallel, step
from makegood.authoring import PlanDefinition
from makegood.core.document import KeyForm
from makegood.errors import (
    ActRefused,
    MakegoodError,
    PayloadError,
    PlanError,
    StoreError,
    StoreUnavailable,
    SubmissionConflict,
    UnknownTask,
)
from makegood.reading.matching import Where
from tests.cli import app

# A type checker would not let most of this pass.
Agent: Any = makegood.Agent
Makegood: Any = makegood.Makegood
plan: Any = makegood.plan
Trip: Any = app.Trip
book_trip: Any = app.book_trip

HALF = "\ud800"
ANN = Trip("ann")
NO_ZONE = datetime(2027, 1, 1)  # noqa: DTZ001 - it is wrong
SECONDS_MAX = 20.0

Wrong = tuple[Callable[..., Any], type[Exception], tuple[str, ...]]


def plain(x: int) -> None:
    """A function that could be an action."""


def wrong(call: Callable[..., Any], error: type[Exception], *words: str) -> Wrong:
    return call, error, words


def agent(words: str, **settings: Any) -> Wrong:
    return wrong(lambda: Agent("one", **settings), PlanError, "agent one", words)


def submit(
    error: type[Exception], *words: str, plan: Any = book_trip, input: Any = ANN, **terms: Any
) -> Wrong:
    return wrong(lambda mg: mg.submit(plan, input, **terms), error, *words)


def act(name: str, error: type[Exception], *words: str, given: tuple[Any, ...] = (), **more: Any) -> Wrong:
    return wrong(lambda mg: getattr(mg.task("t"), name)(*given, **more), error, *words)


DECLARED: dict[str, Wrong] = {
    "a number for a name": wrong(lambda: Agent(5), PlanError, "agent 5", "an agent's name is of letters"),
    "timeout": agent("timeout= takes seconds or a timedelta, as in timeout=30", timeout="soon"),
    "no timeout": agent("timeout= takes seconds or a timedelta", timeout=None),
    "retry": agent("retry= takes a Retry, as in retry=Retry(attempts=3)", retry=5),
    "undo_retry": agent("undo_retry= takes an UndoRetry", undo_retry=5),
    "key": agent("key= takes a KeyForm, as in key=KeyForm(uuid=True)", key="uuid"),
    "too short a key": agent("key.maxLength must be 16 or more", key=KeyForm(max_length=3)),
    "asks": agent("asks= takes a whole number", asks="often"),
    "keyed": agent("keyed= takes True, False, or for how long keys are remembered", keyed="yes"),
    "no attempts": agent("retry.attempts must be above 0", retry=Retry(attempts=0)),
    "tombstone alone": agent("tombstone=True needs keyed=True", tombstone=True),
    "an unknown setting": agent("has no setting 'frob'; it has timeout", frob=1),
    "an undo in words": wrong(
        lambda: Agent("one").action(undo="cancel")(plain),
        PlanError,
        "undo of plain: 'cancel' is no",
        "write a def",
    ),
    "a number as a probe": wrong(
        lambda: Agent("one").action(undo=None, probe=5)(plain),
        PlanError,
        "probe of plain: 5 is no plain function",
    ),
    "no way back": wrong(
        lambda: Agent("one").action(), PlanError, "could strand a half-state", "exactly one of"
    ),
    "two ways back": wrong(
        lambda: Agent("one").action(undo=plain, reads=True), PlanError, "not undo and reads together"
    ),
    "a number as a plan": wrong(lambda: plan(5), PlanError, "5 is no plain function", "write a def"),
    "a plan without a name": wrong(
        lambda: plan(lambda: None), PlanError, "a lambda has no name", "write a def"
    ),
    "a plan that is called": wrong(
        lambda: book_trip(ANN), PlanError, "is not run by calling it", "mg.submit("
    ),
    "a step outside": wrong(
        lambda: step(app.reserve_car, ANN), PlanError, "stands outside of a plan", "@plan"
    ),
    "a group outside": wrong(lambda: parallel().__enter__(), PlanError, "parallel() stands outside", "@plan"),
    "a call outside": wrong(
        call, MakegoodError, "call() was used outside of a call", "only inside an action"
    ),
    "a document of a number": wrong(
        lambda: PlanDefinition.from_document("5"), PlanError, "expected an object"
    ),
    "no agents": wrong(
        lambda: Makegood("memory:", agents=5), PlanError, "5 is no list of agents", "give one: agents="
    ),
    "a plan as an agent": wrong(lambda: Makegood("memory:", agents=[book_trip]), PlanError, "is no agent"),
    "two agents of a name": wrong(
        lambda: Makegood("memory:", agents=[Agent("a"), Agent("a")]),
        PlanError,
        "are called 'a'",
        "another name",
    ),
    "no store": wrong(
        lambda: Makegood(None), StoreError, "None is no store", "give its URL, such as sqlite:///"
    ),
    "a path as a store": wrong(
        lambda: Makegood(Path("x.db")), StoreError, "'x.db') is no store", "give its URL"
    ),
    "an empty URL": wrong(lambda: Makegood(""), StoreError, "an empty URL names no store", "makegood knows"),
    "an audit without pause": wrong(lambda: Makegood("memory:", audit_every=0), MakegoodError, "above 0"),
    "an unknown state": wrong(
        lambda: Where(states=("odd",)), MakegoodError, "'odd' is no state", "are Running"
    ),
    "a filter that is no text": wrong(
        lambda: Where(tags={"a": HALF}), MakegoodError, "is not text", "in Unicode"
    ),
}

GIVEN: dict[str, Wrong] = {
    "a function as a plan": submit(PlanError, "is no plan", "submit what @plan made", plan=app.reserve_car),
    "no plan": submit(PlanError, "None is no plan", plan=None),
    "no input": submit(PayloadError, "input: ", input=None),
    "an input too many": submit(
        PayloadError,
        "input: plan book_trip takes no input; leave it out",
        plan=PlanDefinition(book_trip.document, input_type=type(None)),
    ),
    "a dict for a dataclass": submit(PayloadError, "input", input={"who": "ann"}),
    "a field of another type": submit(PayloadError, "input.who: ", input=Trip(5)),
    "an object": submit(PayloadError, "input", input=object()),
    "too large an input": submit(
        PayloadError, "input takes 2,0", "pass its address", input=Trip("x" * 2_000_000)
    ),
    "half a surrogate pair": submit(PayloadError, "input.who", "surrogate", input=Trip(HALF)),
    "malformed JSON": wrong(lambda mg: mg.submit_json(book_trip, b"{"), PayloadError, "input: "),
    "an unknown field": wrong(
        lambda mg: mg.submit_json(book_trip, b'{"who":"a","x":1}'), PayloadError, "input.x: "
    ),
    "an id with a space": submit(PlanError, "task id 'a b'", "an id has 1 to 100 letters", task_id="a b"),
    "a number as an id": submit(PlanError, "task id 5", "an id has 1 to 100 letters", task_id=5),
    "bytes as an id": submit(PlanError, "task id b't'", "an id has 1 to 100 letters", task_id=b"t"),
    "a deadline in words": submit(PlanError, "a deadline is a length of time", "not 'soon'", deadline="soon"),
    "a deadline as a moment": submit(PlanError, "a deadline is a length", deadline=NO_ZONE),
    "a deadline that is a truth": submit(PlanError, "a deadline is a length", "not True", deadline=True),
    "a deadline that is none": submit(PlanError, "a deadline is a length", "not nan", deadline=float("nan")),
    "a deadline before": submit(PlanError, "above 0", "not -86400.0", deadline=timedelta(days=-1)),
    "a start without a zone": submit(PlanError, "is no moment", "time zone", start_at=NO_ZONE),
    "tags as a list": submit(PayloadError, "tags=['a']: tags are pairs of text", "as in tags={", tags=["a"]),
    "a tag that is a number": submit(PayloadError, "tags: 'a': 1 is not text", tags={"a": 1}),
    "a tag that is no text": submit(PayloadError, "is not text", tags={"a": HALF}),
    "another input": submit(
        SubmissionConflict, "differs at input.who", "choose another id", input=Trip("x"), task_id="t"
    ),
    "another plan": submit(
        SubmissionConflict, "with plan 'book_trip'", "another id", plan=app.rent_car, task_id="t"
    ),
    "too many ids": wrong(
        lambda mg: mg.submit_many(book_trip, [ANN], task_ids=["a", "b"]),
        MakegoodError,
        "1 input and 2",
        "give one each",
    ),
    "a task that is a number": wrong(lambda mg: mg.task(5).record(), UnknownTask, "no task '5'"),
    "an unknown task": wrong(
        lambda mg: mg.task("nope").cancel(), UnknownTask, "no task 'nope'", "`makegood list`"
    ),
    "no limit": wrong(lambda mg: mg.list(limit=0), MakegoodError, "limit=0", "1 or more"),
    "a limit in words": wrong(lambda mg: mg.list(limit="all"), MakegoodError, "limit='all'", "1 or more"),
    "no page": wrong(lambda mg: mg.list(after=5), StoreError, "5 is no page's `next`", "leave it out"),
    "an act by nobody": act("cancel", ActRefused, "by=5", "are text", by=5),
    "an act by a crowd": act("cancel", ActRefused, "by= has 201 characters; give at most 200", by="x" * 201),
    "an act for a novel": act("pause", ActRefused, "why= has 10,001", "at most 10,000", why="x" * 10_001),
    "an act by no text": act("cancel", ActRefused, "are text; give it in Unicode", by=HALF),
    "an act for no text": act("pause", ActRefused, "are text; give it in Unicode", why=HALF),
    "an unknown step": act(
        "retry", ActRefused, "has no step 'nope'", "it has reserve_flight", given=("nope",)
    ),
    "an unknown verdict": act(
        "resolve", ActRefused, "'odd' is no verdict", "say done", given=("reserve_car", "odd")
    ),
    "a verdict that is a list": act("resolve", ActRefused, "[] is no verdict", given=("reserve_car", [])),
    "a malformed result": act("skip", PayloadError, "result: ", given=("reserve_flight", b"{")),
    "a result that is no JSON": act("skip", PayloadError, "result", given=("reserve_flight", {"a": 1})),
    "no result": act("skip", ActRefused, "give it (CLI", given=("reserve_flight",)),
    "an unknown task to audit": wrong(lambda mg: mg.audit("nope"), UnknownTask, "no task 'nope'"),
    "a number to audit": wrong(lambda mg: mg.audit(5), UnknownTask, "no task '5'"),
    "audit without agents": wrong(lambda mg: mg.audit(agents=5), PlanError, "5 is no list", "give one"),
    "a seal in no folder": wrong(
        lambda mg: mg.audit(seal=Path("none/seal")),
        MakegoodError,
        "none/seal: No such file",
        "can be written",
    ),
    "a seal of nothing": wrong(
        lambda mg: mg.audit("t", "nope", seal=Path("seal")), UnknownTask, "no task 'nope'"
    ),
}


def check(error: Exception, kind: type[Exception], words: tuple[str, ...]) -> None:
    assert type(error) is kind, repr(error)
    assert [word for word in words if word not in str(error)] == []


@pytest.mark.parametrize("case", DECLARED)
def test_what_is_declared(case: str) -> None:
    call, kind, words = DECLARED[case]
    with pytest.raises(MakegoodError) as refused:
        call()
    check(refused.value, kind, words)


@pytest.mark.parametrize("case", GIVEN)
def test_what_is_given(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call, kind, words = GIVEN[case]
    monkeypatch.chdir(tmp_path)

    async def work() -> None:
        async with Makegood() as mg:
            await mg.submit(book_trip, ANN, task_id="t")
            before = standing()
            with pytest.raises(MakegoodError) as refused:
                await asyncio.wait_for(call(mg), SECONDS_MAX)
            assert standing() == before
        check(refused.value, kind, words)

    asyncio.run(work())
    assert {path.name for path in tmp_path.iterdir()} <= {"makegood.db", "makegood.db-wal", "makegood.db-shm"}


def standing() -> list[Any]:
    """All heads and rows."""
    db = apsw.Connection("makegood.db")
    try:
        return [list(db.execute(f"SELECT * FROM {table} ORDER BY 1, 2")) for table in ("tasks", "history")]
    finally:
        db.close()


@pytest.mark.parametrize("url", ["memory:", "sqlite:///makegood.db"])
def test_outside_of_async_with(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is at the desk, so that what is posted there would wait for ever."""
    monkeypatch.chdir(tmp_path)

    async def refuses(mg: Any) -> None:
        for wait in (mg.submit(book_trip, ANN), mg.task("t").cancel(), mg.list(), mg.task("t").record()):
            with pytest.raises(StoreUnavailable, match="is not open; use it inside `async with`") as said:
                await asyncio.wait_for(wait, SECONDS_MAX)
            assert "open()" not in str(said.value), "only the synchronous twin has it"

    async def work() -> None:
        mg = Makegood(url)
        await refuses(mg)
        async with mg:
            await mg.submit(book_trip, ANN, task_id="t")
        await refuses(mg)

    asyncio.run(work())


UNKNOWN: dict[str, tuple[dict[str, Any], str]] = {
    "a key in a step": (
        {"retries": 3},
        "unknown field `retries`; known here: action, agent, args, asks, class",
    ),
    "a key in a part": (
        {"retry": {"tries": 3}},
        "unknown field `tries` - at `$.retry`; known here: attempts, cap",
    ),
    "a step": (
        {"args": {"x": {"$ref": "nowhere"}}},
        "step 'a' refers to 'nowhere', which is no step of the plan",
    ),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_a_document_does_not_know(case: str) -> None:
    more, words = UNKNOWN[case]
    written = {"step": "a", "agent": "b", "action": "c", "undo": None} | more
    with pytest.raises(PlanError) as refused:
        PlanDefinition.from_document({"plan": "p", "body": {"series": [written]}})
    assert words in str(refused.value)
