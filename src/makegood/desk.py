"""The desk: the one road from a fact to the store. Rooms post facts; one flush folds all of a task's facts
through the core into one change, commits the batch, and only then hands out what was ordered.

Nothing is decided before the flush, so nothing decided is ever speculative. One batch is in flight; what is
posted meanwhile forms the next, so that groups grow with the load and no timer is needed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence

from makegood.clock import Clock
from makegood.core import machine
from makegood.core.draft import Draft
from makegood.core.events import Claimed, Event, Row, TaskSubmitted, chain, decode_row, encode_row
from makegood.core.plan import Millis, Plan
from makegood.core.record import AT_REST, TaskState, encode_head
from makegood.core.values import Values
from makegood.errors import ActRefused, MakegoodError, StoreUnavailable, StoreUncertain
from makegood.rooms import Entry, Rooms
from makegood.shelf import Shelf
from makegood.store.protocol import Answer, Change, Committed, Rejected, Stale, Store, Stored

log = logging.getLogger("makegood.desk")

TASKS_A_FLUSH = 200
DECISIONS_MAX = 25
"""How often a fact is decided again after losing to another writer before its poster is told."""
RETRY_FIRST, RETRY_CAP = 0.05, 2.0
"""Seconds between tries while the store cannot be reached."""


class Posted:
    """A fact on its way: what came of it is told to `answer`, if anybody waits. A submission has a `plan`."""

    __slots__ = ("answer", "decided", "event", "plan")

    def __init__(
        self, event: Event | None, answer: asyncio.Future[bool] | None, plan: Plan | None = None
    ) -> None:
        self.event = event
        self.answer = answer
        self.plan = plan
        self.decided = 0

    def tell(self, news: bool) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(news)

    def fail(self, error: Exception) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


class Decision:
    """What one flush decided of one task: a draft, the change it makes, and what to tell whom."""

    __slots__ = ("change", "claims", "draft", "entry", "fresh", "posts", "told")

    def __init__(self, entry: Entry, posts: list[Posted], draft: Draft, *, fresh: bool) -> None:
        self.entry = entry
        self.posts = posts
        self.draft = draft
        self.fresh = fresh
        self.told: list[tuple[Posted, bool | ActRefused]] = []
        self.claims: list[Claimed] = []
        self.change: Change | None = None


class Desk:
    """Between the rooms of one process and the store. `member_id` names the process in the record."""

    def __init__(
        self, store: Store, clock: Clock, member_id: str, *, random_bits: Callable[[int], int]
    ) -> None:
        self.store = store
        self.clock = clock
        self.member_id = member_id
        self.rooms = Rooms()
        self.shelf = Shelf(store)
        self._random_bits = random_bits
        self._queue: dict[str, list[Posted]] = {}
        self._new: dict[str, int] = {}  # how many submissions of an id are under way
        self._faults: dict[str, int] = {}
        self._flushing = False
        self._wake: asyncio.Future[None] | None = None
        self._waiters: dict[str, list[asyncio.Future[TaskState]]] = {}

    # --- for the rooms and the client

    def now(self) -> Millis:
        """Store time as far as this process can know it: never ahead of the store's."""
        stamp = self.store.stamp()
        return stamp.at + int((self.clock.monotonic() - stamp.seen) * 1000)

    def post(self, task_id: str, event: Event, answer: asyncio.Future[bool] | None = None) -> None:
        """Put a fact on the desk. `answer` gets True when it is durable, False when it was old news, or an
        error: ActRefused, UnknownTask, StoreError."""
        self._queue.setdefault(task_id, []).append(Posted(event, answer))
        self._ring()

    def look(self, task_id: str, found: Stored | None = None) -> None:
        """Have the rooms look at a task: something in it may be due. `found` is it as just read."""
        if found is not None and not self.shelf.heed(found):
            return
        if task_id not in self._queue:
            self._queue[task_id] = [Posted(None, None)]
            self._ring()

    async def submit(self, plan: Plan, task_id: str, event: TaskSubmitted) -> bool:
        """Enter a new task; False if the id is taken. Its plan must be saved. Raises StoreError.

        Either way the task is durable when this returns.
        """
        self.shelf.add_plan(plan)
        self._new[task_id] = self._new.get(task_id, 0) + 1
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.setdefault(task_id, []).append(Posted(event, answer, plan))
        self._ring()
        try:
            return await answer
        finally:
            self._new[task_id] = self._new.get(task_id, 1) - 1
            if not self._new[task_id]:
                del self._new[task_id]

    async def act(self, task_id: str, event: Event) -> bool:
        """Post a fact and wait until it is durable; False: it was old news. Raises as `post` says."""
        answer = asyncio.get_running_loop().create_future()
        self.post(task_id, event, answer)
        return bool(await answer)

    def ended(self, task_id: str) -> asyncio.Future[TaskState]:
        """A future for the state in which this process sees the task end or park."""
        waiter: asyncio.Future[TaskState] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(task_id, []).append(waiter)
        return waiter

    def forget_waiter(self, task_id: str, waiter: asyncio.Future[TaskState]) -> None:
        """Nobody waits on this future any more."""
        left = [w for w in self._waiters.pop(task_id, []) if w is not waiter]
        if left:
            self._waiters[task_id] = left

    async def due(self, page: int = 200) -> AsyncIterator[Stored]:
        """Everything in the store that is due now, in bounded pages, each task once."""
        before, after = await self.store.now(), None
        while True:
            found = await self.store.due(before, after=after, limit=page)
            for stored in found.tasks:
                yield stored
            after = found.next
            if after is None:
                return

    # --- flushing

    async def settle(self, patience: float) -> None:
        """Wait, at most `patience` seconds, until nothing is left to flush."""
        until = self.clock.monotonic() + patience
        while (self._queue or self._flushing) and self.clock.monotonic() < until:
            await asyncio.sleep(0.01)

    async def run(self) -> None:
        """Flush for ever; ends when cancelled."""
        pause = RETRY_FIRST
        while True:
            await self._rung()
            try:
                await self.flush()
                pause = RETRY_FIRST
            except StoreUnavailable as error:
                log.warning("the store cannot be reached, trying again in %.2f s: %s", pause, error)
                await asyncio.sleep(pause)
                pause = min(RETRY_CAP, pause * 2)
            except Exception:  # a fault of ours: who waits was told, the rooms' facts are decided again
                log.exception("a flush failed, trying again in %.2f s", pause)
                await asyncio.sleep(pause)
                pause = min(RETRY_CAP, pause * 2)

    async def flush(self) -> None:
        """Decide and commit what is on the desk now, at most TASKS_A_FLUSH tasks.

        Raises StoreUnavailable with the rooms' facts back on the desk; who waits for an answer is told.
        """
        batch = {task_id: self._queue.pop(task_id) for task_id in list(self._queue)[:TASKS_A_FLUSH]}
        self._flushing = True
        asked = self.clock.monotonic()
        decisions: list[Decision] = []
        try:
            new = {task_id for task_id, posts in batch.items() if self._is_new(task_id, posts)}
            loaded = await self.shelf.load([task_id for task_id in batch if task_id not in new])
            now, undecided, batch = self.now(), batch, {}
            for task_id, posts in undecided.items():
                decision = self._decide(task_id, posts, now, fresh=task_id in loaded)
                if decision is not None and decision.change is not None:
                    decisions.append(decision)
            await self._commit(decisions, asked)
        except Exception as error:
            self._put_back(batch, decisions, error)
            raise
        finally:
            self._flushing = False

    def _ring(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _rung(self) -> None:
        """Wait for facts; those that come in this turn of the loop join the same batch."""
        if not self._queue:
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
            self._wake = None
        await asyncio.sleep(0)

    def _put_back(
        self, undecided: dict[str, list[Posted]], decisions: list[Decision], error: Exception
    ) -> None:
        """Nothing was written: keep the facts, tell those who wait, give reserved slots back."""
        for decision in decisions:
            self.rooms.release(decision.claims)
            undecided[decision.entry.task_id] = decision.posts
        for task_id, posts in undecided.items():
            kept = [post for post in posts if post.answer is None]
            for post in posts:
                post.fail(error)
            if kept:
                self._queue.setdefault(task_id, [])[:0] = kept

    # --- deciding

    def _decide(self, task_id: str, posts: list[Posted], now: Millis, *, fresh: bool) -> Decision | None:
        """Fold all facts of one task into one change; a task that cannot be decided harms no other."""
        decision = None
        try:
            decision = self._begin(task_id, posts, now, fresh=fresh)
            if decision is None:
                return None
            self._fold(decision)
            if not decision.fresh and any(news is not True for _, news in decision.told):
                self._decide_again(task_id, posts)  # nothing is dropped on the word of a cached head
                return None
            self._fuse(decision)
            self._conclude(decision)
            return decision
        except Exception as error:
            self._spoiled(task_id, posts, decision, error)
            return None

    def _spoiled(
        self, task_id: str, posts: list[Posted], decision: Decision | None, error: Exception
    ) -> None:
        """A fault of ours: nothing of the decision is kept, and it is logged once a version."""
        version = decision.entry.version if decision is not None else -1
        if self._faults.get(task_id) != version:
            self._faults[task_id] = version
            log.error("task %s: a decision failed and nothing of it was kept", task_id, exc_info=error)
        if decision is not None:
            self.rooms.release(decision.claims)
        for post in posts:
            post.fail(error)

    def _begin(self, task_id: str, posts: list[Posted], now: Millis, *, fresh: bool) -> Decision | None:
        if self._is_new(task_id, posts):
            return self._begin_new(task_id, posts, now)
        at_hand = self.shelf.get(task_id)
        if isinstance(at_hand, MakegoodError):
            for post in posts:
                post.fail(at_hand)
            return None
        return Decision(at_hand, posts, Draft(at_hand.plan, task_id, at_hand.head, now), fresh=fresh)

    def _is_new(self, task_id: str, posts: list[Posted]) -> bool:
        return task_id in self._new and any(post.plan is not None for post in posts)

    def _begin_new(self, task_id: str, posts: list[Posted], now: Millis) -> Decision:
        """The record that the first submission makes, unless its id turns out to be taken.

        Other facts wait for the next flush: they may be of a task that has the id already, with another plan.
        """
        others = [post for post in posts if post.plan is None]
        if others:
            self._queue.setdefault(task_id, [])[:0] = others
        posts = [post for post in posts if post.plan is not None]
        first = posts[0]
        assert first.plan is not None
        assert isinstance(first.event, TaskSubmitted)
        draft = machine.submit(first.plan, task_id, first.event, now)
        decision = Decision(Entry(task_id, 0, draft.head, first.plan, Values()), posts, draft, fresh=True)
        decision.told.append((first, True))
        return decision

    def _fold(self, decision: Decision) -> None:
        told = {id(post) for post, _ in decision.told}
        for post in sorted(decision.posts, key=_claims_last):
            if post.event is None or id(post) in told:
                continue
            try:
                decision.told.append((post, machine.fold(decision.draft, post.event)))
            except ActRefused as refused:
                decision.told.append((post, refused))

    def _fuse(self, decision: Decision) -> None:
        """Ask the rooms hosted here for their next word, to be written with the same commit."""
        for room in self.rooms.deciding:
            event = room.take(decision.draft)
            if event is not None:
                machine.fold(decision.draft, event)
        if self.rooms.agents is not None:
            for claim in self.rooms.agents.claims(decision.draft):
                decision.claims.append(claim)
                if not machine.fold(decision.draft, claim):  # the core may know better than to start it
                    decision.claims.pop()
                    self.rooms.release([claim])

    def _conclude(self, decision: Decision) -> None:
        draft, entry = decision.draft, decision.entry
        if not draft.facts:
            self._tell(decision)
            if decision.fresh:
                self.rooms.saved(entry)  # what others wrote may concern the rooms here
            return
        head = draft.head
        body = encode_row(Row(draft.now, self.member_id, draft.facts))
        decode_row(body)  # what cannot be read back is not written
        head.write_id = self._random_bits(62)
        head.digest = chain(head.digest, body)
        decision.change = Change(
            task_id=entry.task_id,
            base=entry.version,
            write_id=head.write_id,
            state=head.state,
            due=self._due(decision),
            head=encode_head(head),
            row=body,
            plan=entry.plan.name,
            plan_version=entry.plan.version,
            created_at=head.created_at,
        )

    def _due(self, decision: Decision) -> Millis | None:
        """When the record needs someone next: at once where this process ordered what it cannot drive."""
        due = machine.due(decision.entry.plan, decision.draft.head)
        return due if due is None or self.rooms.deciding else min(due, decision.draft.now)

    def _tell(self, decision: Decision) -> None:
        for post, news in decision.told:
            if isinstance(news, ActRefused):
                post.fail(news)
            else:
                post.tell(news)

    def _decide_again(self, task_id: str, posts: list[Posted]) -> None:
        """Reload and decide again, boundedly where somebody waits for it; a room's fact is never dropped."""
        self.shelf.forget(task_id)
        again = []
        for post in posts:
            post.decided += 1
            if post.answer is None or post.decided < DECISIONS_MAX:
                again.append(post)
            else:
                post.fail(
                    StoreUnavailable(f"task {task_id}: other writers were faster {DECISIONS_MAX} times")
                )
        if again:
            self._queue.setdefault(task_id, [])[:0] = again

    # --- committing

    async def _commit(self, decisions: list[Decision], asked: float) -> None:
        if not decisions:
            return
        changes = [d.change for d in decisions if d.change is not None]
        answers: Sequence[Answer | None]
        try:
            answers = await self.store.commit(changes)
        except StoreUncertain as lost:
            log.warning("the answer to a commit was lost, reading again what became of it: %s", lost)
            await asyncio.sleep(RETRY_FIRST)
            answers = [await self._read_again(change) for change in changes]
        for decision, answer in zip(decisions, answers, strict=True):
            match answer:
                case Committed():
                    self._committed(decision, asked)
                case Stale():
                    self._stale(decision)
                case Rejected(reason=reason):
                    self._rejected(decision, reason)
                case None:
                    self._not_written(decision, decision.posts)

    async def _read_again(self, change: Change) -> Committed | None:
        """After a lost answer: mine exactly if my write id stands in the append row of my version."""
        pause = RETRY_FIRST
        while True:
            try:
                rows = await self.store.history(change.task_id, after=change.base)
            except StoreUnavailable:
                await asyncio.sleep(pause)
                pause = min(RETRY_CAP, pause * 2)
            else:
                first = [(row.version, row.write_id) for row in rows[:1]]
                return Committed() if first == [(change.base + 1, change.write_id)] else None

    def _committed(self, decision: Decision, asked: float) -> None:
        entry, draft = decision.entry, decision.draft
        if entry.values is not None:
            entry.values.absorb(draft.facts)
        saved = Entry(entry.task_id, entry.version + 1, draft.head, entry.plan, entry.values)
        self._new.pop(entry.task_id, None)
        if saved.head.state in AT_REST:
            self.shelf.forget(entry.task_id)
            for waiter in self._waiters.pop(entry.task_id, []):
                if not waiter.done():
                    waiter.set_result(saved.head.state)
        else:
            self.shelf.keep(saved)
        self._tell(decision)
        self.rooms.saved(saved)
        if self.rooms.agents is not None and decision.claims:
            self.rooms.agents.carry_out(saved, decision.claims, asked)

    def _stale(self, decision: Decision) -> None:
        """Somebody was faster. A submission's id is taken; every other fact is decided again."""
        posts = decision.posts
        if self._new.pop(decision.entry.task_id, 0):
            for post in posts:
                if post.plan is not None:
                    post.tell(False)
            posts = [post for post in posts if post.plan is None]
        self._not_written(decision, posts)

    def _not_written(self, decision: Decision, posts: list[Posted]) -> None:
        self.rooms.release(decision.claims)
        self._decide_again(decision.entry.task_id, posts)

    def _rejected(self, decision: Decision, reason: str) -> None:
        self.rooms.release(decision.claims)
        error = MakegoodError(f"task {decision.entry.task_id}: the store cannot hold this change: {reason}")
        log.error("%s", error)
        for post in decision.posts:
            post.fail(error)


def _claims_last(post: Posted) -> bool:
    """A stop in the same change wins over a claim."""
    return isinstance(post.event, Claimed)
