"""Secrets: marked by a type, hidden from every view, error and log, and handed to actions in clear."""

import asyncio
import json
import logging
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, TypedDict
from urllib.parse import quote, quote_plus
from uuid import UUID

import msgspec
import pydantic
import pytest

from makegood import Agent, Compensated, Makegood, PlanDefinition, Refused, Secret, plan, step
from makegood.authoring.hints import shown
from makegood.authoring.secrets import secret_paths
from makegood.core.secrets import hide, secrets_in, texts_of, traced, without
from makegood.errors import PayloadError, PlanError, SubmissionConflict
from makegood.payload import codec_for
from makegood.testing.rehearsal.performance import Performance, TurnedClock
from makegood.testing.rehearsal.rehearse import rehearse
from makegood.testing.rehearsal.stage import Rehearsal
from tests.cli.terminal import Shell

# --- which types mark what

Pin = NewType("Pin", Annotated[str, Secret])


class Login(TypedDict):
    user: str
    password: Annotated[str, Secret()]


class Door(pydantic.BaseModel):
    password: Annotated[str, Secret]


class Vault(pydantic.BaseModel):
    key: Annotated[str, Secret, pydantic.Field(alias="theKey")]
    doors: list[Door] = []


class Pair(msgspec.Struct, array_like=True, tag=True):
    name: str
    code: Annotated[int, Secret]


@dataclass
class Node:
    label: str
    word: Annotated[str | None, Secret] = None
    next: "Node | None" = None


@dataclass
class Plain:
    label: str
    next: "Plain | None" = None


@dataclass
class Outer:
    word: Annotated[str, Secret]
    plain: Plain | None = None
    inner: "Inner | None" = None


@dataclass
class Inner:
    outers: list[Outer]
    plain: Plain | None = None


@dataclass
class Tagged:
    labels: Annotated[dict[str, str], Secret]


class Shelf(pydantic.BaseModel):
    books: Annotated[dict[str, int], Secret]


@dataclass
class Books:
    by: Annotated[dict[str, Plain], Secret]


MARKED: list[tuple[Any, set[tuple[Any, ...]]]] = [
    (str, set()),
    (Plain, set()),
    (Annotated[str, "no mark"], set()),
    (Annotated[str, Secret], {()}),
    (Annotated[str, "x", Secret()], {()}),
    (Annotated[str, Secret] | None, {()}),
    (Pin, {()}),
    (Login, {("password",)}),
    (list[Login], {("*", "password")}),
    (dict[str, Login | None], {("*", "password")}),
    (tuple[int, Annotated[str, Secret]], {(1,)}),
    (tuple[Login, ...], {("*", "password")}),
    (set[Annotated[str, Secret]], {("*",)}),
    (dict[Annotated[str, Secret], int], {()}),
    (Vault, {("theKey",), ("doors", "*", "password")}),
    (pydantic.RootModel[list[Vault]], {("*", "theKey"), ("*", "doors", "*", "password")}),
    (Pair, {(2,)}),
    (Tagged, {("labels",)}),
    (Node, {("word",), ("next",)}),
    (Outer, {("word",), ("inner", "outers", "*")}),
    (Inner, {("outers", "*", "word"), ("outers", "*", "inner")}),
]


@pytest.mark.parametrize(("hint", "paths"), MARKED, ids=[str(hint)[:60] for hint, _ in MARKED])
def test_a_type_tells_where_its_secrets_are(hint: Any, paths: set[Any]) -> None:
    assert secret_paths(hint) == paths


@pytest.mark.parametrize(
    ("json", "secrets", "seen"),
    [
        ({"a": 1}, [], {"a": 1}),
        ({"a": 1}, [()], "***"),
        ({"a": {"b": 1, "c": 2}}, [("a", "b")], {"a": {"b": "***", "c": 2}}),
        ({"a": None}, [("a", "b")], {"a": None}),
        ([{"b": 1}, {"b": 2, "c": 3}], [("*", "b")], [{"b": "***"}, {"b": "***", "c": 3}]),
        ([1, 2], [(1,)], [1, "***"]),
        ({"x": [1], "y": 2}, [("*", "*"), ("y",)], {"x": ["***"], "y": "***"}),
    ],
)
def test_hiding(json: Any, secrets: list[Any], seen: Any) -> None:
    assert hide(json, secrets) == seen


KNOWN: dict[str, list[tuple[str | int, ...]]] = {
    "input": [("card", "number"), ("list", "*", "x")],
    "take": [()],
}


@pytest.mark.parametrize(
    ("template", "paths"),
    [
        ({"$ref": "input"}, [("card", "number"), ("list", "*", "x")]),
        ({"$ref": "input", "path": ["card"]}, [("number",)]),
        ({"$ref": "input", "path": ["card", "number"]}, [()]),
        ({"$ref": "input", "path": ["list", -1]}, [("x",)]),
        ({"$ref": "take", "path": ["anything", 0]}, [()]),
        ([1, {"a": {"$ref": "input", "path": ["card"]}}], [(1, "a", "number")]),
        ({"$lit": {"$ref": "take"}}, []),
        ({"$ref": "other"}, []),
    ],
)
def test_what_a_template_carries_on(template: Any, paths: Any) -> None:
    assert secrets_in(template, KNOWN) == paths


@pytest.mark.parametrize(
    ("template", "secret", "found"),
    [
        ({"$ref": "input", "path": ["card"]}, ("number",), [("input", ("card", "number"))]),
        ({"number": {"$ref": "take", "path": ["n", -1]}}, ("number",), [("take", ("n", "*"))]),
        ([{"$ref": "a"}, {"$ref": "b"}], ("*",), [("a", ()), ("b", ())]),
        ({"x": {"$ref": "a"}, "y": None}, (), [("a", ())]),
        ({"number": "4111"}, ("number",), [("", ())]),
        ({"number": None}, ("number",), []),
        ({"other": 1}, ("number",), []),
        ({"$lit": {"$x": 1}}, (), [("", ())]),
    ],
)
def test_where_a_secret_comes_from(template: Any, secret: Any, found: Any) -> None:
    assert list(traced(template, secret)) == found


def test_a_mark_is_shown_alike_in_every_process() -> None:
    assert shown(Annotated[str, Secret()]) == shown(Annotated[str, Secret]) == "Annotated[str, Secret]"


def test_texts_are_cleaned_of_what_is_secret() -> None:
    secrets = set(texts_of({"a": ["4111", 123, True, None, "no"], "b": 'q"\n'}, [("a",), ("b",)]))
    assert secrets == {"4111", "123", 'q"\n'}
    assert without('card 4111, cvv 123: no; q\\"\\n', secrets) == "card ***, cvv ***: no; ***"
    keyed = {"a": {"ann": [{"cvv": 5, "no": 777}]}, "b": {"bob": "yes"}}
    assert set(texts_of(keyed, [("a",), ("b", "*")], {"cvv"})) == {"ann", "777", "yes"}


def php(text: str) -> str:
    return json.dumps(text).replace("/", "\\/")


def go(text: str) -> str:
    return re.sub("[<>&]", lambda it: f"\\u{ord(it[0]):04x}", json.dumps(text, ensure_ascii=False))


def upper(text: str) -> str:
    return re.sub(r"\\u\w{4}", lambda it: "\\u" + it[0][2:].upper(), json.dumps(text))


WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "Python": repr,
    "Python in ASCII": ascii,
    "Python bytes": lambda text: repr(text.encode()),
    "JSON in ASCII": json.dumps,
    "JSON": lambda text: json.dumps(text, ensure_ascii=False),
    "PHP": php,
    "Go": go,
    "upper": upper,
    "path": quote,
    "path that keeps more": lambda text: quote(text, safe="/+@&=?"),
    "part of a path": lambda text: quote(text, safe=""),
    "query": quote_plus,
    "lower": lambda text: re.sub("%..", lambda it: it[0].lower(), quote(text)),
    "JSON in Python": lambda text: repr({"body": php(text)}),
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)),
    "JSON in a query": lambda text: quote_plus(json.dumps(text)),
    "URL in a URL": lambda text: quote(quote(text)),
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN.keys())
@pytest.mark.parametrize(
    "secret",
    [
        "Müller & co",
        "+49 170 5551234",
        "ann lee/42@example.org",
        "sk/live/4242?+=~*",
        "p<ss&word<1>",
        'zoë\t"o\'n"\n\b\x7f\xa0ok',
        "pass\N{KEY} 密码",
        'C:\\new\\"\n%41\\u0041\\ü',
    ],
)
def test_a_secret_is_found_however_it_is_written(written: Callable[[str], str], secret: str) -> None:
    before, after = written("ab-yz").split("-")
    told = f"it said {written(f'ab{secret}yz')}, 5%"
    assert without(told, {secret}) == f"it said {before}***{after}, 5%"


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        (b"hunter22", "b'***' b'***' ***"),
        (b"\x00\xff key", "b'***' b'***' ***"),
        (date(1987, 3, 14), "*** *** ***"),
        (datetime(1987, 3, 14, 15, 9, 26, tzinfo=UTC), "***, tzinfo=datetime.timezone.utc) ***+00:00 ***"),
        (time(15, 9, 26, 500), "***) *** ***"),
        (timedelta(days=2, seconds=90), "*** *** ***"),
        (Decimal("9876.50"), "Decimal('***') *** ***"),
        (UUID("6f1c1e4e-9f4b-4a52-8f0e-2b3c4d5e6f70"), "UUID('***') *** ***"),
        ("Müller", "'***' *** ***"),
    ],
)
def test_a_secret_is_found_as_python_writes_it(secret: Any, told: str) -> None:
    json = msgspec.json.decode(codec_for(type(secret)).encode(secret))
    assert without(f"{secret!r} {secret} {json}", texts_of(json, [()])) == told


def test_what_is_too_short_to_tell_is_left_alone() -> None:
    assert without("a bad day", {"YQ=="}) == "a bad day"  # b"a"


# --- a whole task

NUMBER, TOKEN, CVV = "4111-1111-1111", "tok_8f3a", 7390415


@dataclass
class Card:
    number: Annotated[str, Secret]
    cvv: Annotated[int, Secret]
    holder: str = "ann"


@dataclass
class Order:
    card: Card
    amount: int
    codes: list[str] = field(default_factory=lambda: ["summer-sale-code"])


@dataclass
class Receipt:
    token: Annotated[str, Secret]
    amount: int


bank = Agent("bank", keyed=True)
shop = Agent("shop", keyed=True)
seen: list[Any] = []


async def give_back(receipt: Receipt | None, card: Card) -> None:
    seen.append((receipt, card))


@bank.action(undo=give_back)
async def charge(card: Card, amount: int) -> Receipt:
    seen.append(card)
    return Receipt(TOKEN, amount)


@shop.action(undo=None)
async def redeem(code: Annotated[str, Secret], receipt: Receipt, card: Card) -> str:
    raise Refused(f"{code} is no code; paid with {card.number} ({card.cvv!r}), token {receipt.token}")


@plan
def buy(order: Order) -> Receipt:
    receipt = step(charge, order.card, order.amount)
    step(redeem, order.codes[0], receipt, order.card)
    return receipt


@plan
def only_charge(order: Order) -> dict[str, Any]:
    receipt = step(charge, order.card, order.amount)
    return {"token": receipt.token, "card": order.card, "all": [receipt, order.amount]}


ORDER = Order(Card(NUMBER, CVV), 5)


def stored(file: Path) -> bytes:
    with sqlite3.connect(file) as db:
        return b"".join(bytes(row[0]) for row in db.execute("SELECT body FROM history"))


def tells_no_secret(text: str) -> bool:
    return not any(secret in text for secret in (NUMBER, TOKEN, str(CVV), "summer-sale-code"))


def test_the_document_says_what_is_hidden_and_a_plan_without_secrets_is_as_it_was() -> None:
    assert msgspec.json.decode(buy.document.canonical())["secrets"] == {
        "charge": [["token"]],
        "input": [["card", "cvv"], ["card", "number"], ["codes", 0]],
    }

    @plan
    def no_secret(order: Plain) -> None:
        step(reads_plain, order)

    assert b"secrets" not in no_secret.document.canonical()


@shop.action(reads=True)
async def reads_plain(order: Plain) -> None: ...


def test_no_view_shows_a_secret_and_the_actions_get_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = f"sqlite:///{tmp_path}/t.db"

    async def main() -> list[Any]:
        async with Makegood(store, agents=[bank, shop]) as mg:
            task = await mg.submit(buy, ORDER, task_id="t")
            with pytest.raises(Compensated) as ended:
                await task.result(20)
            views: list[Any] = [await task.record(), await task.history(), await task.why(), str(ended.value)]
            return [*views, await task.audit(), (await mg.list()).tasks, await mg.audit()]

    seen.clear()
    views = asyncio.run(main())
    assert seen == [ORDER.card, (Receipt(TOKEN, 5), ORDER.card)]
    shell = Shell(tmp_path)
    for command in (["show", "t"], ["history", "t"], ["why", "t"], ["audit", "t"]):
        views += [shell.ok(*command, *more, "--store", store) for more in ([], ["--json"])]
    for view in [*views, *(record.getMessage() + str(record.exc_text) for record in caplog.records)]:
        assert tells_no_secret(str(view)), view
    record = views[0]
    assert record["input"] == {
        "card": {"number": "***", "cvv": "***", "holder": "ann"},
        "amount": 5,
        "codes": ["***"],
    }
    assert record["steps"][0]["result"] == {"token": "***", "amount": 5}
    assert record["steps"][1]["error"] == "*** is no code; paid with *** (***), token ***"
    assert "paid with *** (***)" in record["reason"]
    assert NUMBER.encode() in stored(tmp_path / "t.db")  # kept as it is: a codec is for that


def test_an_output_hides_what_it_is_made_of_and_is_handed_out_in_clear() -> None:
    async def main() -> Any:
        async with Makegood("memory:", agents=[bank]) as mg:
            task = await mg.submit(only_charge, ORDER)
            return await task.result(20), (await task.record())["output"]

    output, shown = asyncio.run(main())
    assert output["token"] == TOKEN
    assert output["card"]["number"] == NUMBER
    assert shown["token"] == "***"
    assert shown["card"] == {"number": "***", "cvv": "***", "holder": "ann"}
    assert shown["all"] == [{"token": "***", "amount": 5}, 5]


@dataclass
class Patient:
    born: date
    keys: dict[str, int]


@shop.action(undo=None)
async def admit(patient: Annotated[Patient, Secret]) -> None:
    raise KeyError(patient, *patient.keys)


@plan
def ward(patient: Patient) -> None:
    step(admit, patient)


def test_an_error_tells_neither_a_key_nor_a_date_and_still_names_fields() -> None:
    async def main() -> Any:
        async with Makegood("memory:", agents=[shop]) as mg:
            task = await mg.submit(ward, Patient(date(1987, 3, 14), {"iban-DE88": 7}), task_id="t")
            with pytest.raises(SubmissionConflict, match=r"differs at input\); choose"):
                await mg.submit(ward, Patient(date(1987, 3, 14), {"iban-DE88": 8}), task_id="t")
            while not (error := (await task.record())["steps"][0].get("error")):
                await asyncio.sleep(0.01)
            return error

    assert asyncio.run(main()) == "KeyError: (Patient(born=***, keys={'***': 7}), '***')"


# --- what is said of them before there is a task


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Card("secret-\ud800", 1), Card),
        (Card("secret-word", "secret-word"), Card),  # type: ignore[arg-type]
        (Card(b"secret-word", 1), Card),  # type: ignore[arg-type]
        ({"user": "x", "password": "secret-word", "more": 1}, Login),
        (Node("x", word=object()), Node),  # type: ignore[arg-type]
        (Vault.model_construct(key=["secret-word"]), Vault),
        (Tagged({"secret-word": {1, 2}}), Tagged),  # type: ignore[dict-item]
        (Tagged({"secret-word": object()}), Tagged),  # type: ignore[dict-item]
        (Shelf.model_construct(books={"secret-word": "x"}), Shelf),
    ],
)
def test_an_error_names_the_path_and_not_the_value(value: Any, hint: Any) -> None:
    with pytest.raises(PayloadError) as refused:
        codec_for(hint).encode(value, "input")
    assert str(refused.value).startswith("input")
    assert "secret-" not in str(refused.value)


@dataclass
class Bill:
    note: Any
    tax: Decimal
    tip: Annotated[Decimal, Secret] = Decimal(0)


ONE = Decimal(1)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, "12.5"), "tax cannot be kept exactly: str '12.5' would be read back as Decimal('12.5'); d"),
        ((0, 1.5), "tax cannot be kept exactly: float 1.5 would be read back as Decimal('1.5'); a float"),
        ((0, ONE, "12.5"), "tip cannot be kept exactly: str would be read back as Decimal; declare"),
        ((0, ONE, 1.5), "tip cannot be kept exactly: float would be read back as Decimal; a float"),
        (((Card(NUMBER, CVV),), ONE), "note cannot be kept exactly: tuple would be read back as list"),
        (("\ud800", ONE), "note holds half of a surrogate pair ('\\ud800')"),
        ((0, Decimal("NaN")), "tax cannot be kept exactly: Decimal('NaN') is never equal to itself"),
        ((0, ONE, Decimal("NaN")), "tip cannot be kept exactly: Decimal would be read back as another"),
    ],
)
def test_beside_a_secret_an_error_says_what_was_given(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(PayloadError) as refused:
        codec_for(Bill).encode(Bill(*given), "input")
    assert str(refused.value).startswith(f"input.{said}")


class Member(pydantic.BaseModel):
    name: Annotated[str, pydantic.Field(min_length=2)]
    door: Door | None = None
    pin: Annotated[str, Secret, pydantic.Field(min_length=2)] = "1234"

    @pydantic.model_validator(mode="after")
    def _known(self) -> "Member":
        if self.name == "eve":
            raise ValueError(f"not with {self.pin}")
        return self


class Club(pydantic.BaseModel):
    members: list[Member]

    @pydantic.field_validator("members")
    @classmethod
    def _few(cls, members: list[Member]) -> list[Member]:
        if len(members) > 1:
            raise ValueError(f"too many: {members}")
        return members


HIDDEN_REASON = "what it holds does not fit its type"


@pytest.mark.parametrize(
    ("hint", "json", "said"),
    [
        (Member, '{"name": "x"}', "input.name: String should have at least 2 characters"),
        (Member, '{"name": "ann", "pin": "1"}', f"input.pin: {HIDDEN_REASON}"),
        (Member, '{"name": "eve"}', f"input: {HIDDEN_REASON}"),
        (Member, '{"nam": "ann"}', "input.name: Field required; nam given, which it does not have"),
        (Member, '{"name": "ann", "door": {"pass": 1}}', "input.door.password: Field required"),
        (
            Club,
            '{"members": [{"name": "x"}]}',
            "input.members[0].name: String should have at least 2 characters",
        ),
        (Club, '{"members": [{"name": "ann"}, {"name": "bob"}]}', f"input.members: {HIDDEN_REASON}"),
        (Annotated[Member, Secret], '{"name": "x"}', f"input[...]: {HIDDEN_REASON}"),
        (Shelf, '{"books": {"secret-word": "x"}}', f"input.books[...]: {HIDDEN_REASON}"),
        (Annotated[Literal["a", "b"], Secret], '"c"', f"input: {HIDDEN_REASON}"),
        (
            Books,
            '{"by": {"secret-word": {"label": "x", "more": 1}}}',
            "input.by[...]: Plain has no such field; it has label, next",
        ),
    ],
)
def test_only_what_could_tell_a_secret_is_left_out(hint: Any, json: str, said: str) -> None:
    with pytest.raises(PayloadError) as refused:
        codec_for(hint).decode(json.encode(), "input")
    assert str(refused.value) == said


def test_json_that_does_not_fit_is_not_repeated() -> None:
    class Word(msgspec.Struct):
        word: Annotated[str, Secret, msgspec.Meta(pattern="^a")]

        def __post_init__(self) -> None:
            raise ValueError(f"{self.word} is odd")

    with pytest.raises(PayloadError, match=r"^value: what it holds does not fit its type$"):
        codec_for(Word).decode(b'{"word":"abc-secret"}')


def test_a_secret_in_the_plan_itself_is_refused() -> None:
    with pytest.raises(
        PlanError, match=r"step redeem: code is a secret by its type .* give it in the task's input"
    ):

        @plan
        def told(order: Order) -> None:
            step(redeem, "summer-sale-code", step(charge, order.card, 1), order.card)


def test_a_document_by_hand_must_hide_what_the_types_mark() -> None:
    document = msgspec.json.decode(buy.document.canonical())
    assert PlanDefinition.from_document(document, agents=[bank, shop]).version == buy.version
    del document["secrets"]["charge"]
    with pytest.raises(PlanError, match=r'would show what .* mark as secret; add "secrets":\{.*"charge"'):
        PlanDefinition.from_document(document, agents=[bank, shop])
    hides_more = document["secrets"] | {"charge": [[]], "input": [["card"], ["codes", "*"]]}
    PlanDefinition.from_document(document | {"secrets": hides_more}, agents=[bank, shop])
    for wrong, why in (
        ({"nowhere": [["x"]]}, "secrets of 'nowhere', which is no step of the plan"),
        ({"input": [["x", 1.5]]}, "plan document: 'secrets': Expected"),
        ([], "plan document: 'secrets': Expected `object`"),
    ):
        with pytest.raises(PlanError, match=why):
            PlanDefinition.from_document(document | {"secrets": wrong})


def test_a_rehearsal_shows_none_either() -> None:
    stage = Rehearsal()
    stage.runs(bank, shop)
    stage.calls_nobody(charge, redeem, give_back)
    report = rehearse(buy, stage=stage, input=ORDER)
    assert tells_no_secret(str(report.document()) + "".join(report.told()))
    with TurnedClock() as clock:
        task = Performance(clock, buy, input=ORDER, stage=stage).finish()
    assert "*** is no code" in task.record["reason"]
    assert tells_no_secret(f"{task.record} {task.why} {task.story}")
