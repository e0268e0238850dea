"""Plan documents of strangers: refused by PlanError, or read exactly. More with MAKEGOOD_HOSTILE=N."""

import json
from copy import deepcopy
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makegood import Agent, plan, step
from makegood.core.document import DOCUMENT_MAX, read_document
from makegood.core.plan import compile_plan
from makegood.errors import PlanError
from tests.hostile.scale import JSON, examples, mutated, nested

STEP: dict[str, Any] = {"step": "book", "agent": "shop", "action": "book", "undo": None}
FULL: dict[str, Any] = {
    "format": 1,
    "plan": "trip",
    "input": {"type": "object"},
    "body": {
        "series": [
            {**STEP, "args": {"to": {"$ref": "input", "path": ["to", 0]}, "how": {"$lit": {"$x": [1.5]}}}},
            {
                "parallel": [
                    {
                        **STEP,
                        "step": "car",
                        "class": {"keyed": 60, "tombstone": True},
                        "retry": {"attempts": 2},
                    },
                    {"series": [{**STEP, "step": "hotel", "undo": "cancel", "probe": "find", "deadline": 9}]},
                ]
            },
            {"step": "pay", "agent": "bank", "action": "pay", "pivot": True, "key": {"uuid": True}},
        ]
    },
    "output": [{"$ref": "book"}, {"$ref": "hotel", "path": ["name"]}],
}


def read(source: bytes | str | dict[str, Any]) -> str:
    """The words of its refusal, or "" when it is read exactly."""
    try:
        document = read_document(source)
    except PlanError as error:
        return str(error)
    again = read_document(document.canonical())
    assert again == document
    assert again.version == document.version == compile_plan(again).version
    return ""


def plan_of(body: Any, **more: Any) -> dict[str, Any]:
    return {"plan": "p", "body": body, **more}


def steps(count: int, kind: str) -> dict[str, Any]:
    return plan_of({kind: [{**STEP, "step": f"s{n}"} for n in range(count)]})


def groups(depth: int) -> str:
    return '{"plan":"p","body":' + '{"series":[' * depth + json.dumps(STEP) + "]}" * depth + "}"


def text(**fields: str) -> str:
    """A plan of one step as JSON text, with fields as they stand: Python cannot write all JSON."""
    known = {"step": '"a"', "agent": '"b"', "action": '"c"', "undo": "null", **fields}
    return '{"plan":"p","body":{' + ",".join(f'"{name}":{value}' for name, value in known.items()) + "}}"


def at_random(value: Any, chance: Random, odd: Any) -> Any:
    """The value with a part of it, anywhere, replaced."""
    keys = (
        list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    )
    if not keys or chance.random() < 0.2:
        return odd
    key = chance.choice(keys)
    value[key] = at_random(value[key], chance, odd)
    return value


@examples(60)
@given(JSON)
def test_any_json(value: Any) -> None:
    read(json.dumps(value))


@examples(60)
@given(JSON)
def test_any_json_where_the_body_stands(value: Any) -> None:
    read(json.dumps(plan_of(value)))
    read(json.dumps(plan_of({"series": [value, {**STEP, "args": {"a": value}}]}, output=value)))


@examples(250)
@given(JSON, st.randoms(use_true_random=False))
def test_one_part_is_something_else(odd: Any, chance: Random) -> None:
    changed = at_random(deepcopy(FULL), chance, odd)
    read(json.dumps(changed))
    if isinstance(changed, dict):
        read(changed)


@examples(200)
@given(st.randoms(use_true_random=False))
def test_bytes_are_damaged(chance: Random) -> None:
    read(mutated(json.dumps(FULL).encode(), chance))


@pytest.mark.parametrize("kind", ["series", "parallel"])
def test_as_many_steps_as_may_be_and_no_more(kind: str) -> None:
    assert read(steps(1_000, kind)) == ""
    assert "at most 1000" in read(steps(1_001, kind))
    assert "at most 1000" in read(json.dumps(steps(10_000, kind)))


def sized(size: int) -> dict[str, Any]:
    """A plan of so many bytes as it is stored."""
    made = plan_of({**STEP, "args": {"a": ""}})
    made["body"]["args"]["a"] = "x" * (size - len(read_document(made).canonical()))
    return made


def test_as_large_as_may_be_and_no_larger() -> None:
    assert read(sized(DOCUMENT_MAX)) == ""
    assert read(read_document(sized(DOCUMENT_MAX)).canonical()) == ""
    words = f"plan p: the document has {DOCUMENT_MAX + 1:,} bytes; it may have {DOCUMENT_MAX:,}: give large"
    assert words in read(sized(DOCUMENT_MAX + 1))
    assert words in read(json.dumps(sized(DOCUMENT_MAX + 1)))  # small enough without its defaults
    padding = " " * DOCUMENT_MAX
    for source in (json.dumps(FULL) + padding, b"[" * 10**8, "\ud800" + padding):
        assert "plan document: the document has 1" in read(source)


def test_a_recorded_plan_is_as_small_as_any() -> None:
    shop = Agent("shop")

    @shop.action(undo=None)
    def book(what: str) -> None: ...

    with pytest.raises(PlanError, match=r"plan large: the document has .* bytes; it may have 1,048,576"):

        @plan
        def large() -> None:
            step(book, "x" * (DOCUMENT_MAX - 100))


def test_as_deep_as_may_be_and_no_deeper() -> None:
    assert read(groups(64)) == ""
    for depth in (65, 400, 10_000, 70_000):
        assert "nested" in read(groups(depth)) or "recursion" in read(groups(depth))
    assert read(plan_of({**STEP, "args": {"a": nested(60)}})) == ""
    for depth in (65, 10_000):
        assert "nested" in read(plan_of({**STEP, "args": {"a": nested(depth)}}))
        assert "nested" in read(plan_of(STEP, output=nested(depth)))
    for literal in ({"$lit": nested(199)}, {"$lit": nested(150)}):
        assert read(plan_of({**STEP, "args": {"a": literal}})) == ""
    for depth in (201, 978, 10_000):
        assert "nested" in read(plan_of({**STEP, "args": {"a": {"$lit": nested(depth)}}}))
        assert "nested" in read(plan_of(STEP, input={"x": nested(depth)}))


HOLDS_ITSELF: list[Any] = []
HOLDS_ITSELF.append(HOLDS_ITSELF)

READ: dict[str, bytes | str | dict[str, Any]] = {
    "a key without characters": plan_of({**STEP, "args": {"": 1}}),
    "a key of a million characters": plan_of({**STEP, "args": {"k" * 10**6: 1}}),
    "NUL": plan_of({**STEP, "args": {"\0": "\0"}}),
    "right to left, and emoji": plan_of({**STEP, "args": {"\u202e": "\U0001f600"}}),
    "minus nothing": text(args='{"a":-0.0}'),
    "integers past 64 bits": text(args=f'{{"a":[{2**64},{-(2**70)}]}}'),
    "the least time": text(timeout="5e-324"),
}
REFUSED: dict[str, tuple[bytes | str | dict[str, Any], str]] = {
    "nothing": (b"", "not JSON"),
    "no UTF-8": (b'{"plan":"\xff"}', "not JSON"),
    "half a surrogate pair": (text(agent='"\\ud800"'), "surrogate"),
    "half a surrogate pair, from Python": (plan_of({**STEP, "args": {"a": "\ud800"}}), "surrogates"),
    "half a surrogate pair in the output": (plan_of(STEP, output=["\udfff"]), "surrogates"),
    "a name of a million characters": (
        plan_of(STEP, plan="p") | {"plan": "p" * 10**6},
        "a plan's name is of letters",
    ),
    "a step's name of a million characters": (
        plan_of({**STEP, "step": "s" * 10**6}),
        "a step's name is of letters",
    ),
    "no name": (plan_of({**STEP, "step": ""}), "a step's name is of letters"),
    "a name with NUL": (plan_of({**STEP, "step": "a\0"}), "a step's name is of letters"),
    "a number out of range": (text(timeout="1e400"), "Number out of range"),
    "an integer out of range": (text(timeout="9" * 400), "out of range"),
    "too long a time": (text(timeout=str(2**70)), "below 1e9"),
    "no time": (text(timeout="0"), "above 0"),
    "time before": (text(settle="-1"), "0 or more"),
    "NaN": (plan_of({**STEP, "timeout": float("nan")}), "above 0"),
    "infinite": (plan_of({**STEP, "retry": {"cap": float("inf")}}), "above 0"),
    "NaN as an argument": (plan_of({**STEP, "args": {"a": float("nan")}}), "JSON cannot hold nan"),
    "attempts without end": (text(retry=f'{{"attempts":{2**70}}}'), "below 1e9"),
    "half an attempt": (text(retry='{"attempts":1.5}'), "Expected `int`"),
    "something that holds itself": (plan_of({**STEP, "args": {"a": HOLDS_ITSELF}}), "nested"),
    "a literal that holds itself": (plan_of({**STEP, "args": {"a": {"$lit": HOLDS_ITSELF}}}), "nested"),
    "half a surrogate pair as an agent": (plan_of({**STEP, "agent": "\ud800"}), "surrogates"),
    "half a surrogate pair as an undo": (plan_of({**STEP, "undo": "\ud800"}), "surrogates"),
    "keys of several kinds": (plan_of(STEP) | {1: 2}, "unknown key 1"),  # type: ignore[dict-item]  # it is odd
    "an agent without a name": (plan_of({**STEP, "agent": ""}), "agent is empty"),
    "an undo without a name": (plan_of({**STEP, "undo": ""}), "undo is empty"),
    "an object of Python": (plan_of({**STEP, "args": {"a": object()}}), "not JSON"),
    "an index that is true": (plan_of(STEP, output={"$ref": "book", "path": [True]}), "a reference is"),
    "no list": (plan_of({"series": {}}), "expected a list"),
    "a key twice": (
        '{"plan":"p","plan":"q","body":{"series":[]}}',
        "plan document: the key 'plan' stands twice; keep one of them",
    ),
    "a key twice, once escaped": (
        text(agent='"b","ag\\u0065nt":"x"'),
        "the key 'agent' stands twice in body;",
    ),
    "a key twice in a step": (
        '{"plan":"p","body":{"series":[{"step":"a","undo":null},{"retry":{"attempts":1,"cap":9,"attempts":9}}]}}',
        "the key 'attempts' stands twice in body.series[1].retry; keep",
    ),
    "a key twice in a literal": (text(args='{"x":{"$lit":[[{"":1,"":1}]]}}'), "in body.args.x.$lit[0][0];"),
    "a key twice under a key twice": (text(args='{"x":{"a":1,"a":1},"x":1}'), "the key 'x' stands twice"),
    "a format to come": (plan_of(STEP, format=2), "this version reads format 1"),
}


def test_a_key_twice_is_found_in_no_time_however_it_is_hidden() -> None:
    many = ",".join(f'"k{n}":[]' for n in range(60_000))
    deep = f'{{"{"x" * 500}":' * 500 + "[" + "[]," * 200_000 + '{"a":1,"a":2}]' + "}" * 500
    before = process_time()
    assert "the key 'k59999' stands twice in args.a" in read(f'{{"args":{{"a":{{{many},"k59999":1}}}}}}')
    assert "the key 'a' stands twice in x" in (said := read(deep))
    assert len(said) < 500
    assert process_time() - before < 10


@pytest.mark.parametrize("case", READ)
def test_odd_but_allowed(case: str) -> None:
    assert read(READ[case]) == ""


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_reason(case: str) -> None:
    source, why = REFUSED[case]
    assert why in read(source)
