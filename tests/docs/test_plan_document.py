"""The JSON Schema of plan documents takes what is a plan, and refuses what has not its form."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from makegood import PlanDefinition
from makegood.authoring.loading import load_plan
from tests.cli.terminal import APP
from tests.unit.test_authoring import book_trip
from tests.unit.test_document import BY_HAND, REFUSED, a_plan, a_step, ref
from tools.reference.schemas import schema_of_plans
from tools.site import ROOT

SCHEMA = Draft202012Validator(schema_of_plans())
SECRET = a_plan(a_step(args={"card": ref("input", "card")}), secrets={"input": [["card"], ["log", "*", 0]]})
PLANS: dict[str, Any] = {
    "by hand": BY_HAND,
    "made of Python": book_trip.to_json(),
    "made of an app": load_plan(f"{APP}:book_trip").to_json(),
    "one step": json.dumps({"plan": "pay", "body": a_step("pay")}),
    "groups and secrets": json.dumps(
        SECRET | {"output": {"all": [{"$lit": {"$x": 1}}, ref("book", "a", 0), None]}}
    ),
}
NEEDS_MORE = {
    *("an input that is not JSON", "a name used twice", "two pivots", "a pivot in a group", "a timeout of 0"),
    *("a negative settle", "a deadline of 0", "no attempts", "a negative delay", "an undo factor of 0"),
    *("no asks", "keys remembered for 0 s", "a number without end", "a tombstone without keys"),
    *("keys of 8 characters", "a reference to nothing", "a reference to itself", "a reference ahead"),
    *("a reference to a sibling branch", "an output of nothing", "a number that is none"),
}
"""What is wrong with these no schema can tell, or this one leaves to from_document."""
MALFORMED = {name: raw for name, raw, _ in REFUSED if isinstance(raw, Mapping) and name not in NEEDS_MORE}
NO_JSON = {"a literal that is not JSON", "a key that is no string", "an object that is not JSON"}


def faults(document: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in SCHEMA.iter_errors(document)]


@pytest.mark.parametrize("name", PLANS)
def test_it_takes_what_is_a_plan_with_its_defaults_or_without(name: str) -> None:
    assert faults(json.loads(PLANS[name])) == []
    assert faults(json.loads(PlanDefinition.from_document(PLANS[name]).to_json())) == []


@pytest.mark.parametrize("name", sorted(MALFORMED.keys() - NO_JSON))
def test_it_refuses_what_has_not_the_form_of_one(name: str) -> None:
    assert faults(MALFORMED[name]) != []


def test_it_is_a_schema_and_the_page_links_it() -> None:
    Draft202012Validator.check_schema(SCHEMA.schema)
    assert "(reference/schemas/plan.json)" in (ROOT / "docs" / "plan-document.md").read_text("utf-8")
