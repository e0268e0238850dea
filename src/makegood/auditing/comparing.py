"""The records held against what the services hold. Only tasks at rest since before the listing count."""

import re
from bisect import insort
from collections.abc import Iterator, Sequence

import msgspec

from makegood.auditing.listing import Listing
from makegood.authoring.listing import Held
from makegood.ids import TASK_ID
from makegood.reading.audit import Effect, End, Finding, Kind, Stands, Statement

KEY = re.compile(r"(.+)-([A-Za-z][A-Za-z0-9_]*)(~\d+)?")
"""Our plain form of a do's key: the prefix and the task's id, the step, the round."""

MANY = 10
"""More items of unknown tasks than this are hardly one mistake each."""

AT_REST = frozenset((End.COMPLETED, End.UNDONE, End.ACCEPTED, End.PARKED))
IN_WORDS = {
    Stands.UNDONE: "is undone",
    Stands.NEVER: "never happened",
    Stands.KEPT: "is in effect",
    Stands.ACCEPTED: "was accepted",
    Stands.LEFT: "was left in effect",
    Stands.SKIPPED: "was skipped",
    Stands.IN_DOUBT: "is in doubt",
}


class Told(msgspec.Struct, frozen=True, rename="camel"):
    """What the list says of an effect of which the record cannot: it is in doubt, or skipped and yet held."""

    task_id: str
    step: str
    stands: Stands
    held: bool
    what: str


class Comparison(msgspec.Struct, rename="camel"):
    """How the comparison went. `compared` counts effects that could be listed, done or not, `held` those of
    them that are held, `foreign` what services hold that is not ours; `under_way` names the tasks that moved
    meanwhile and did not count, `unlisted` the actions of the tasks that nothing lists, as agent/action."""

    compared: int = 0
    held: int = 0
    foreign: int = 0
    under_way: list[str] = []
    unlisted: list[str] = []
    doubts: list[Told] = []


class Listed:
    """What one listing told, by key and by task: items are taken out as their effects are met.

    `size` is the number of items, `strangers` of those whose task the store does not know; `found` is what
    they, or the lack of them, showed.
    """

    def __init__(self, listing: Listing) -> None:
        self.name = listing.name
        self.size = len(listing.held)
        self.strangers = 0
        self.found: list[Finding] = []
        self.covers = {(action.agent.name, action.name) for action in listing.actions}
        self.by_key: dict[str, list[Held]] = {}
        self.by_task: dict[str, list[Held]] = {}
        for held in listing.held:
            place, name = (self.by_key, held.key) if held.key else (self.by_task, held.task_id)
            place.setdefault(name, []).append(held)

    def covered(self, statement: Statement) -> list[Effect]:
        return [effect for effect in statement.effects if (effect.agent, effect.action) in self.covers]

    def take(self, task_id: str, effect: Effect, *, sole: bool) -> list[Held]:
        """All that is held of an effect; `sole`: what names no step of its task is of this one."""
        taken = [held for key in effect.keys for held in self.by_key.pop(key, ())]
        named = self.by_task.get(task_id, [])
        own = [held for held in named if held.step == effect.step or (sole and not held.step)]
        if own:
            self.by_task[task_id] = [held for held in named if held not in own]
        return taken + own

    def noted(self, findings: Iterator[Finding]) -> Iterator[Finding]:
        """The same, each kept in `found`."""
        for finding in findings:
            self.found.append(finding)
            yield finding

    @property
    def is_shared(self) -> bool:
        """Whether so much of it is of no task here that another store may use the service."""
        return self.strangers > MANY and self.strangers > self.size / 2


class Comparer:
    """Is shown every task's statement once; then tells what is held that no task asked for.

    `began` is a moment before the listing: only what has been at rest since then can be compared. `moving`
    names what was not: a recorded moment may lag behind the commit, and so behind a listing that came first.
    """

    def __init__(self, listings: Sequence[Listing], began: str, moving: frozenset[str]) -> None:
        self.result = Comparison()
        self._began = began
        self._moving = moving
        self.lists = [Listed(listing) for listing in listings if not listing.trouble]
        self._asked = {action.full_name for listing in listings for action in listing.actions}
        self._unreadable: set[str] = set()
        self._prefixes: dict[str, set[str]] = {}
        for listing in listings:
            for action in listing.actions:
                self._prefixes.setdefault(action.name, set()).add(action.node.key.prefix)

    def see(self, statement: Statement) -> Iterator[Finding]:
        """Compare one task."""
        if statement.end is End.UNREADABLE:
            self._unreadable.add(statement.task_id)
        rested = statement.changed_at <= self._began and statement.task_id not in self._moving
        at_rest = rested and statement.end in AT_REST
        if not at_rest and any(listed.covered(statement) for listed in self.lists):
            self.result.under_way.append(statement.task_id)
        for effect in statement.effects:
            self._learn_form(statement.task_id, effect)
            self._note_unlisted(f"{effect.agent}/{effect.action}")
        for listed in self.lists:
            yield from listed.noted(self._held_against(listed, statement, at_rest=at_rest))

    def _note_unlisted(self, action: str) -> None:
        unlisted = self.result.unlisted
        if action not in self._asked and action not in unlisted:
            insort(unlisted, action)

    def _held_against(self, listed: Listed, statement: Statement, *, at_rest: bool) -> Iterator[Finding]:
        """Whether it counts or not, what is held of a task is taken out: it is no task's orphan."""
        covered = listed.covered(statement)
        for effect in statement.effects:
            held = listed.take(statement.task_id, effect, sole=covered == [effect])
            if at_rest and effect in covered:
                self.result.compared += 1
                self.result.held += bool(held)
                yield from self._compare(listed, statement, effect, held)
        unplaced = listed.by_task.pop(statement.task_id, [])
        if at_rest:
            yield from (_unplaced(listed, covered, held) for held in unplaced)

    def _compare(
        self, listed: Listed, statement: Statement, effect: Effect, held: list[Held]
    ) -> Iterator[Finding]:
        task_id, stands = statement.task_id, effect.stands
        holds = f"{listed.name} holds {', '.join(map(str, held)) or 'nothing of it'}"
        what = f"the record says it {IN_WORDS[stands]}, but {holds}"
        if held and (stands in (Stands.UNDONE, Stands.NEVER) or _is_left_by_hand(statement, effect)):
            yield Finding(Kind.ORPHAN, what, task_id, effect.step)
        elif len(held) > 1:
            yield Finding(Kind.DOUBLE, f"it was meant once, but {holds}", task_id, effect.step)
        elif not held and stands is Stands.KEPT:
            yield Finding(Kind.LOSS, what, task_id, effect.step)
        elif stands is Stands.IN_DOUBT or (held and stands is Stands.SKIPPED):
            self.result.doubts.append(Told(task_id, effect.step, stands, bool(held), holds))

    # --- what is left

    def left_over(self) -> Iterator[Finding]:
        """What is held in our name, and no task of the store has ever asked for."""
        for listed in self.lists:
            yield from listed.noted(self._left_over(listed))

    def _left_over(self, listed: Listed) -> Iterator[Finding]:
        for task_id, held in self._named(listed):
            if held and task_id not in self._unreadable:
                listed.strangers += len(held)
                yield _no_task(listed, task_id, held)

    def _named(self, listed: Listed) -> Iterator[tuple[str, list[Held]]]:
        """What is left, by the task that it names; what is none of ours is counted."""
        for key, held in listed.by_key.items():
            task_id = self._task_in(key)
            if task_id is None:
                self.result.foreign += len(held)
            else:
                yield task_id, held
        yield from listed.by_task.items()

    def _learn_form(self, task_id: str, effect: Effect) -> None:
        for key in effect.keys:
            prefix, plain, _ = key.partition(f"{task_id}-{effect.step}")
            if plain:
                self._prefixes.setdefault(effect.step, set()).add(prefix)

    def _task_in(self, key: str) -> str | None:
        """The task that a key of our plain form names; None for what does not look like one of ours."""
        form = KEY.fullmatch(key)
        if form is None:
            return None
        lead, step = form[1], form[2]
        ids = (lead.removeprefix(p) for p in self._prefixes.get(step, ()) if lead.startswith(p))
        return next(filter(TASK_ID.fullmatch, ids), None)


def _is_left_by_hand(statement: Statement, effect: Effect) -> bool:
    """Whether what was done by hand ought to be gone, its task being undone: makegood undoes only its own."""
    return effect.stands is Stands.SKIPPED and statement.end in (End.UNDONE, End.ACCEPTED)


def _unplaced(listed: Listed, covered: Sequence[Effect], held: Held) -> Finding:
    if not held.step and covered:
        steps = ", ".join(effect.step for effect in covered)
        what = f"{listed.name} holds {held}: of which of its steps ({steps})? Give step= to Held"
        return Finding(Kind.NOT_COMPARED, what, held.task_id)
    what = f"{listed.name} holds {held}, but the task has no such step"
    return Finding(Kind.ORPHAN, what, held.task_id, held.step)


def _no_task(listed: Listed, task_id: str, held: Sequence[Held]) -> Finding:
    what = f"{listed.name} holds {', '.join(map(str, held))}, but this store knows nothing of it"
    return Finding(Kind.ORPHAN, what, task_id)
