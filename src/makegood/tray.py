"""The tray on a desk: facts that wait to be decided, task by task, in the order in which they came."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from makegood.core.events import Event
from makegood.core.plan import Plan
from makegood.errors import StoreUnavailable

DECISIONS_MAX = 25
"""How often a fact is decided again after losing to another writer before its poster is told."""
CLOSED = "this Makegood was closed before it was written; ask again in one that is open"


class Posted:
    """A fact on its way: what came of it is told to `answer`, if anybody waits. A submission has a `plan`.

    No event at all is a look: something in the task may be due. `beside`: tasks that are to be decided in
    the same batch.
    """

    __slots__ = ("answer", "beside", "decided", "event", "plan")

    def __init__(
        self,
        event: Event | None,
        answer: asyncio.Future[bool] | None = None,
        plan: Plan | None = None,
        beside: Sequence[str] = (),
    ) -> None:
        self.event = event
        self.answer = answer
        self.plan = plan
        self.beside = beside
        self.decided = 0

    def tell(self, news: bool) -> None:
        if self.answer is not None and not self.answer.done():
            with suppress(RuntimeError):  # his event loop is closed
                self.answer.set_result(news)

    def fail(self, error: Exception) -> None:
        if self.answer is not None and not self.answer.done():
            with suppress(RuntimeError):
                self.answer.set_exception(error)


class Tray:
    """What was posted and is not decided yet. A fact that nobody waits for is never dropped."""

    def __init__(self) -> None:
        self._posts: dict[str, list[Posted]] = {}
        self._filled: asyncio.Future[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        """How many tasks have something in it."""
        return len(self._posts)

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._posts

    def put(self, task_id: str, post: Posted) -> None:
        if self._closed:
            post.fail(StoreUnavailable(CLOSED))
        self._posts.setdefault(task_id, []).append(post)
        if self._filled is not None and not self._filled.done():
            self._filled.set_result(None)

    def take(self, tasks: int) -> dict[str, list[Posted]]:
        """Empty it of the posts of so many tasks, longest waiting first, and of those beside them."""
        taken = {task_id: self._posts.pop(task_id) for task_id in list(islice(self._posts, tasks))}
        beside = [other for posts in taken.values() for post in posts for other in post.beside]
        return taken | {other: self._posts.pop(other) for other in beside if other in self._posts}

    async def filled(self) -> None:
        """Wait until something is in it."""
        if not self._posts:
            self._filled = asyncio.get_running_loop().create_future()
            await self._filled
            self._filled = None

    def close(self) -> None:
        """Nothing more will be decided."""
        self._closed = True
        for posts in self._posts.values():
            for post in posts:
                post.fail(StoreUnavailable(CLOSED))

    # --- taken, and not written

    def put_back(self, task_id: str, posts: Sequence[Posted]) -> None:
        """Posts that were taken, before whatever came meanwhile."""
        if posts:
            self._posts.setdefault(task_id, [])[:0] = posts

    def keep(self, task_id: str, posts: Sequence[Posted], error: Exception) -> None:
        """The store failed: who waits is told, the rest is put back."""
        for post in posts:
            post.fail(error)
        self.put_back(task_id, [post for post in posts if post.answer is None])

    def decide_again(self, task_id: str, posts: Sequence[Posted]) -> None:
        """Another writer was faster: put back, boundedly where somebody waits."""
        again = []
        for post in posts:
            post.decided += 1
            if post.answer is None or post.decided < DECISIONS_MAX:
                again.append(post)
            else:
                post.fail(
                    StoreUnavailable(f"task {task_id}: other writers were faster {DECISIONS_MAX} times")
                )
        self.put_back(task_id, again)
