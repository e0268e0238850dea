"""The synchronous twin as both type checkers see it: the signatures of the client, and no `await`."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

from makegood import Agent, PlanDefinition, client
from makegood.sync import Makegood, Task


def typed(agent: Agent, plan: PlanDefinition[int, str]) -> None:
    with Makegood("memory:", [agent], audit_every=3) as makegood:
        task = makegood.submit(plan, 3, task_id="stay", tags={"for": "ann"})
        assert_type(task, Task[str])
        assert_type(task.result(timeout=5), str)
        assert_type(task.wait(5), str)
        assert_type(task.cancel(by="ann", why="no room"), str)
        assert_type(task.history(), list[dict[str, Any]])
        assert_type(makegood.submit_json(plan, b"3"), Task[str])
        assert_type(makegood.submit_many(plan, [1, 2]), Sequence[Task[str]])
        assert_type(makegood.task("stay").result(), Any)
        listed: Sequence[Mapping[str, object]] = makegood.list(limit=5).tasks
        assert listed
        assert_type([acted.said for acted in makegood.act_on(["stay"], lambda task: task.retry())], list[str])

        makegood.submit(plan, "3")  # type: ignore[misc]  # pyright: ignore[reportArgumentType]  # E: no int
        makegood.submit(plan, 3, taskid="stay")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # E: no such name
        task.wait("5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # E: no seconds
        makegood.list(limit="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # E: no number
    with client.Makegood("memory:"):  # type: ignore[attr-defined]  # pyright: ignore[reportGeneralTypeIssues]  # E: the other needs async with
        pass
    Makegood("memory:", audit=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]  # E: no such name
