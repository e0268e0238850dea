"""The client: submit, wait, look, act. Given agents, `Makegood` is the whole engine in one object."""

from makegood.client.bulk import Acted
from makegood.client.connection import Snapshot, TaskPage
from makegood.client.makegood import Makegood
from makegood.client.task import Task
from makegood.reading.matching import Where

__all__ = ["Acted", "Makegood", "Snapshot", "Task", "TaskPage", "Where"]
