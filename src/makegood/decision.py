"""What one flush decides of one task: facts in, folded through the core; one change for the store out.

Nothing is decided before the flush, so nothing decided is ever speculative. Nothing of a decision is written
yet, so nothing is told, and no order of it is carried out.
"""

from collections.abc import Callable

from makegood.core import machine
from makegood.core.draft import Draft
from makegood.core.events import Claimed, Row, TaskMoved, TaskSubmitted, chain, decode_row, encode_row
from makegood.core.plan import Millis
from makegood.core.record import TaskState, encode_head
from makegood.core.values import Values
from makegood.errors import ActRefused
from makegood.rooms import Entry, Rooms
from makegood.store.protocol import Change
from makegood.tray import Posted


class Decision:
    """A task's facts on their way into its next row; `change` is None until `conclude` finds one.

    `fresh`: the entry was read for this flush; otherwise another process may have written since.
    """

    __slots__ = ("change", "claims", "draft", "entry", "fresh", "posts", "told")

    def __init__(self, entry: Entry, posts: list[Posted], draft: Draft, *, fresh: bool) -> None:
        self.entry = entry
        self.posts = posts
        self.draft = draft
        self.fresh = fresh
        self.told: list[tuple[Posted, bool | ActRefused]] = []
        self.claims: list[Claimed] = []
        self.change: Change | None = None

    @property
    def certain(self) -> bool:
        """False: a fact would be dropped on the word of a head that may be too old to know."""
        return self.fresh or all(news is True for _, news in self.told)

    def fold(self) -> None:
        """Fold the facts that were posted."""
        told = {id(post) for post, _ in self.told}
        for post in sorted(self.posts, key=_claims_last):
            if post.event is None or id(post) in told:
                continue
            try:
                self.told.append((post, machine.fold(self.draft, post.event)))
            except ActRefused as refused:
                self.told.append((post, refused))

    def fuse(self, rooms: Rooms) -> None:
        """Ask the rooms hosted here for their next word, to be written with the same commit."""
        for room in rooms.deciding:
            event = room.take(self.draft)
            if event is not None:
                machine.fold(self.draft, event)
        if rooms.agents is not None:
            for claim in rooms.agents.claims(self.draft):
                self.claims.append(claim)
                if not machine.fold(self.draft, claim):  # the core may know better than to start it
                    self.claims.pop()
                    rooms.release([claim])

    def conclude(self, rooms: Rooms, member_id: str, random_bits: Callable[[int], int]) -> None:
        """Make the change, if there is any. Raises what a row that could not be read back raises."""
        draft, entry, head = self.draft, self.entry, self.draft.head
        if not draft.facts:
            return
        body = encode_row(Row(draft.now, member_id, draft.facts))
        decode_row(body)  # what cannot be read back is not written
        head.write_id = random_bits(62)
        head.digest = chain(head.digest, body)
        self.change = Change(
            task_id=entry.task_id,
            base=entry.version,
            write_id=head.write_id,
            state=head.state,
            due=self._due(rooms),
            head=encode_head(head),
            row=body,
            plan=entry.plan.name,
            plan_version=entry.plan.version,
            created_at=head.created_at,
        )

    def _due(self, rooms: Rooms) -> Millis | None:
        """When the record needs someone next: at once where this process ordered what it cannot drive."""
        due = machine.due(self.entry.plan, self.draft.head)
        return due if due is None or rooms.deciding else min(due, self.draft.now)

    def saved(self) -> Entry:
        """The task as it stands once the change is written."""
        entry, draft = self.entry, self.draft
        if entry.values is not None:
            entry.values.absorb(draft.facts)
        return Entry(entry.task_id, entry.version + 1, draft.head, entry.plan, entry.values)

    @property
    def parks(self) -> bool:
        """Whether it is a person's from now on."""
        moved = any(isinstance(fact, TaskMoved) for fact in self.draft.facts)
        return moved and self.draft.head.state is TaskState.FAILED

    def tell(self) -> None:
        """Tell who waits what came of his fact."""
        for post, news in self.told:
            if isinstance(news, ActRefused):
                post.fail(news)
            else:
                post.tell(news)


def of_known(entry: Entry, posts: list[Posted], now: Millis, *, fresh: bool) -> Decision:
    """A decision on a task as it was last read or committed here."""
    return Decision(entry, posts, Draft(entry.plan, entry.task_id, entry.head, now), fresh=fresh)


def of_new(task_id: str, submissions: list[Posted], now: Millis) -> Decision:
    """The record that the first of some submissions makes, unless its id turns out to be taken."""
    first = submissions[0]
    assert first.plan is not None
    assert isinstance(first.event, TaskSubmitted)
    draft = machine.submit(first.plan, task_id, first.event, now)
    decision = Decision(Entry(task_id, 0, draft.head, first.plan, Values()), submissions, draft, fresh=True)
    decision.told.append((first, True))
    return decision


def _claims_last(post: Posted) -> bool:
    """A stop in the same change wins over a claim."""
    return isinstance(post.event, Claimed)
