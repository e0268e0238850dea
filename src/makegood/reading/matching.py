"""Which tasks are meant: a filter over records, read off the head alone."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta

import msgspec

from makegood.core.plan import Millis, Plan
from makegood.core.record import ENDED, Head, TaskState
from makegood.errors import MakegoodError
from makegood.reading.lengths import in_seconds
from makegood.reading.standing import blocking
from makegood.reading.waiting import moved_at
from makegood.reading.words import BACK, is_text, state_name

TERM = re.compile(r"(?P<name>[a-z]+)(?:\.(?P<tag>[^=~<>]+))?(?P<sign>[=~<>])(?P<value>.*)", re.DOTALL)
LENGTH = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)", re.ASCII)
VERSION = re.compile(r"[0-9a-f]{0,64}", re.ASCII)
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
WAYS = (
    "state=S, ended=yes, ended=no, plan=NAME, version=HEX, step=NAME, agent=NAME, tag.NAME=VALUE, "
    "error~TEXT, paused=yes, paused=no, age>TIME, age<TIME, stuck>TIME (TIME is 90s, 10m, 2h, 3d)"
)

MEANT = {"parked": "Failed", "done": "Completed", "undone": "Compensated", "cancelled": "Compensated"}
"""States by the words that people use for them."""


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks for which all of this holds; what is not given holds for every task. Times are seconds.

    `states` any of these; `ended`, completed or undone, or not; `version` what the plan's begins with; `step`
    and `agent` of a step that is open or blocks the task; `tags` all of these;
    `error` a part of what was said last of an open step, or of why the task stands as it does, whatever its
    case; `paused` or not; `older_than`, `younger_than` since it was submitted; `stuck_for`: not ended, and
    none of its open steps has moved for so long, nor was it to start later.

    Raises MakegoodError for a state, a version or a length of time that is none, and for what is no text.
    """

    states: tuple[str, ...] = ()
    ended: bool | None = None
    plan: str | None = None
    version: str = ""
    step: str | None = None
    agent: str | None = None
    tags: Mapping[str, str] = {}
    error: str = ""
    paused: bool | None = None
    older_than: float | timedelta | None = None
    younger_than: float | timedelta | None = None
    stuck_for: float | timedelta | None = None

    def __post_init__(self) -> None:
        _check_forms(self.states, self.tags)
        _check_either("ended", self.ended)
        _check_either("paused", self.paused)
        for name in ("older_than", "younger_than", "stuck_for"):
            length = getattr(self, name)
            if length is not None:
                in_seconds(name, length)
        for state in self.states:
            state_number(state)
        texts = (self.plan, self.step, self.agent, self.error, *self.tags, *self.tags.values())
        for text in (*texts, self.version):
            if text is not None and not is_text(text):
                raise MakegoodError(f"{text!r} is not text, and tasks are chosen by text; give it in Unicode")
        if not VERSION.fullmatch(self.version):
            raise MakegoodError(
                f"{self.version!r} is no version of a plan; give some of its first hexadecimal digits, "
                "as `planVersion` has them"
            )

    @property
    def numbers(self) -> tuple[int, ...] | None:
        """The states as the store knows them; None: any."""
        states = {*map(state_number, self.states)} or {*TaskState}
        if self.ended is not None:
            states = {state for state in states if (state in ENDED) is self.ended}
        return tuple(sorted(states)) if self.states or self.ended is not None else None

    @property
    def by_store(self) -> bool:
        """Whether the store alone can tell: only the state and the plan are asked for."""
        return self == Where(states=self.states, ended=self.ended, plan=self.plan)

    def holds(self, plan: Plan, head: Head, now: Millis) -> bool:
        """Whether a task of the states and the plan asked for is meant."""
        age = (now - head.created_at) / 1000
        return (
            (self.older_than is None or age > in_seconds("older_than", self.older_than))
            and (self.younger_than is None or age < in_seconds("younger_than", self.younger_than))
            and (self.stuck_for is None or _stood_for(head, now) > in_seconds("stuck_for", self.stuck_for))
            and self.paused in (None, head.paused)
            and plan.version.startswith(self.version)
            and self.tags.items() <= head.tags.items()
            and self._said(head)
            and self._at_step(plan, head)
        )

    def _said(self, head: Head) -> bool:
        wanted = self.error.casefold()
        said = [head.reason, *[f"{BACK if o.handed_back else ''}{o.error}" for o in head.open.values()]]
        return any(wanted in text.casefold() for text in said)

    def _at_step(self, plan: Plan, head: Head) -> bool:
        if self.step is None and self.agent is None:
            return True
        steps = [plan.steps[n] for n in {*head.open, *blocking(head)}]
        return any(
            (self.step is None or step.name == self.step) and (self.agent is None or step.agent == self.agent)
            for step in steps
        )


def _check_either(name: str, given: object) -> None:
    if given not in (None, True, False):
        raise MakegoodError(f"{name}={given!r}: give True, False, or None for both")


def _check_forms(states: Iterable[object], tags: object) -> None:
    of_text = not isinstance(states, str) and all(isinstance(state, str) for state in states)
    if not of_text or not isinstance(tags, Mapping):
        raise MakegoodError(
            f"states={states!r}, tags={tags!r}: give a tuple of states, and pairs of text, as in "
            "Where(states=('Failed',), tags={'customer': '17'})"
        )


def _stood_for(head: Head, now: Millis) -> float:
    """Seconds since anything of it moved; none for a task that has ended."""
    if head.state in ENDED:
        return 0.0
    newest = max((moved_at(head, step) for step in head.open), default=head.created_at)
    return (now - max(newest, head.start_at)) / 1000


def state_number(name: str) -> int:
    """A state by its name, in any case. Raises MakegoodError."""
    for state in TaskState:
        if state_name(state).casefold() == name.casefold():
            return state
    known = ", ".join(state_name(state) for state in TaskState)
    meant = MEANT.get(name.casefold(), "")
    hint = f"; a task that is {name.casefold()} is {meant}" if meant else ""
    raise MakegoodError(f"{name!r} is no state of a task{hint}; the states are {known}")


def parse(terms: Iterable[str]) -> Where:
    """A filter as people write it: `state=failed`, `error~timeout`, `stuck>10m`; all must hold.

    Raises MakegoodError naming the term and the ways to write one.
    """
    given: dict[str, object] = {}
    tags: dict[str, str] = {}
    states: list[str] = []
    for term in terms:
        found = TERM.fullmatch(term)
        if found is None:
            raise _no_term(term)
        name, tag, sign, value = found["name"], found["tag"], found["sign"], found["value"]
        match name, sign:
            case "tag", "=" if tag:
                tags[tag] = value
            case _ if tag:
                raise _no_term(term)
            case "state", "=":
                states.append(value)
            case (("plan" | "version" | "step" | "agent"), "="):
                given[name] = value
            case "error", "~":
                given["error"] = value
            case (("ended" | "paused"), "=") if value in ("yes", "no"):
                given[name] = value == "yes"
            case "age", ">":
                given["older_than"] = _seconds(term, value)
            case "age", "<":
                given["younger_than"] = _seconds(term, value)
            case "stuck", ">":
                given["stuck_for"] = _seconds(term, value)
            case _:
                raise _no_term(term)
    return Where(states=tuple(states), tags=tags, **given)  # type: ignore[arg-type]  # by the names above


def _seconds(term: str, text: str) -> float:
    found = LENGTH.fullmatch(text)
    if found is None:
        raise MakegoodError(f"{term!r}: {text!r} is no length of time; write 90s, 10m, 2h or 3d")
    return length_in_seconds(found)


def length_in_seconds(found: re.Match[str]) -> float:
    """What a match of LENGTH means."""
    return float(found[1]) * SECONDS[found[2]]


def _no_term(term: str) -> MakegoodError:
    return MakegoodError(f"{term!r} is nothing to choose tasks by; write {WAYS}")
