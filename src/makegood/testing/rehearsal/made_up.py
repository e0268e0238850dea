"""What a rehearsed plan is given, and what its simulated services answer, where nobody said."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import NoneType
from typing import Any

import msgspec

from makegood.authoring.action import Action
from makegood.authoring.plans import PlanDefinition
from makegood.core.plan import StepPlan
from makegood.errors import PayloadError
from makegood.payload import Codec, codec_for, schema_of
from makegood.testing.rehearsal.samples import PLAIN, Path, Schema, paths_into, sample, with_paths
from makegood.testing.rehearsal.stage import Rehearsal


class MadeUp:
    """Values for one plan."""

    def __init__(self, plan: PlanDefinition[Any, Any], stage: Rehearsal) -> None:
        self._plan = plan
        self._stage = stage
        self._paths = paths_into(plan.document)

    def result(self, step: StepPlan, number: int) -> msgspec.Raw:
        """The result of a step's n-th effect, from 1: what was said, or else made up from its type."""
        said = self._stage.answer(step, number)
        if said is not None:
            return said
        action, paths = self._actions.get((step.agent, step.action)), self._paths.get(step.name, ())
        if action is None:
            return msgspec.Raw(msgspec.json.encode(with_paths(number, paths, f"made up {number}")))
        schema = self._schemas[step.agent, step.action]
        with suppress(PayloadError):
            return msgspec.Raw(fitting(action.result_codec, schema, paths, number))
        made = _made(schema, paths, number)  # good enough for those who only refer to it
        return msgspec.Raw(msgspec.json.encode(made))

    def input(self, given: Any = None, json: bytes | None = None) -> bytes:
        """What is given, as it is or as JSON, or was said, or else made up.

        Raises PayloadError for what the plan cannot take.
        """
        plan = self._plan
        codec = codec_for(plan.input_type)
        if given is not None or json is not None:
            return codec.encode(given if json is None else codec.decode(json, "input"), "input")
        said = self._stage.given(plan)
        if said is not None:
            return said
        if plan.input_type is NoneType:
            return b"null"
        try:
            return fitting(codec, plan.document.input, self._paths.get("input", ()), 1)
        except PayloadError as error:
            raise PayloadError(
                f"plan {plan.name}: no input could be made up from its type ({error}); give one: --input, or "
                "input() of your Rehearsal"
            ) from None

    @cached_property
    def _schemas(self) -> dict[tuple[str, str], Schema]:
        return {name: schema_of(action.result_type) for name, action in self._actions.items()}

    @cached_property
    def _actions(self) -> dict[tuple[str, str], Action]:
        """The plan's actions by agent and name, as far as they are known here."""
        return {(action.node.agent, action.name): action for action in self._plan.actions}


def _made(schema: Schema, paths: Sequence[Path], number: int, plain: Mapping[str, int] | None = None) -> Any:
    return with_paths(sample(schema, number, paths=paths, plain=plain), paths, f"made up {number}")


def fitting(codec: Codec, schema: Schema, paths: Sequence[Path], number: int) -> bytes:
    """JSON made up that can be read as its type, by other texts where the first cannot be.

    Raises PayloadError for the part for which there is none.
    """
    plain: dict[str, int] = {}
    while True:
        try:
            return codec.encode(codec.convert(_made(schema, paths, number, plain)))
        except PayloadError as error:
            where, _, _ = str(error).partition(": ")
            plain[where] = plain.get(where, 0) + 1
            if plain[where] == len(PLAIN):
                raise
