"""The plan document: what is refused, what is hashed, what a hand-written one may say."""

import copy
import hashlib
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makegood.core.document import (
    NESTING_MAX,
    STEPS_MAX,
    Document,
    SeriesNode,
    StepNode,
    check_document,
    check_template,
    read_document,
    references,
    step_nodes,
)
from makegood.core.plan import Parallel, Series, compile_plan, millis
from makegood.errors import PlanError
from makegood.payload import resolve

BY_HAND = """
{"format": 1, "plan": "book_trip", "input": {"type": "object"},
 "body": {"series": [
   {"step": "reserve_flight", "agent": "flight-agent", "action": "reserve_flight",
    "args": {"trip": {"$ref": "input"}}, "timeout": 10, "settle": 10,
    "class": {"keyed": true, "tombstone": false}, "undo": "cancel_flight",
    "probe": "find_flight", "retry": {"attempts": 5}},
   {"step": "reserve_hotel", "agent": "hotel-agent", "action": "reserve_hotel",
    "args": {"trip": {"$ref": "input"}, "arrives": {"$ref": "reserve_flight", "path": ["arrives"]}},
    "undo": "cancel_hotel"}]}}
"""


def a_step(name: str = "book", *, class_: Any = None, **more: Any) -> dict[str, Any]:
    return {"step": name, "agent": "a", "action": name, "undo": None, "class": class_ or {}, **more}


def a_plan(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"plan": "trip", "body": {"series": list(parts)}, **more}


def ref(name: Any, *path: Any) -> dict[str, Any]:
    return {"$ref": name, "path": list(path)}


# --- what is accepted


def test_a_document_written_by_hand_is_read_with_all_defaults_filled_in() -> None:
    document = read_document(BY_HAND)
    flight, hotel = step_nodes(document.body)
    assert (flight.timeout, flight.class_.keyed, flight.undo, flight.probe) == (
        10.0, True, "cancel_flight", "find_flight",
    )  # fmt: skip
    assert (hotel.timeout, hotel.settle, hotel.class_.keyed, hotel.retry.attempts) == (30.0, 10.0, False, 5)
    written = json.loads(document.canonical())["body"]["series"][1]
    assert written["class"] == {"keyed": False, "tombstone": False}
    assert written["undoRetry"] == {"delay": 1.0, "factor": 2.0, "cap": 600.0, "within": 86400.0}


def test_what_is_stored_reads_back_as_the_same_document() -> None:
    document = read_document(BY_HAND)
    again = read_document(document.canonical())
    assert again == document
    assert again.version == document.version


def test_the_version_is_what_it_was_when_tasks_were_pinned_to_it() -> None:
    document = read_document(BY_HAND)
    assert document.version[:12] == "ed694588d270"
    plain = json.dumps(json.loads(document.canonical()), sort_keys=True, separators=(",", ":"))
    assert document.version == hashlib.sha256(plain.encode()).hexdigest()


def test_the_version_knows_meaning_not_spelling() -> None:
    raw = json.loads(BY_HAND)
    backwards = {key: raw[key] for key in reversed(raw)}
    spelled_out = copy.deepcopy(raw)
    spelled_out["body"]["series"][1] |= {"timeout": 30, "reads": False, "class": {"keyed": False}}
    other = copy.deepcopy(raw)
    other["body"]["series"][1]["timeout"] = 31
    version = read_document(raw).version
    assert read_document(backwards).version == version
    assert read_document(spelled_out).version == version
    assert read_document(other).version != version
    assert re.fullmatch("[0-9a-f]{64}", version)


def test_groups_nest_and_compile_to_step_numbers_in_written_order() -> None:
    branch = {"series": [a_step("b"), a_step("c", args={"x": ref("b")})]}
    raw = a_plan(
        a_step("a"), {"parallel": [branch, a_step("d")]}, a_step("e", args={"x": [ref("c"), ref("d")]})
    )
    compiled = compile_plan(read_document(raw))
    assert compiled.body == Series((0, Parallel((Series((1, 2)), 3)), 4))
    assert compiled.index_of == {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
    assert compiled.used_results == {"b", "c", "d"}
    assert compiled.pivot is None


def test_a_body_may_be_one_step_and_a_pivot_stands_at_top_level() -> None:
    raw = {"plan": "pay", "body": {"step": "pay", "agent": "bank", "action": "pay", "pivot": True}}
    assert compile_plan(read_document(raw)).pivot == 0
    assert compile_plan(read_document(a_plan(a_step("a"), a_step("b") | {"undo": None}))).pivot is None


def test_lengths_of_time_are_whole_milliseconds_rounded_up() -> None:
    keyed_for = a_step(timeout=0.0001, deadline=90, class_={"keyed": 3600})
    step = compile_plan(read_document(a_plan(keyed_for))).steps[0]
    assert (step.timeout, step.deadline, step.keyed, step.keyed_for) == (1, 90_000, True, 3_600_000)
    assert step.life == 10_001
    assert [millis(seconds) for seconds in (0, 0.001, 0.0011, 1.5)] == [0, 1, 2, 1500]


# --- what is refused

REFUSED: list[tuple[str, Any, str]] = [
    ("no JSON", "{", "not JSON"),
    ("no text", b"\xff\xfe", "not JSON"),
    ("no object", "[1]", "expected an object"),
    ("an unknown key", a_plan(a_step(), title="x"), "unknown key 'title'"),
    ("another format", a_plan(a_step(), format=2), "format 2 is not known"),
    ("no plan name", {"body": a_step()}, "'plan' must be"),
    ("a plan name with a space", {"plan": "a b", "body": a_step()}, "a plan's name is of letters"),
    ("no body", {"plan": "a"}, "'body' is missing"),
    ("a body that is a list", {"plan": "a", "body": [a_step()]}, "body: expected a step"),
    ("an input that is no schema", a_plan(a_step(), input=[1]), "'input' must be"),
    ("an input that is not JSON", a_plan(a_step(), input={"max": math.inf}), "JSON cannot hold"),
    ("an empty group", a_plan({"parallel": []}), r"parallel: expected a list with at least one part"),
    ("no parts", a_plan(), "at least one part"),
    ("an unknown kind", a_plan({"choose": []}), r"body.series\[0\]: it has 'choose', and none of 'step'"),
    ("a group with more", a_plan({"series": [a_step()], "name": "x"}), "unknown key 'name'"),
    ("an unknown key of a step", a_plan(a_step(colour=1)), r"body.series\[0\]: .*colour"),
    ("an unknown key of a class", a_plan(a_step(class_={"keys": True})), "keys"),
    ("a timeout that is text", a_plan(a_step(timeout="10")), "timeout"),
    ("a step's name", a_plan(a_step("a-b")), "a step's name is of letters"),
    ("a long step's name", a_plan(a_step("a" * 61)), "a step's name is of letters"),
    ("the step undo", a_plan(a_step("undo")), "the name is reserved"),
    ("the step input", a_plan(a_step("input")), "the name is reserved"),
    ("a name used twice", a_plan(a_step(), {"parallel": [a_step()]}), "is used twice"),
    ("no way back", a_plan({"step": "a", "agent": "a", "action": "a"}), "could strand a half-state"),
    ("two ways back", a_plan(a_step(reads=True)), "could strand a half-state"),
    ("a timeout of 0", a_plan(a_step(timeout=0)), "timeout must be above 0"),
    ("a negative settle", a_plan(a_step(settle=-1)), "settle must be 0 or more"),
    ("a deadline of 0", a_plan(a_step(deadline=0)), "deadline must be above 0"),
    ("no attempts", a_plan(a_step(retry={"attempts": 0})), "retry.attempts must be above 0"),
    ("a negative delay", a_plan(a_step(retry={"delay": -1})), "retry.delay must be 0 or more"),
    ("an undo factor of 0", a_plan(a_step(undoRetry={"factor": 0})), "undoRetry.factor must be above 0"),
    ("no asks", a_plan(a_step(asks=0)), "asks must be above 0"),
    ("keys remembered for 0 s", a_plan(a_step(class_={"keyed": 0.0})), "class.keyed must be above 0"),
    ("a number without end", a_plan(a_step(timeout=1e10)), "below 1e9"),
    (
        "a tombstone without keys",
        a_plan(a_step(class_={"tombstone": True})),
        "tombstone=True needs keyed",
    ),
    ("keys of 8 characters", a_plan(a_step(key={"maxLength": 8})), "two keys could be one"),
    (
        "two pivots",
        a_plan(*({"step": n, "agent": "a", "action": n, "pivot": True} for n in "ab")),
        "second pivot",
    ),
    (
        "a pivot in a group",
        a_plan({"parallel": [{"step": "a", "agent": "a", "action": "a", "pivot": True}]}),
        "must stand alone at top level",
    ),
    ("a reference to nothing", a_plan(a_step(args={"x": ref("b")})), "'b', which is no step of the plan"),
    ("a reference to itself", a_plan(a_step(args={"x": ref("book")})), "has not ended before it"),
    ("a reference ahead", a_plan(a_step("a", args={"x": ref("b")}), a_step("b")), "has not ended before it"),
    (
        "a reference to a sibling branch",
        a_plan({"parallel": [a_step("a"), a_step("b", args={"x": ref("a")})]}),
        "not a sibling branch",
    ),
    ("an output of nothing", a_plan(a_step(), output=ref("b")), "output refers to 'b'"),
    ("a path of text", a_plan(a_step(args={"x": {"$ref": "input", "path": "ab"}})), "a reference is"),
    ("a path with true", a_plan(a_step(args={"x": ref("input", True)})), "a reference is"),
    ("a path with a number", a_plan(a_step(args={"x": ref("input", 1.5)})), "a reference is"),
    ("a reference with more", a_plan(a_step(args={"x": {"$ref": "input", "or": 1}})), "a reference is"),
    ("a reference to a number", a_plan(a_step(args={"x": ref(1)})), "a reference is"),
    ("an unknown mark", a_plan(a_step(args={"x": {"$get": "input"}})), r'written \{"\$lit"'),
    ("a literal with more", a_plan(a_step(args={"x": {"$lit": 1, "y": 2}})), "a reference is"),
    ("a number that is none", a_plan(a_step(args={"x": math.nan})), "JSON cannot hold nan"),
    ("a literal that is not JSON", a_plan(a_step(args={"x": {"$lit": {1: 2}}})), "JSON cannot hold"),
    ("a key that is no string", a_plan(a_step(args={"x": {1: 2}})), "is no string"),
    ("an object that is not JSON", a_plan(a_step(args={"x": object()})), "not JSON"),
]


@pytest.mark.parametrize(("raw", "why"), [pytest.param(raw, why, id=name) for name, raw, why in REFUSED])
def test_refused(raw: Any, why: str) -> None:
    with pytest.raises(PlanError, match=why):
        read_document(raw)


def test_a_plan_has_at_most_1000_steps() -> None:
    steps = [a_step(f"s{n}") for n in range(STEPS_MAX)]
    read_document(a_plan(*steps))
    with pytest.raises(PlanError, match="at most 1000"):
        read_document(a_plan(*steps, a_step("more")))


@pytest.mark.parametrize("depth", [NESTING_MAX + 1, 900, 70_000])
def test_nesting_has_an_end(depth: int) -> None:
    groups = '{"series": [' * depth + json.dumps(a_step()) + "]}" * depth
    with pytest.raises(PlanError, match=r"nested more than|not JSON"):
        read_document(f'{{"plan": "deep", "body": {groups}}}')
    lists = "[" * (depth + 1) + "]" * (depth + 1)
    with pytest.raises(PlanError, match=r"nested more than|not JSON"):
        read_document(f'{{"plan": "deep", "body": {json.dumps(a_step())}, "output": {lists}}}')


def test_a_document_made_in_python_is_checked_as_well() -> None:
    body: Any = StepNode(step="a", agent="a", action="a", reads=True)
    for _ in range(NESTING_MAX + 1):
        body = SeriesNode((body,))
    with pytest.raises(PlanError, match="nested more than"):
        check_document(Document(plan="deep", body=body))


# --- templates

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text().filter(lambda k: k[:1] != "$"), inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(["input", "flight", "hotel"])
PATHS = st.lists(st.sampled_from(["a", "b"]) | st.integers(0, 2), max_size=3)
TEMPLATES = st.recursive(
    LITERALS
    | st.builds(lambda name, path: {"$ref": name, "path": path}, NAMES, PATHS)
    | st.builds(lambda value: {"$lit": {"$ref": value}}, LITERALS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)


def filled(template: Any, values: dict[str, Any]) -> Any:
    """What a template means, said once more and as plainly as possible."""
    if isinstance(template, list):
        return [filled(part, values) for part in template]
    if not isinstance(template, dict):
        return template
    if "$lit" in template:
        return template["$lit"]
    if "$ref" in template:
        return (values[template["$ref"]], tuple(template["path"]))
    return {key: filled(part, values) for key, part in template.items()}


class _Anything:
    """A recorded value in which every path is there, and which knows the path."""

    def __init__(self, name: str, path: tuple[str | int, ...] = ()) -> None:
        self.said = (name, path)

    def __getitem__(self, part: str | int) -> "_Anything":
        return _Anything(self.said[0], (*self.said[1], part))


def said(value: Any) -> Any:
    if isinstance(value, _Anything):
        return value.said
    if isinstance(value, list):
        return [said(part) for part in value]
    return {key: said(part) for key, part in value.items()} if isinstance(value, dict) else value


@given(TEMPLATES)
def test_templates_survive_the_document_and_mean_what_they_say(template: Any) -> None:
    check_template(template, "here")
    steps = [a_step("flight"), a_step("hotel"), a_step("use", args={"x": template})]
    stored = read_document(read_document(a_plan(*steps, output=template)).canonical())
    names = {"input": "input", "flight": "flight", "hotel": "hotel"}
    recorded = {name: _Anything(name) for name in names}
    last = list(step_nodes(stored.body))[-1]
    assert said(resolve(last.args, recorded)) == {"x": filled(template, names)}
    assert said(resolve(stored.output, recorded)) == filled(template, names)
    assert {name for name, _ in references(stored.output)} <= names.keys()
