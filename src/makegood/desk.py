"""The desk: the one road from a fact to the store. Rooms post facts; one flush has each task of a batch
decided, commits what came of it, and only then tells who waits and hands out what was ordered.

One batch is in flight; what is posted meanwhile forms the next, so that groups grow with the load and no
timer is needed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence

from makegood.clock import Clock
from makegood.commit import RETRY_CAP, RETRY_FIRST, commit
from makegood.core.events import Event, TaskSubmitted
from makegood.core.plan import Millis, Plan
from makegood.core.record import AT_REST, TaskState
from makegood.decision import Decision, of_known, of_new
from makegood.errors import MakegoodError, StoreError, StoreUncertain
from makegood.rooms import Entry, Rooms
from makegood.shelf import Shelf
from makegood.store.protocol import Answer, Committed, Rejected, Stale, Store, Stored
from makegood.tray import Posted, Tray

log = logging.getLogger("makegood.desk")

TASKS_A_FLUSH = 200
FRESH = 0.5
"""Seconds: nothing is decided on an older answer of the store than this, or lives count from its end."""
CUT_SHORT = "this Makegood was closed while it was being written; it may be in the store, or not: look again"


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
        self._tray = Tray()
        self._new: dict[str, int] = {}  # how many submissions of an id are under way
        self._faults: dict[str, int] = {}
        self._flushing = False
        self._waiters: dict[str, list[asyncio.Future[TaskState]]] = {}

    # --- for the rooms and the client

    def now(self) -> Millis:
        """Store time as far as this process can know it: never ahead of the store's."""
        return self._moment()[0]

    def post(self, task_id: str, event: Event, answer: asyncio.Future[bool] | None = None) -> None:
        """Put a fact on the desk. `answer` gets True when it is durable, False when it was old news, or an
        error: ActRefused, UnknownTask, StoreError."""
        self._tray.put(task_id, Posted(event, answer))

    def look(self, task_id: str, found: Stored | None = None) -> None:
        """Have the rooms look at a task: something in it may be due. `found` is it as just read."""
        if found is not None and not self.shelf.heed(found):
            return
        if task_id not in self._tray:
            self._tray.put(task_id, Posted(None))

    async def submit(
        self, plan: Plan, task_id: str, event: TaskSubmitted, *, beside: Sequence[str] = ()
    ) -> bool:
        """Enter a new task; False if the id is taken. Its plan must be saved. Raises StoreError.

        Either way the task is durable when this returns. `beside` are tasks that are submitted with it, to
        be written in the same commit.
        """
        self.shelf.add_plan(plan)
        self._new[task_id] = self._new.get(task_id, 0) + 1
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._tray.put(task_id, Posted(event, answer, plan, beside))
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

    async def due(self, page: int = 200, *, within: Millis = 0) -> AsyncIterator[Stored]:
        """Everything in the store that is due now, or `within` a time from now, in bounded pages, each task
        once."""
        before, after = await self.store.now() + within, None
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
        while (self._tray or self._flushing) and self.clock.monotonic() < until:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        """Nothing will be flushed any more: whoever waits is told so, and whoever comes."""
        self._tray.close()

    async def run(self) -> None:
        """Flush for ever; ends when cancelled."""
        pause = RETRY_FIRST
        while True:
            await self._tray.filled()
            await asyncio.sleep(0)  # what comes in this turn of the loop joins the same batch
            try:
                await self.flush()
                pause = RETRY_FIRST
            except StoreError as error:
                log.warning("the store cannot be reached, trying again in %.2f s: %s", pause, error)
                await asyncio.sleep(pause)
                pause = min(RETRY_CAP, pause * 2)
            except Exception:  # a fault of ours: who waits was told, the rooms' facts are decided again
                log.exception("a flush failed, trying again in %.2f s", pause)
                await asyncio.sleep(pause)
                pause = min(RETRY_CAP, pause * 2)

    async def flush(self) -> None:
        """Decide and commit what is on the desk now, at most TASKS_A_FLUSH tasks.

        Raises StoreError with the rooms' facts back on the desk; who waits for an answer is told.
        """
        batch, decisions = self._tray.take(TASKS_A_FLUSH), list[Decision]()
        self._flushing = True
        try:
            await self._freshen()
            new = {task_id for task_id, posts in batch.items() if self._is_new(task_id, posts)}
            read = await self.shelf.load([task_id for task_id in batch if task_id not in new])
            now, since = self._moment()
            for task_id in list(batch):
                posts = batch.pop(task_id)
                decision = self._decide(task_id, posts, now, new=task_id in new, fresh=task_id in read)
                if decision is not None:
                    decisions.append(decision)
            await self._commit(decisions, since)
        except asyncio.CancelledError:
            self._put_back(batch, decisions, StoreUncertain(CUT_SHORT))
            raise
        except Exception as error:
            self._put_back(batch, decisions, error)
            raise
        finally:
            self._flushing = False

    async def _freshen(self) -> None:
        """Have a new answer of the store where the newest is old: other processes' time may be far on."""
        stamp = self.store.stamp()
        if stamp.seen - stamp.round_trip + FRESH < self.clock.monotonic():
            await self.store.now()

    def _moment(self) -> tuple[Millis, float]:
        """Store time as it is decided by, and the monotonic second from which the lives of calls count."""
        stamp, monotonic = self.store.stamp(), self.clock.monotonic()
        now = stamp.at + int((monotonic - stamp.seen) * 1000)
        return now, min(monotonic, stamp.seen - stamp.round_trip + FRESH)

    def _is_new(self, task_id: str, posts: list[Posted]) -> bool:
        return task_id in self._new and any(post.plan is not None for post in posts)

    def _put_back(
        self, undecided: dict[str, list[Posted]], decisions: list[Decision], error: Exception
    ) -> None:
        """Nothing was written: keep the facts, tell those who wait, give reserved slots back."""
        for decision in decisions:
            self.rooms.release(decision.claims)
            self._tray.keep(decision.entry.task_id, decision.posts, error)
        for task_id, posts in undecided.items():
            self._tray.keep(task_id, posts, error)

    # --- deciding

    def _decide(
        self, task_id: str, posts: list[Posted], now: Millis, *, new: bool, fresh: bool
    ) -> Decision | None:
        """What is to be written of a task, if anything; one that cannot be decided harms no other."""
        decision = None
        try:
            decision = self._begin(task_id, posts, now, new=new, fresh=fresh)
            if decision is None:
                return None
            decision.fold()
            if not decision.certain:
                self._decide_again(task_id, posts)
                return None
            decision.fuse(self.rooms)
            decision.conclude(self.rooms, self.member_id, self._random_bits)
            if decision.change is None:
                self._nothing_to_write(decision)
                return None
            return decision
        except Exception as error:
            self._spoiled(task_id, posts, decision, error)
            return None

    def _begin(
        self, task_id: str, posts: list[Posted], now: Millis, *, new: bool, fresh: bool
    ) -> Decision | None:
        if new:
            return self._begin_new(task_id, posts, now)
        at_hand = self.shelf.get(task_id)
        if isinstance(at_hand, MakegoodError):
            if not fresh:  # it was at hand, and is out of date since: what is posted is not
                self._decide_again(task_id, posts)
                return None
            for post in posts:
                post.fail(at_hand)
            return None
        return of_known(at_hand, posts, now, fresh=fresh)

    def _begin_new(self, task_id: str, posts: list[Posted], now: Millis) -> Decision:
        """Other facts wait for the next flush: they may be of a task that has the id, with another plan."""
        self._tray.put_back(task_id, [post for post in posts if post.plan is None])
        return of_new(task_id, [post for post in posts if post.plan is not None], now)

    def _nothing_to_write(self, decision: Decision) -> None:
        decision.tell()
        if decision.fresh:
            self.rooms.saved(decision.entry)  # what others wrote may concern the rooms here

    def _decide_again(self, task_id: str, posts: list[Posted]) -> None:
        self.shelf.forget(task_id)
        self._tray.decide_again(task_id, posts)

    def _spoiled(
        self, task_id: str, posts: list[Posted], decision: Decision | None, error: Exception
    ) -> None:
        """A fault of ours: nothing of the decision is kept, and it is logged once a version."""
        version = decision.entry.version if decision is not None else -1
        if self._faults.get(task_id) != version:
            self._faults[task_id] = version
            named = {"task_id": task_id}
            log.error(
                "task %s: a decision failed and nothing of it was kept", task_id, exc_info=error, extra=named
            )
        if decision is not None:
            self.rooms.release(decision.claims)
        for post in posts:
            post.fail(error)

    # --- committing

    async def _commit(self, decisions: list[Decision], since: float) -> None:
        if not decisions:
            return
        answers = await commit(self.store, [d.change for d in decisions if d.change is not None])
        for decision, answer in zip(decisions, answers, strict=True):
            try:
                self._answered(decision, answer, since)
            except Exception as error:  # a fault of ours: the rest of what was written is still due
                log.exception("task %s: what became of a commit was not heeded", decision.entry.task_id)
                for post in decision.posts:
                    post.fail(error)

    def _answered(self, decision: Decision, answer: Answer | None, since: float) -> None:
        match answer:
            case Committed():
                self._committed(decision, since)
            case Stale():
                self._stale(decision)
            case Rejected(reason=reason):
                self._rejected(decision, reason)
            case None:
                self._not_written(decision, decision.posts)

    def _committed(self, decision: Decision, since: float) -> None:
        """Carry out what was ordered; whatever comes of that, who waits is told."""
        saved = decision.saved()
        self._new.pop(saved.task_id, None)
        try:
            self._pass_on(decision, saved, since)
        finally:
            decision.tell()
            if saved.head.state in AT_REST:
                for waiter in self._waiters.pop(saved.task_id, []):
                    if not waiter.done():
                        waiter.set_result(saved.head.state)

    def _pass_on(self, decision: Decision, saved: Entry, since: float) -> None:
        task_id = saved.task_id
        if saved.head.state in AT_REST:
            self.shelf.forget(task_id)
        else:
            self.shelf.keep(saved)
        self.rooms.saved(saved)
        if self.rooms.agents is not None and decision.claims:
            self.rooms.agents.carry_out(saved, decision.claims, since)
        if decision.parks and self.rooms.deciding:
            log.warning(
                "task %s of plan %s is parked; `makegood why %s` says what a person can do",
                *(task_id, saved.plan.name, task_id),
                extra={"task_id": task_id, "plan": saved.plan.name},
            )

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
