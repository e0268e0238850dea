"""An agent: the calls to one service, and what that service promises."""

import inspect
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, Literal, Never, TypedDict, TypeVar, Unpack, cast, overload

import msgspec

from makegood.authoring.action import Action, Function
from makegood.authoring.declaring import read_action, read_lister, read_probe, read_undo
from makegood.authoring.places import here
from makegood.core.document import (
    HASH_MIN,
    NAME_IS,
    KeyForm,
    Retry,
    ServiceClass,
    StepNode,
    UndoRetry,
    check_declaration,
)
from makegood.errors import PlanError

AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,59}")
ACTION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")

RETRY, UNDO_RETRY, KEY_FORM = Retry(), UndoRetry(), KeyForm()

WRITTEN = {
    "step": 'name= takes text, as in name="hotel"',
    "timeout": "timeout= takes seconds or a timedelta, as in timeout=30",
    "settle": "settle= takes seconds or a timedelta, as in settle=10",
    "deadline": "deadline= takes seconds or a timedelta, as in deadline=60",
    "keyed": "keyed= takes True, False, or for how long keys are remembered, as in keyed=86400",
    "tombstone": "tombstone= takes True or False",
    "retry": "retry= takes a Retry, as in retry=Retry(attempts=3)",
    "undoRetry": "undo_retry= takes an UndoRetry, as in undo_retry=UndoRetry(within=3600)",
    "key": "key= takes a KeyForm, as in key=KeyForm(uuid=True)",
    "asks": "asks= takes a whole number, as in asks=10",
}
"""What is written for each setting, by its name in a document."""

F = TypeVar("F", bound=Callable[..., Any])
Seconds = float | timedelta
Lifespan = Callable[[], AbstractAsyncContextManager[Any]]
Settings = dict[str, Any]

WAYS_BACK = ("undo", "reads", "pivot")
OF_ACTIONS = (*WAYS_BACK, "probe", "lists")
"""What each action declares for itself, and an agent cannot for all of them."""


class Options(TypedDict, total=False):
    """What an action may say for itself; all but `name`, `probe` and `lists` is the agent's otherwise."""

    name: str
    probe: Callable[..., Any] | None
    lists: Callable[[], Any] | None
    timeout: Seconds
    settle: Seconds
    keyed: bool | Seconds
    tombstone: bool
    retry: Retry
    undo_retry: UndoRetry
    asks: int


_ACTION = "__makegood_action__"


class Agent:
    """The calls to one service. All times are seconds or timedeltas.

    `timeout` bounds one call, and `settle` how long after it a call may still take effect. `keyed` says that
    the service does a thing once per idempotency key (a time: for how long it remembers), `tombstone` that an
    undo by key makes it refuse a later do. `key` is the form in which it takes its keys, `asks` how often a
    probe is asked. `lifespan` opens what the actions share, an HTTP client say: it is called once in each
    process that runs the agent, and the async context manager it returns is entered before the first call and
    left after the last. Raises PlanError for a name, a number or a setting that cannot be.

    `place` is the line that it stands in, `file.py:12`.
    """

    def __init__(
        self,
        name: str,
        *,
        timeout: Seconds = 30,
        settle: Seconds = 10,
        keyed: bool | Seconds = False,
        tombstone: bool = False,
        retry: Retry = RETRY,
        undo_retry: UndoRetry = UNDO_RETRY,
        key: KeyForm = KEY_FORM,
        asks: int = 10,
        lifespan: Lifespan | None = None,
        **misplaced: Never,
    ) -> None:
        if not _matches(AGENT_NAME, name):
            raise PlanError(
                f"{here()}: agent {name!r}: an agent's name is of letters (A to Z, a to z), digits, _, . and "
                "-, begins with a letter, and has at most 60 characters"
            )
        if lifespan is not None and not callable(lifespan):
            raise PlanError(
                f"{here()}: agent {name}: lifespan={lifespan!r} is no function; give one that makes an async "
                "context manager (@asynccontextmanager makes it of a generator)"
            )
        self.name = name
        self.place = here()
        self.lifespan = lifespan
        self.actions: dict[str, Action] = {}
        self._key = key
        self._settings: Settings = {
            "timeout": timeout,
            "settle": settle,
            "keyed": keyed,
            "tombstone": tombstone,
            "retry": retry,
            "undo_retry": undo_retry,
            "asks": asks,
        }
        if misplaced:
            raise PlanError(f"{here()}: agent {name}{self._no_setting(min(misplaced))}")
        # Checked with every action as well; here the error names the agent's own line.
        self._node(f"{here()}: agent {name}", self._settings, action="any", reads=True)

    def __repr__(self) -> str:
        return f"<agent {self.name}: {', '.join(self.actions) or 'no actions'}>"

    def _no_setting(self, given: str) -> str:
        if given in OF_ACTIONS:
            return f": {given}= is declared for each action: @agent.action(..., {given}=...)"
        return f" has no setting {given!r}; it has {', '.join(self._settings)}, key, lifespan"

    @overload
    def action(self, *, undo: Callable[..., Any] | None, **options: Unpack[Options]) -> Callable[[F], F]: ...
    @overload
    def action(self, *, reads: Literal[True], **options: Unpack[Options]) -> Callable[[F], F]: ...
    @overload
    def action(self, *, pivot: Literal[True], **options: Unpack[Options]) -> Callable[[F], F]: ...

    def action(self, *misplaced: object, **given: Any) -> Callable[[F], F]:
        """Declare a function as an action of this agent; it can be called as before, but not in a plan.

        Exactly one of `undo` (a function, or None for an effect that needs no undo), `reads=True` (no effect)
        and `pivot=True` (no way back) is given. `probe` asks the service for one effect; `lists` for all that
        it holds, as Held items, for the audit. Raises PlanError with the function, its line and the way out.
        """
        if misplaced:
            raise PlanError(f"{here()}: write @{self.name}.action(...) with undo=, reads=True or pivot=True")
        at = here()
        way_back, options = self._split(at, given)

        def declare(fn: F) -> F:
            action = self._declared(fn, way_back, options)
            self.actions[action.name] = action
            for function in (fn, action.fn):
                setattr(function, _ACTION, action)
            return cast(F, action.fn)

        return declare

    def _split(self, at: str, given: Settings) -> tuple[Settings, Settings]:
        way_back = {name: value for name, value in given.items() if name in WAYS_BACK and value is not False}
        options = {name: value for name, value in given.items() if name not in WAYS_BACK}
        unknown = sorted(options.keys() - Options.__annotations__.keys())
        if unknown:
            known = ", ".join(Options.__annotations__)
            raise PlanError(
                f"{at}: an action has no option {unknown[0]!r}; it has undo, reads, pivot, {known}"
            )
        if len(way_back) != 1:
            clash = f", not {' and '.join(way_back)} together" if way_back else ""
            raise PlanError(
                f"{at}: an action of {self.name} could strand a half-state: give it exactly one of "
                "undo=function, undo=None (an effect that needs no undo), reads=True (no effect) "
                f"or pivot=True (no way back){clash}"
            )
        return way_back, options

    def _declared(self, fn: Any, way_back: Settings, options: Settings) -> Action:
        do = read_action(fn)
        name = options.get("name", do.name)
        self._check_free(fn, name, do.place)
        undo, probe = way_back.get("undo"), options.get("probe")
        undo = undo if undo is None else read_undo(undo, do)
        probe = probe if probe is None else read_probe(probe, do)
        lists = self._lister(do, way_back, options.get("lists"))
        if "undo" in way_back:
            way_back = {"undo": undo and undo.name}
        where = f"{do.place}: agent {self.name}: action {name!r}"
        settings = self._settings | options
        node = self._node(where, settings, action=name, probe=probe and probe.name, **way_back)
        return Action(agent=self, do=do, undo=undo, probe=probe, lists=lists, node=node)

    def _lister(self, do: Function, way_back: Settings, lists: Any) -> Function | None:
        if lists is not None and "reads" in way_back:
            raise PlanError(
                f"{do.place}: {do.name} only reads, so nothing of it can be held; leave out lists=, or say "
                "undo=None where it has an effect"
            )
        return lists if lists is None else read_lister(lists)

    def _check_free(self, fn: Any, name: Any, place: str) -> None:
        if not _matches(ACTION_NAME, name):
            raise PlanError(
                f"{place}: action {name!r}: an action's name {NAME_IS} 60 characters; give one: name=..."
            )
        if name in self.actions:
            raise PlanError(
                f"{place}: agent {self.name} has an action {name!r}, at {self.actions[name].do.place}; "
                "give one of them another name: name=..."
            )
        other = action_of(fn)
        if other is not None:
            raise PlanError(
                f"{place}: {fn.__name__} is the action {other.full_name} already; "
                "write a second function for a second action"
            )

    def _node(self, where: str, settings: Settings, *, action: str, **declared: Any) -> StepNode:
        node = StepNode(
            step=action,
            agent=self.name,
            action=action,
            timeout=_seconds(settings["timeout"]),
            settle=_seconds(settings["settle"]),
            class_=ServiceClass(keyed=_seconds(settings["keyed"]), tombstone=settings["tombstone"]),
            key=self._key,
            retry=settings["retry"],
            undo_retry=settings["undo_retry"],
            asks=settings["asks"],
            **declared,
        )
        return checked_node(where, node)


def checked_node(where: str, node: StepNode) -> StepNode:
    """A node made of values that a user gave, as it would be read back; raises PlanError if it cannot be."""
    try:
        node = msgspec.convert(msgspec.to_builtins(node), StepNode)
    except (TypeError, ValueError) as error:
        raise PlanError(f"{where}: {_explained(error)}") from None
    check_declaration(where, node)
    _check_key(where, node.key)
    return node


def _check_key(where: str, form: KeyForm) -> None:
    """What a new declaration must not be; plans that run may be older than the rule."""
    needed = len(form.prefix) + HASH_MIN
    if form.max_length < needed:
        raise PlanError(
            f"{where}: key.maxLength must be {needed} or more with its prefix, or two keys could be one"
        )
    if not (form.prefix.isascii() and form.prefix.isprintable()):
        raise PlanError(f"{where}: key.prefix {form.prefix!r} cannot stand in a header; use printable ASCII")


def _explained(error: Exception) -> str:
    """What is wrong with a setting of the wrong type, and what is written instead."""
    said, _, path = str(error).partition(" - at ")
    names = path.strip("`").split(".")
    setting = next((name for name in reversed(names) if name in WRITTEN), "")
    if not setting:
        return str(error)
    inner = "" if names[-1] == setting else f"{names[-1]}: "
    return f"{WRITTEN[setting]}; {inner}{said.replace('`', '')}"


def _matches(pattern: re.Pattern[str], name: Any) -> bool:
    return isinstance(name, str) and pattern.fullmatch(name) is not None


def _seconds(value: Any) -> Any:
    return value.total_seconds() if isinstance(value, timedelta) else value


def action_of(fn: Any) -> Action | None:
    """The action that this very function was declared as, guarded or not; None if it is none."""
    action = getattr(fn, _ACTION, None)
    return action if isinstance(action, Action) and _is_or_wraps(action.fn, fn) else None


def _is_or_wraps(guarded: Callable[..., Any], fn: Any) -> bool:
    return inspect.unwrap(guarded, stop=lambda one: one is fn) is fn
