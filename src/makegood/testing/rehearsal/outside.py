"""Own functions meet fake services in a rehearsal, and nothing else, so that no live service is called.

Two nets. While virtual time runs, no socket of this process connects: an audit hook, which sees those of all
libraries and threads, refuses. And a function that returned though no request of its call came to a fake
service has reached something that no hook sees (a driver written in C, a file, a program, a connection that
was open before), or nobody: the rehearsal ends there, after one run in place of hundreds.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from makegood.core.events import Probed, Reply, Reported
from makegood.core.plan import StepPlan
from makegood.core.record import Kind
from makegood.errors import PlanError
from makegood.testing.rehearsal.fakes import NoSuchMethod, stage_here
from makegood.testing.rehearsal.trial import Trial
from makegood.testing.virtual import RUNNING

SENDS: Final = frozenset(("socket.sendto", "socket.sendmsg"))
WAY_OUT: Final = (
    "Put a FakeService in the place of the client that it uses, in a module for --stage; or leave it out of "
    "runs(), and its service is simulated as declared"
)

RETURNED: Final = (Reply.DONE, Reply.SPOILED)


class Unreachable(ConnectionRefusedError):
    """Nothing outside is reached while a rehearsal runs; certainly nothing was sent."""


REHEARSALS: list[object] = []
"""Those under way: between their runs, too, a thread of a library may be about to connect."""


@contextmanager
def closed() -> Iterator[None]:
    """Refuse to reach anything outside meanwhile."""
    this = object()
    REHEARSALS.append(this)
    try:
        yield
    finally:
        REHEARSALS.remove(this)


def _refuse(event: str, told: tuple[Any, ...]) -> None:
    if not (RUNNING or REHEARSALS) or (where := _outside(event, told)) is None:
        return
    stage = stage_here()
    if stage is not None:
        stage.reached_out(where)
    raise Unreachable(f"{where} was not reached: nothing outside is, while a rehearsal runs")


def _outside(event: str, told: tuple[Any, ...]) -> str | None:
    """What is about to be reached, in words; None: nothing outside."""
    if event == "socket.getaddrinfo":
        return _in_words(told[:2])
    if event == "socket.connect" or (event in SENDS and isinstance(told[1], tuple)):
        return _in_words(told[1])
    return None  # a datagram to a local socket among them: so is the system's log written


def _in_words(address: object) -> str:
    return ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)


sys.addaudithook(_refuse)


def check(trial: Trial) -> None:
    """Raises PlanError where an own function reached for anything but a fake service, for none, or for what
    it does not have."""
    plan, scene = trial.plan.plan, trial.scene
    if scene.outside:
        step, kind, where = scene.outside[0]
        raise PlanError(
            f"{named(plan.steps[plan.index_of[step]], kind)} was about to reach {where}, which is no fake "
            f"service; it was refused, and the rehearsal ended. {WAY_OUT}"
        )
    for fact in _told(trial):
        if NoSuchMethod.__name__ in fact.error:
            kind = fact.kind if isinstance(fact, Reported) else Kind.PROBE
            raise PlanError(f"{named(plan.steps[fact.step], kind)} ended with {fact.error}")
    if alone := list(dict.fromkeys(_alone(trial))):
        raise PlanError(
            f"{', '.join(alone)} returned without a request to a fake service: what it calls is live, or "
            f"nobody; the rehearsal ended after this run, before hundreds more. {WAY_OUT}. If it is to call "
            "nobody, as a pure computation, say so: calls_nobody() of the Rehearsal"
        )


def _alone(trial: Trial) -> Iterator[str]:
    """The functions that returned though nothing came of their call; an undo may, where nothing was done.

    It may as well where the do's result could not be recorded, which is the fault to be told then.
    """
    done: set[int] = set()
    for fact in _told(trial):
        if not isinstance(fact, Reported) or fact.reply not in RETURNED:
            continue
        step = trial.plan.plan.steps[fact.step]
        if fact.kind is Kind.DO and fact.reply is Reply.DONE:
            done.add(fact.step)
        asked = (step.name, fact.attempt) in trial.scene.asked
        due = fact.kind is Kind.DO or fact.step in done
        if due and not asked and trial.stage.must_call(step, fact.kind):
            yield named(step, fact.kind)


def _told(trial: Trial) -> Iterator[Reported | Probed]:
    """How the calls of functions ended, oldest first."""
    facts = (fact for row in trial.run.rows for fact in row.facts)
    return (fact for fact in facts if isinstance(fact, Reported | Probed))


def named(step: StepPlan, kind: Kind) -> str:
    """The function for this kind of call, in words."""
    name = {Kind.DO: step.action, Kind.UNDO: f"undo {step.undo}", Kind.PROBE: f"probe {step.probe}"}[kind]
    return f"{name} of agent {step.agent}"
