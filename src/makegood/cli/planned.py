"""A plan that a command is given: APP:PLAN, or a file with a plan document."""

from collections.abc import Iterable
from pathlib import Path
from types import NoneType

from makegood.authoring.agent import Agent
from makegood.authoring.loading import AnyPlan, load_app, load_plan
from makegood.authoring.plans import PlanDefinition
from makegood.core.document import DOCUMENT_MAX
from makegood.errors import PlanError
from makegood.payload import names_in_json


def named_plan(spec: str) -> AnyPlan:
    """The plan of `app.py:book` or of `book.json`. Raises PlanError where there is none, or it is no plan."""
    return plan_of_document(spec) if is_document(spec) else plan_of_app(spec)


def plan_of_app(spec: str) -> AnyPlan:
    """The plan of `app.py:book`. Raises PlanError; where no plan is named, with those that are there."""
    if is_document(spec):
        raise PlanError(
            f"{spec}: a plan document is for `graph` and `check`; here its plan is named APP:PLAN, as in "
            "app.py:book"
        )
    if ":" in spec:
        return load_plan(spec)
    try:
        plans = ", ".join(load_app(spec).plans) or "none"
    except PlanError as error:
        first, *frames = str(error).split("\n")
        named = f"{first}; a plan is named APP:PLAN, as in app.py:book"
        raise PlanError("\n".join([named, *frames])) from None
    raise PlanError(f"{spec}: which plan? Write APP:PLAN, as in app.py:book; its plans: {plans}")


def example_of(plan: AnyPlan) -> str:
    """JSON that the plan takes as its input, in outline; empty where nothing short can be said of it."""
    if plan.input_type is NoneType:
        return "null"
    return "{...}" if names_in_json(plan.input_type) else ""


def is_document(spec: str) -> bool:
    """Whether a plan document is meant: a file's name that ends in .json."""
    return spec.endswith(".json") and ":" not in spec


def plan_of_document(file: str, agents: Iterable[Agent] | None = None) -> AnyPlan:
    """The plan in a file, held against agents if any are given. Raises PlanError."""
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(DOCUMENT_MAX + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PlanError(f"{file}: {reason}; name a file with a plan document in it") from None
    try:
        return PlanDefinition.from_document(raw, agents=agents)
    except PlanError as error:
        raise PlanError(f"{file}: {error}") from None
