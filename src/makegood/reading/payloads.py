"""Payloads as a person may see them: everything of them that the plan does not hide."""

from typing import Any

import msgspec

from makegood.core.plan import Plan
from makegood.core.secrets import hide

SHOWN_MAX = 160
"""Characters of a payload that a line of text shows; documents hold all of it."""


def value_of(plan: Plan, name: str, payload: msgspec.Raw) -> Any:
    """A payload as JSON values; `name` is "input", or the step whose result it is."""
    return hide(msgspec.json.decode(payload), plan.secrets.get(name, ()))


def text_of(plan: Plan, name: str, payload: msgspec.Raw) -> str:
    """The same in one line, cut where it is long."""
    hidden = name in plan.secrets
    text = (msgspec.json.encode(value_of(plan, name, payload)) if hidden else bytes(payload)).decode()
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}..."
