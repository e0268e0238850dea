"""One claimed call: what is to be called with what, and the fact that its outcome becomes."""

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from makegood.agents.call import Call, label
from makegood.agents.classify import meaning_of
from makegood.agents.repertoire import function_of
from makegood.authoring.action import Action, Function
from makegood.authoring.places import place
from makegood.authoring.probing import There, probe_answer
from makegood.core.events import NULL, Answer, Claimed, Event, HandedBack, Probed, Reply, Reported
from makegood.core.plan import Millis, StepPlan
from makegood.core.record import ERROR_KEPT, Kind
from makegood.core.secrets import secrets_in, texts_of, without
from makegood.core.values import Values
from makegood.errors import PayloadError, StillRunning, plain
from makegood.payload import Envelope, MissingPath, UnknownField, names_in, resolve
from makegood.rooms import Entry

log = logging.getLogger("makegood.agents")

UNREADABLE_FIRST: Millis = 15_000
UNREADABLE_CAP: Millis = 600_000
"""A call that this agent's code cannot make waits as long again as its step has been under way, within these
bounds, before it is offered again: so the waits double, and no count of them is kept."""
UNSENT_WAIT: Millis = 1_000
"""How long a call waits that could not be sent for another reason."""


class Work:
    """A claim that is durable.

    `deadline` is the monotonic second in which the call's life ends; `complete_by` is the same moment in
    store time, as recorded. The two part when a wall clock jumps.
    """

    __slots__ = (
        "_envelope",
        "_secrets",
        "action",
        "attempt",
        "complete_by",
        "deadline",
        "entry",
        "key",
        "kind",
        "start_by",
        "step",
    )

    def __init__(
        self,
        entry: Entry,
        claim: Claimed,
        kind: Kind,
        action: Action,
        envelope: Envelope,
        *,
        deadline: float,
        start_by: float,
    ) -> None:
        opened = entry.head.open[claim.step]
        self.entry = entry
        self.step: StepPlan = entry.plan.steps[claim.step]
        self.attempt = claim.attempt
        self.kind = kind
        self.action = action
        self.key = opened.key
        self.complete_by: Millis = opened.complete_by
        self.deadline = deadline
        self.start_by = start_by
        self._envelope = envelope
        self._secrets: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """For logs: task, step and what is called."""
        return label(self.entry.task_id, self.step.name, self.kind, self.attempt)

    @property
    def labels(self) -> dict[str, object]:
        """The same, for logs that machines read."""
        kind = self.kind.name.lower()
        return {"task_id": self.entry.task_id, "step": self.step.name, "kind": kind, "attempt": self.attempt}

    @property
    def function(self) -> Function:
        """The user's function for this kind of call; the runner claims only what its actions have."""
        function = function_of(self.action, self.kind)
        if function is None:
            raise PayloadError(f"{self.action.full_name} has no {self.kind.name.lower()}")
        return function

    def call(self, values: Values, left: Callable[[], float]) -> Call:
        """What `call()` will tell the user's function."""
        do_key = values.do_key(self.entry.task_id, self.step)
        return Call(
            task_id=self.entry.task_id,
            step=self.step.name,
            kind=self.kind,
            attempt=self.attempt,
            key=do_key if self.kind is Kind.PROBE else self.key,
            do_key=do_key,
            result_known=self.step.index in values.results,
            complete_by=self.complete_by,
            left=left,
            hides=self.hides,
        )

    def arguments(self, values: Values) -> tuple[list[Any], dict[str, Any]]:
        """What the function is called with, from recorded values only. Raises PayloadError, MissingPath."""
        recorded = Recorded(self.entry, values, self._envelope)
        json = resolve(self.step.args, recorded)
        self._learn_secrets(json, values)
        given = self.action.arguments(json)
        function = self.function
        if self.kind is Kind.DO:
            return [], given
        named = {name: given[name] for name in function.takes}
        return ([self._result(values)] if self.kind is Kind.UNDO else []), named

    def _learn_secrets(self, json: Any, values: Values) -> None:
        """Whatever this call is given that nobody shall see."""
        secrets = self.entry.plan.secrets
        if not secrets:
            return
        fields = _fields_of(self.action)
        found = set(texts_of(json, secrets_in(self.step.args, secrets), fields))
        raw = self._raw_result(values)
        if raw is not None:
            found |= set(texts_of(msgspec.json.decode(raw), secrets.get(self.step.name, ()), fields))
        self._secrets = frozenset(found)

    def hides(self, text: str) -> str:
        """A text that the user's code made, without the secrets that it was given."""
        return without(text, self._secrets)

    @property
    def holds_secrets(self) -> bool:
        """Whether it was given any."""
        return bool(self._secrets)

    def _result(self, values: Values) -> Any:
        raw = self._raw_result(values)
        return None if raw is None else self.action.result_codec.decode(raw, self._of_result)

    def _raw_result(self, values: Values) -> bytes | None:
        """The step's own result in clear, where it is known."""
        raw = values.results.get(self.step.index)
        return None if raw is None else self._envelope.open(bytes(raw), self._of_result)

    @property
    def _of_result(self) -> str:
        return f"the result of {self.step.name}"

    def _closed(self, value: Any, where: str) -> msgspec.Raw:
        """A result as it is stored; raises PayloadError."""
        clear = self.action.result_codec.encode(value, where, limit=self._envelope.clear_max)
        return msgspec.Raw(self._envelope.close(clear, where))

    def _kept(self, error: str) -> str:
        """An error as it is stored."""
        return self._envelope.close_text(plain(self.hides(error)), ERROR_KEPT)

    # --- outcomes, as facts

    def came_back(self, value: Any, call: Call) -> Event:
        """The function returned."""
        if self.kind is Kind.PROBE:
            return self._probe_said(value)
        raw = NULL
        if self.kind is Kind.DO:
            try:
                raw = self._closed(value, self._of_result)
            except PayloadError as error:
                told = self.hides(plain(str(error)))
                log.warning("%s: it is done, but cannot be recorded: %s", self.name, told, extra=self.labels)
                return self._report(Reply.SPOILED, str(error), key_read=call.key_read)
        return self._report(Reply.DONE, "", key_read=call.key_read, result=raw)

    def raised(self, error: BaseException, call: Call | None) -> Event:
        """The function raised, or was cut off."""
        if self.kind is Kind.PROBE:
            answer = Answer.RUNNING if isinstance(error, StillRunning) else Answer.CANNOT_TELL
            return Probed(self.step.index, self.attempt, answer, error=self._kept(meaning_of(error).error))
        meaning = meaning_of(error, keyed=self.step.keyed)
        key_read = call is None or call.key_read
        return self._report(meaning.reply, meaning.error, key_read=key_read, wait=meaning.retry_after)

    def not_sent(self, why: str) -> Event:
        """Too late to send: certainly no effect. A probe that was not sent is none of its asks."""
        if self.kind is Kind.PROBE:
            return self.handed_back(why, UNSENT_WAIT)
        return self._report(Reply.TRANSIENT, why)

    def no_input(self, error: PayloadError, now: Millis) -> Event:
        """The input cannot be made: the record lacks a part of it, or this agent cannot read it."""
        if isinstance(error, MissingPath) and self.kind is Kind.PROBE:
            return Probed(self.step.index, self.attempt, Answer.CANNOT_TELL, error=self._kept(str(error)))
        if isinstance(error, MissingPath):
            return self._report(Reply.UNRESOLVED, str(error))
        return self.cannot_be_made(f"{error}{_way_out(error)}", now)

    def cannot_be_made(self, why: str, now: Millis) -> Event:
        """This agent's code cannot make the call; another's may: it waits for that, ever longer."""
        head = self.entry.head  # of what a backup brought back nobody knows when it was first called
        under_way = now - (head.open[self.step.index].started_at or head.restored_at)
        return self.handed_back(why, max(UNREADABLE_FIRST, min(under_way, UNREADABLE_CAP)))

    def handed_back(self, why: str, wait: Millis = 0) -> Event:
        return HandedBack(self.step.index, self.attempt, self._kept(why), wait)

    def _report(
        self,
        reply: Reply,
        error: str,
        *,
        key_read: bool = True,
        result: msgspec.Raw = NULL,
        wait: Millis = 0,
    ) -> Reported:
        read = key_read or not self.step.keyed
        return Reported(
            self.step.index,
            self.attempt,
            self.kind,
            reply,
            result,
            self._kept(error),
            retry_after=wait,
            key_read=read,
        )

    def _probe_said(self, value: Any) -> Event:
        said = probe_answer(value)
        if not isinstance(said, There):
            return Probed(self.step.index, self.attempt, Answer.ABSENT)
        try:
            raw = self._closed(said.value, f"the answer of the probe of {self.step.name}")
        except PayloadError as error:
            return Probed(self.step.index, self.attempt, Answer.CANNOT_TELL, error=self._kept(str(error)))
        return Probed(self.step.index, self.attempt, Answer.THERE, raw)


def returned(value: Any) -> Any:
    """What a function came to. Raises TypeError where it is still to be awaited: nothing was done."""
    if not hasattr(type(value), "__await__"):
        return value
    if not inspect.iscoroutine(value):
        raise TypeError(f"it returned a {type(value).__name__} without await; await it, in an `async def`")
    value.close()
    made_by, where = value.__name__, place(value.cr_code.co_filename, value.cr_code.co_firstlineno)
    raise TypeError(
        f"it returned a call of {made_by} ({where}) without await, so that nothing of {made_by} was run; "
        f"write `await {made_by}(...)`, in an `async def`"
    )


@lru_cache(maxsize=4096)
def _fields_of(action: Action) -> frozenset[str]:
    """The names of the fields in what its calls are given: they stand in the code, and tell nothing."""
    return names_in(*action.parameter_types.values(), action.result_type)


def _way_out(error: PayloadError) -> str:
    """What to do about a type that has changed since the task began."""
    if isinstance(error, UnknownField):
        return (
            "; nothing that a task holds is dropped, so keep the field until such tasks have ended (or cancel"
            " this one, if its input was wrong)"
        )
    if "missing required field" in str(error) or "Field required" in str(error):
        return (
            "; give the field a default for tasks that are older (or cancel this one, if its input was wrong)"
        )
    return ""


class Recorded(Mapping[str, Any]):
    """The recorded values by name, decoded when first asked for: "input", and results by step name."""

    def __init__(self, entry: Entry, values: Values, envelope: Envelope) -> None:
        self._index_of = entry.plan.index_of
        self._values = values
        self._envelope = envelope

    def __getitem__(self, name: str) -> Any:
        if name == "input":
            return self._clear(self._values.input, "the input")
        return self._clear(self._values.results[self._index_of[name]], f"the result of {name}")

    def _clear(self, raw: msgspec.Raw, where: str) -> Any:
        return msgspec.json.decode(self._envelope.open(bytes(raw), where))

    def __iter__(self) -> Iterator[str]:
        yield "input"
        yield from (name for name, step in self._index_of.items() if step in self._values.results)

    def __len__(self) -> int:
        return 1 + len(self._values.results)
