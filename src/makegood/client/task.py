"""A handle on one task."""

import asyncio
import getpass
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Generic, TypeVar

import msgspec

from makegood.auditing.records import Records
from makegood.client.connection import Connection, known_form
from makegood.core.events import (
    Act,
    CancelAsked,
    PauseAsked,
    ResolveAsked,
    ResumeAsked,
    RetryAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import TaskState
from makegood.errors import ActRefused, Compensated, Failed, PayloadError, StoreError
from makegood.payload import Codec, canonical, codec_for
from makegood.reading.audit import Statement
from makegood.reading.lengths import in_seconds
from makegood.reading.words import CORRECTED, is_text, state_name

Out = TypeVar("Out")

WAITS_FOR_A_PERSON = "cancelled; before anything is undone a person must settle what `makegood why` says"
CANCELLED = {
    TaskState.RUNNING: "cancel is pending: its pivot is in doubt",
    TaskState.FAILED: WAITS_FOR_A_PERSON,
    TaskState.COMPENSATED: "cancelled: it is Compensated",
    TaskState.COMPLETED: "cancelled too late: its pivot happened, and it is Completed",
}
"""What is said of a cancel by the state that the task is in then; one that is being undone is not here."""
CANCELLED_BEFORE = {
    TaskState.RUNNING: "cancel was pending already",
    TaskState.FAILED: "to be undone already, once a person has settled what `makegood why` says",
    TaskState.COMPENSATED: "already compensated",
    TaskState.COMPLETED: "it is Completed by now",
}
"""The same of a task that was cancelled, or was being undone, before."""


class SoAlready(str):
    """What an act answers where nothing had to be changed."""

    __slots__ = ()


BY_MAX, WHY_MAX = 200, 10_000
"""Characters of who acts, and of why."""


class Task(Generic[Out]):
    """A handle on one task: wait for it, look at it, act on it."""

    def __init__(
        self, connection: Connection, task_id: str, output_type: Any, *, existed: bool = False
    ) -> None:
        self._connection = connection
        self.task_id = task_id
        self.existed = existed
        """Whether a submission found it there; its deadline, start and tags are then those of the first."""
        self._output_type = output_type

    def __repr__(self) -> str:
        return f"<task {self.task_id}>"

    # --- waiting

    async def wait(self, timeout: float | timedelta | None = None) -> str:
        """Wait until it ends or is parked: "Completed", "Compensated" or "Failed".

        Raises TimeoutError after `timeout` (seconds); the task goes on.
        """
        seconds = None if timeout is None else in_seconds("timeout", timeout)
        try:
            async with asyncio.timeout(seconds):
                return state_name(await self._connection.at_rest(self.task_id))
        except TimeoutError:
            late = f"task {self.task_id} has not ended within {seconds:g} s"
            raise TimeoutError(
                f"{late}; {await self._prospect()}, and why() says what it waits for"
            ) from None

    async def _prospect(self) -> str:
        """Whether anybody goes on with it."""
        with suppress(StoreError):
            if not await self._connection.store.members():
                return "no process is up on this store to go on with it (`makegood up APP`)"
        return "it goes on"

    async def result(self, timeout: float | timedelta | None = None) -> Out:
        """Wait for its output. Raises Compensated or Failed with the reason, TimeoutError, PayloadError when
        the output refers to what a result does not have, StoreError."""
        state = await self.wait(timeout)
        snapshot = await self._connection.snapshot(self.task_id)
        if state == "Completed":
            try:
                output: Out = codec_for(self._output_type).convert(snapshot.output(), "output")
            except PayloadError as error:
                raise PayloadError(f"task {self.task_id}: {error}") from None
            return output
        raise (Compensated if state == "Compensated" else Failed)(
            self.task_id, snapshot.record.get("reason", "it was undone")
        )

    # --- looking

    async def record(self) -> dict[str, Any]:
        """The record as JSON values: the document of the pattern."""
        return (await self._connection.snapshot(self.task_id)).record

    async def history(self) -> list[dict[str, Any]]:
        """Its history as JSON values, a fact each, oldest first: when, who, what."""
        return (await self._connection.snapshot(self.task_id)).facts()

    async def why(self) -> str:
        """In words: what it waits for, since when, until when, and what happens next."""
        snapshot, alive = await self._connection.snapshot(self.task_id), await self._connection.alive()
        return snapshot.why(alive)

    async def audit(self) -> Statement:
        """What it has done outside, effect by effect, proved from its history. Raises UnknownTask."""
        records = Records(self._connection.store, self._connection.envelope)
        return (await records.one(known_form(self.task_id))).statement

    # --- acting: `by` is who acts (the user of this machine if not said), `why` is recorded with it

    async def cancel(self, *, by: str | None = None, why: str = "") -> str:
        """Turn it: what it did is undone. Raises ActRefused when it is Completed or past its pivot."""
        fresh = await self._act(CancelAsked(by or user(), why))
        state = await self._connection.state(self.task_id)
        if not fresh:
            return SoAlready(CANCELLED_BEFORE.get(state, "already compensating"))
        if state in CANCELLED:
            return CANCELLED[state]
        paused = (await self._connection.head(self.task_id)).paused
        return f"cancelled: what it did is {'undone once it is resumed' if paused else 'being undone'}"

    async def pause(self, *, by: str | None = None, why: str = "") -> str:
        """Start no call until resumed; open calls finish."""
        fresh = await self._act(PauseAsked(by or user(), why))
        return "paused" if fresh else SoAlready("already paused")

    async def resume(self, *, by: str | None = None, why: str = "") -> str:
        """Go on."""
        fresh = await self._act(ResumeAsked(by or user(), why))
        return "resumed" if fresh else SoAlready("it was not paused")

    async def retry(self, step: str | None = None, *, by: str | None = None, why: str = "") -> str:
        """Try a step (or every step that waits for another try) again now; what has not begun starts now."""
        number = -1 if step is None else await self._number(step)
        begun = (await self._connection.head(self.task_id)).attempt > 0
        await self._act(RetryAsked(number, by or user(), why))
        tried = "trying again" if begun else "starting"
        paused = (await self._connection.head(self.task_id)).paused
        return f"{tried} once it is resumed" if paused else tried

    async def skip(
        self, step: str, result_json: bytes | str | None = None, *, by: str | None = None, why: str = ""
    ) -> str:
        """Go on as if the step were done by hand. Raises ActRefused where that would break a promise, and
        PayloadError for a result that its action could not return, where the agent is known (Makegood.know).
        """
        number = await self._number(step)
        await self._act_with(step, result_json, lambda given: SkipAsked(number, by or user(), why, given))
        return f"skipped {step}"

    async def resolve(
        self,
        step: str,
        verdict: str,
        result_json: bytes | str | None = None,
        *,
        by: str | None = None,
        why: str = "",
    ) -> str:
        """Settle what only a person can: "done", "absent", "undone", "kept" or "left".

        "done" of a step that is done already corrects its result, as long as no call was made of it. Raises
        ActRefused, also when the step moves on before this is recorded: it was said of what it was; and
        PayloadError for a result that its action could not return, where the agent is known (Makegood.know).
        """
        if verdict not in list(Verdict):
            raise ActRefused(f"{verdict!r} is no verdict; say {', '.join(Verdict)}")
        number, head = await self._connection.find_step(self.task_id, step)
        said, seen = Verdict(verdict), head.stands_since(number)
        await self._act_with(
            step, result_json, lambda given: ResolveAsked(number, said, by or user(), why, given, seen)
        )
        if said is not Verdict.DONE or head.marks[number] not in CORRECTED:
            return f"resolved {step} as {verdict}"
        read = "; the task is Completed: who has read its output has the old one"
        return f"corrected the result of {step}{read if head.state is TaskState.COMPLETED else ''}"

    async def _act(self, act: Act) -> bool:
        if not is_text(act.by) or not is_text(act.why):
            raise ActRefused(f"by={act.by!r}, why={act.why!r}: who acts and why are text; give it in Unicode")
        for name, text, at_most in (("by", act.by, BY_MAX), ("why", act.why, WHY_MAX)):
            if len(text) > at_most:
                raise ActRefused(f"{name}= has {len(text):,} characters; give at most {at_most:,}")
        return await self._connection.act(self.task_id, act)

    async def _act_with(
        self, step: str, result_json: bytes | str | None, act: Callable[[tuple[msgspec.Raw, ...]], Act]
    ) -> None:
        """Act with a result, if one is given, checked by the type of its action where that is known here."""
        if result_json is None:
            await self._act(act(()))
            return
        declared = await self._connection.step(self.task_id, step)
        codec = self._connection.result_codec(declared)
        await self._act(act((self._result(result_json, codec or codec_for(Any)),)))
        if codec is None:
            self._connection.say_unchecked(self.task_id, declared)

    def _result(self, result_json: bytes | str, codec: Codec) -> msgspec.Raw:
        """Raises PayloadError for what the codec does not take."""
        if not isinstance(result_json, bytes | str):
            raise PayloadError(f"result_json={result_json!r}: give JSON as text, json.dumps(...) say")
        raw, envelope = result_json, self._connection.envelope
        try:
            kept = codec.decode(raw.encode() if isinstance(raw, str) else raw, "result")
        except PayloadError as error:
            hint = (
                "; it is given as JSON: a text by json.dumps(text), say" if "malformed" in str(error) else ""
            )
            raise PayloadError(f"{error}{hint}") from None
        sealed = envelope.close(canonical(codec.encode(kept, "result", limit=envelope.clear_max)), "result")
        return msgspec.Raw(sealed)

    async def _number(self, step: str) -> int:
        return (await self._connection.find_step(self.task_id, step))[0]


def user() -> str:
    """Who acts, where nobody said: the user of this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
