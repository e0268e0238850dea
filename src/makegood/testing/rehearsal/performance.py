"""One run of a plan that a test directs: struck where it says, looked at and acted on whenever it likes."""

import asyncio
import functools
from collections.abc import Callable, Coroutine, Iterable
from datetime import timedelta
from types import ModuleType, TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from makegood.authoring.agent import Agent
from makegood.authoring.plans import PlanDefinition
from makegood.client.task import Task
from makegood.core.record import AT_REST
from makegood.errors import ActRefused
from makegood.payload import resolve
from makegood.reading import view, why
from makegood.reading.words import state_name
from makegood.testing.rehearsal import own
from makegood.testing.rehearsal.cases import Case, Strike, check
from makegood.testing.rehearsal.judging import broken
from makegood.testing.rehearsal.made_up import MadeUp
from makegood.testing.rehearsal.person import Person
from makegood.testing.rehearsal.stage import Rehearsal, staged
from makegood.testing.rehearsal.telling import story
from makegood.testing.rehearsal.to_the_point import to_the_point
from makegood.testing.rehearsal.trial import Trial
from makegood.testing.virtual import VirtualLoop

P = ParamSpec("P")
T = TypeVar("T")

TOO_EARLY = "it does not wait for a person's word"
"""How a refusal ends of which time may make an end."""


class TurnedClock:
    """Time that passes when it is told to. Use it as a context manager, or close it."""

    def __init__(self) -> None:
        self._loop = VirtualLoop()
        self._runner = asyncio.Runner(loop_factory=lambda: self._loop)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return self._loop.seconds

    def advance(self, length: float | timedelta) -> None:
        """Let so many seconds pass; everything that is due meanwhile happens."""
        seconds = length.total_seconds() if isinstance(length, timedelta) else length
        self._runner.run(asyncio.sleep(seconds))

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, however long it takes by this clock."""
        return self._runner.run(main)

    def close(self) -> None:
        """End whatever still runs by it."""
        self._loop.release()
        self._runner.close()
        self._loop.close()  # where nothing ran by it, the runner never had it


def _by_a_person(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[Any, P], T]:
    """The act of makegood.Task, in virtual time and without its `await`."""

    @functools.wraps(method)
    def acting(self: Any, /, *args: P.args, **named: P.kwargs) -> T:
        try:
            answer: T = self._clock.run(self._person.act(lambda task: method(task, *args, **named)))
        except ActRefused as error:
            if self.at_rest or not f"{error}".endswith(TOO_EARLY):
                raise
            raise ActRefused(f"{error}; let time pass first: finish(), or turn the clock") from None
        return answer

    return to_the_point(acting)


class Performance:
    """A task of a plan, under way in a world of its own; every fault strikes as it is told to.

    `input` is what the plan is given (if not said: made up); `agents` those whose own functions are run;
    `stage` (a Rehearsal, or the module that has it) says more; `cancel_at` is the step during whose call
    somebody cancels. Raises PlanError for a strike or a cancel that can come in no run of the plan.

    It is acted on as a makegood.Task is: cancel, pause, resume, retry, skip and resolve take, return and
    raise the same. An act is recorded when it returns; what it leads to comes as time passes.
    """

    @to_the_point
    def __init__(
        self,
        clock: TurnedClock,
        plan: PlanDefinition[Any, Any],
        *strikes: Strike,
        input: Any = None,
        agents: Iterable[Agent] = (),
        stage: Rehearsal | ModuleType | None = None,
        cancel_at: str = "",
    ) -> None:
        case = Case(strikes, cancel_at)
        check(case, plan.plan)
        said = staged(stage, agents)
        made_up = MadeUp(plan, said)
        raw = made_up.input(input)
        self._clock = clock
        self._trial = Trial(plan, case, said, made_up, raw)
        self._person = Person(self._trial)
        clock.run(self._trial.world.begin())

    @property
    def task_id(self) -> str:
        """Its id: the plan's name and a number."""
        return self._trial.task_id

    @to_the_point
    def finish(self) -> Self:
        """Let time pass until it has come to rest, also once more after somebody acted on it.

        Raises PlanError where an own function reached for anything but a fake service, or for none, or where
        a mistake in it came to light.
        """
        self._clock.run(self._trial.world.come_to_rest())
        own.check(self._trial)
        return self

    # --- acting, as a person does

    cancel = _by_a_person(Task[Any].cancel)
    pause = _by_a_person(Task[Any].pause)
    resume = _by_a_person(Task[Any].resume)
    retry = _by_a_person(Task[Any].retry)
    skip = _by_a_person(Task[Any].skip)
    resolve = _by_a_person(Task[Any].resolve)

    # --- how it stands

    @property
    def state(self) -> str:
        """Running, Completed, Compensating, Compensated or Failed; "" before it is submitted."""
        runs = self._trial.world.watch.runs
        return state_name(runs[0].head.state) if runs else ""

    @property
    def record(self) -> dict[str, Any]:
        """The record as JSON values: the document of the pattern."""
        run = self._trial.run
        rows = enumerate(run.rows, 1)
        return view.record_of(
            run.plan, run.task_id, run.head, rows, now=self._trial.world.watch.now, resolve=resolve
        )

    @property
    def why(self) -> str:
        """In words: what it waits for and what a person can do; or how it ended."""
        run = self._trial.run
        rows = enumerate(run.rows, 1)
        return why.why(run.plan, run.task_id, run.head, rows, now=self._trial.world.watch.now)

    @property
    def story(self) -> str:
        """What happened until now, a line each."""
        return "\n".join(map(str, story(self._trial)))

    @property
    def at_rest(self) -> bool:
        """Whether it has ended, or is parked."""
        return self._trial.head.state in AT_REST

    @property
    def broken(self) -> list[str]:
        """The promises that were broken until now, in words."""
        return list(map(str, broken(self._trial)))

    @property
    def missed(self) -> list[str]:
        """The strikes, and the cancel, that have not come until now, as they were written, and what came."""
        wanted = [strike.written for strike in self._trial.missed]
        wanted += [f"cancel_at={self._trial.case.cancel_at!r}"] if self._trial.cancel_missed else []
        return [
            f"{one}: this never came to pass; calls to services were: {self._trial.calls}" for one in wanted
        ]


def assert_settled(performance: Performance) -> None:
    """Let a task come to rest, and see that its record is what its services hold, and nothing is done twice.

    Also that all came to pass that was to strike it. Raises AssertionError with the story of what went wrong.
    Where a strike need not come, `task.finish()` and look at `task.broken`.
    """
    __tracebackhide__ = True
    performance.finish()
    found = "\n".join([*performance.missed, *performance.broken])
    if found:  # no assert: pytest would add what it asserts, and so say it twice
        raise AssertionError(f"{found}\n{performance.story}")
