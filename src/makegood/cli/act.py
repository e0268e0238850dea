"""Commands that act on a task: each is recorded with who and why."""

import getpass
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import click

from makegood.authoring.agent import Agent
from makegood.authoring.loading import load_app
from makegood.cli import output
from makegood.cli.bulk import Bulk, act_on_many, bulk_options, one_or_many
from makegood.cli.connect import connected, store_option
from makegood.cli.given import TEXT, read_json
from makegood.cli.nobody import say_if_nobody_is_up
from makegood.client import Makegood, Task
from makegood.core.events import Verdict
from makegood.core.plan import StepPlan
from makegood.errors import PlanError

F = TypeVar("F", bound=Callable[..., Any])


def _os_user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have a number only
        return f"uid {os.getuid()}"


def _named(_: click.Context, __: click.Parameter, name: str) -> str:
    if not name.strip():
        raise click.BadParameter("an act is recorded with who ordered it: give a name")
    return name


def act_options(command: F) -> F:
    """`--by`, `--why` and `--store`."""
    by = click.option(
        "--by",
        type=TEXT,
        metavar="NAME",
        default=_os_user,
        callback=_named,
        help="Who orders it [default: the OS user].",
    )
    why = click.option("--why", type=TEXT, metavar="TEXT", default="", help="Why, for the history.")
    return by(why(store_option(command)))


result_option = click.option(
    "--result",
    metavar="JSON",
    help="The step's result, where later steps use it: JSON, @file, or - for stdin.",
)


app_option = click.option(
    "--app",
    type=TEXT,
    metavar="APP",
    help="Check the result by the types of this APP's agents, before it is recorded.",
)


async def _order(makegood: Makegood, task_id: str, act: Callable[[Task[Any]], Awaitable[str]]) -> int:
    output.done(f"{task_id}: {await act(makegood.task(task_id))}")
    await say_if_nobody_is_up(makegood, [task_id])
    return output.OK


def _order_with(
    given: str | None,
    app: str | None,
    task_id: str,
    step: str,
    act: Callable[[Task[Any], bytes | None], Awaitable[str]],
) -> int:
    """Act with the step's result, if one is given, checked by the app's types if that is named."""
    agents = [] if app is None else list(load_app(app).agents.values())
    result = None if given is None else read_json(given, "--result")

    async def ordered(makegood: Makegood) -> int:
        makegood.know(agents)
        if app is not None and result is not None:
            plan = (await makegood.snapshot(task_id)).plan
            _check_app(app, agents, [each for each in plan.steps if each.name == step])
        return await _order(makegood, task_id, lambda task: act(task, result))

    return connected(ordered)


def _check_app(app: str, agents: Iterable[Agent], steps: Iterable[StepPlan]) -> None:
    """Raise PlanError where a result is to be checked by types that this app does not have."""
    known = {f"{agent.name}/{action}" for agent in agents for action in agent.actions}
    for step in steps:
        if (called := f"{step.agent}/{step.action}") not in known:
            raise PlanError(f"{app} has no {called}, by which the result is to be checked; name its APP")


def _order_any(task_id: str | None, verb: str, act: Callable[[Task[Any]], Awaitable[str]], bulk: Bulk) -> int:
    """Act on the one task that is named, or on all that are meant."""
    one_or_many(task_id, bulk)
    if task_id is None:
        return act_on_many(bulk, verb, act)
    return connected(lambda makegood: _order(makegood, task_id, act))


@click.command()
@click.argument("task_id", metavar="ID", required=False)
@bulk_options
@act_options
def cancel(task_id: str | None, by: str, why: str, **chosen: Any) -> int:
    """End a task, and undo what it did."""
    return _order_any(task_id, "cancel", lambda task: task.cancel(by=by, why=why), Bulk(**chosen))


@click.command()
@click.argument("task_id", metavar="ID", required=False)
@bulk_options
@act_options
def pause(task_id: str | None, by: str, why: str, **chosen: Any) -> int:
    """Start no further call of a task.

    Open calls end and are recorded; `makegood resume` lets it go on.
    """
    return _order_any(task_id, "pause", lambda task: task.pause(by=by, why=why), Bulk(**chosen))


@click.command()
@click.argument("task_id", metavar="ID", required=False)
@bulk_options
@act_options
def resume(task_id: str | None, by: str, why: str, **chosen: Any) -> int:
    """Let a paused task go on."""
    return _order_any(task_id, "resume", lambda task: task.resume(by=by, why=why), Bulk(**chosen))


@click.command()
@click.argument("task_id", metavar="ID", required=False)
@click.argument("step", required=False)
@bulk_options
@act_options
def retry(task_id: str | None, step: str | None, by: str, why: str, **chosen: Any) -> int:
    """Try a task's steps again now.

    STEP, or every step that waits for another try; retries count from 0.
    """
    return _order_any(task_id, "retry", lambda task: task.retry(step, by=by, why=why), Bulk(**chosen))


@click.command()
@click.argument("task_id", metavar="ID")
@click.argument("step")
@result_option
@app_option
@act_options
def skip(task_id: str, step: str, result: str | None, app: str | None, by: str, why: str) -> int:
    """Go on as if a step were done by hand.

    Only a step that certainly had no effect may be skipped.
    """
    return _order_with(result, app, task_id, step, lambda task, given: task.skip(step, given, by=by, why=why))


@click.command()
@click.argument("task_id", metavar="ID")
@click.argument("step")
@click.argument("verdict", metavar="VERDICT", type=click.Choice([verdict.value for verdict in Verdict]))
@result_option
@app_option
@act_options
def resolve(
    task_id: str, step: str, verdict: str, result: str | None, app: str | None, by: str, why: str
) -> int:
    """Say what happened where only a person can.

    VERDICT is what you found at the service:

    \b
    done    it happened          absent  it never happened
    undone  its effect is gone   kept    its effect may stand
    left    go on without it; it stays listed as in effect

    `done` with --result, of a step that is done, corrects its result, before any call is made of it.
    """
    return _order_with(
        result, app, task_id, step, lambda task, given: task.resolve(step, verdict, given, by=by, why=why)
    )


COMMANDS = (cancel, pause, resume, retry, skip, resolve)
