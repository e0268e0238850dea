"""What a desk knows of the rooms it serves: what they are asked, and what they are told.

The rooms never import each other. They meet in recorded state; in one process the desk hands committed orders
across.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from makegood.core.draft import Draft
from makegood.core.events import Claimed, Event
from makegood.core.plan import Plan
from makegood.core.record import Head
from makegood.core.values import Values


class Entry:
    """A task as last committed, with its plan; `values` is None until its payloads were needed."""

    __slots__ = ("head", "plan", "task_id", "values", "version")

    def __init__(
        self, task_id: str, version: int, head: Head, plan: Plan, values: Values | None = None
    ) -> None:
        self.task_id = task_id
        self.version = version
        self.head = head
        self.plan = plan
        self.values = values


class Room(Protocol):
    """The scheduler or the supervisor, as the desk sees it."""

    def take(self, draft: Draft) -> Event | None:
        """This room's next word on a task that is being decided, if it has one."""

    def saved(self, entry: Entry) -> None:
        """A task was committed: remember when it next needs this room."""


class AgentRoom(Protocol):
    """The agent runner, as the desk sees it."""

    def claims(self, draft: Draft) -> Sequence[Claimed]:
        """Claims for the open offers it has the action and room for; a slot is reserved for each."""

    def carry_out(self, entry: Entry, claims: Sequence[Claimed], since: float) -> None:
        """The claims are durable: make the calls. Their lives count from `since`, by the monotonic clock."""

    def release(self, claims: Sequence[Claimed]) -> None:
        """The claims were not written: give their slots back."""

    def saved(self, entry: Entry) -> None:
        """A task was committed."""


class Rooms:
    """The rooms one process hosts; the Supervisor speaks before the Scheduler, agents last."""

    def __init__(self) -> None:
        self.deciding: list[Room] = []
        self.agents: AgentRoom | None = None
        self.listening: list[Callable[[Entry], None]] = []
        """Who else is told of what was committed here."""

    def release(self, claims: Sequence[Claimed]) -> None:
        if self.agents is not None and claims:
            self.agents.release(claims)

    def saved(self, entry: Entry) -> None:
        for room in self.deciding:
            room.saved(entry)
        if self.agents is not None:
            self.agents.saved(entry)
        for listener in self.listening:
            listener(entry)
