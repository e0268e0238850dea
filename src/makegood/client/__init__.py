"""The client: submit, wait, look, act. Given agents, `Makegood` is the whole engine in one object."""

from makegood.client.connection import Snapshot, TaskPage
from makegood.client.legible import legible
from makegood.client.makegood import Makegood
from makegood.client.task import Task

__all__ = ["Makegood", "Snapshot", "Task", "TaskPage", "legible"]
