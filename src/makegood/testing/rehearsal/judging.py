"""Which promises a run broke: the record as it ended, held against what the services really hold."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from makegood.core.events import Offered, Reported
from makegood.core.plan import StepPlan
from makegood.core.record import AT_REST, Kind, News, Phase, TaskState
from makegood.reading.phrases import MOVED
from makegood.testing.invariants import NOTHING_LEFT
from makegood.testing.rehearsal.ledgers import ids
from makegood.testing.rehearsal.promises import Promise, hint
from makegood.testing.rehearsal.scene import StagedService
from makegood.testing.rehearsal.testimony import Testimony, false_words, needed_its_key, raised_by_itself
from makegood.testing.rehearsal.trial import Trial
from makegood.testing.simulation.faults import CallFault


class Broken(msgspec.Struct, frozen=True, omit_defaults=True):
    """A promise that was broken: `what` happened to which step ("": the task), and `because` of what."""

    promise: Promise
    step: str
    what: str
    because: str = ""

    def __str__(self) -> str:
        told = f"{self.step}: {self.what}" if self.step else self.what
        return f"{told}; {self.because}" if self.because else told


OVERDUE = "a call reached its service after its life was over"
AT_THE_LEDGERS: Final = "is done and not there"
"""A complaint of the world on which this module has its own word: an action may use more than one service."""
FOLLOWS: Final = ("S1:", "S3:", "S9:", "parked while", "L1:", "it ended")
"""How complaints begin that follow from a promise of the user's that was found broken."""


def broken(trial: Trial) -> list[Broken]:
    """Every promise that a run broke, the telling ones first."""
    said = false_words(trial.run, trial.scene)
    found = [*_at_the_ledgers(trial, said), *_in_the_record(trial, said), *_in_time(trial, said)]
    complaints = [text.removeprefix("AssertionError: ") for text in trial.world.complaints]
    engine = [
        Broken(Promise.ENGINE, "", f"an invariant did not hold: {text}")
        for text in complaints
        if AT_THE_LEDGERS not in text and not (found and text.startswith(FOLLOWS))
    ]
    return found + engine


def _because(said: list[Testimony], step: str) -> str:
    return next((told.what for told in said if told.step == step), "")


# --- the ledgers


def _at_the_ledgers(trial: Trial, said: list[Testimony]) -> Iterator[Broken]:
    for step, mark in zip(trial.plan.plan.steps, trial.head.marks, strict=True):
        service, because = trial.scene.services[step.name], _because(said, step.name)
        for promise, what in _of_step(trial, step, Phase(mark), service):
            told = "; ".join(filter(None, (because, hint(promise, trial.plan.plan, step, service))))
            yield Broken(promise, step.name, what, told)
        if again := [booking for booking in service.bookings if booking.cancelled > 1]:
            what = f"{ids(again)} was cancelled {again[0].cancelled} times, and each counted"
            yield Broken(Promise.UNDONE_ONCE, step.name, what, _undone_again(trial, step))


def _of_step(
    trial: Trial, step: StepPlan, phase: Phase, service: StagedService
) -> Iterator[tuple[Promise, str]]:
    live = [booking for booking in service.bookings if booking.live]
    if service.most_live > 1:
        yield Promise.ONCE, f"it was in effect twice at once ({ids(service.bookings)})"
    if trial.head.state not in AT_REST:
        return
    if live and phase in NOTHING_LEFT:
        yield Promise.NOTHING_SILENT, f"{ids(live)} is in effect, and the record says: {_said_of(phase)}"
    stands = any(booking.stands for booking in service.bookings)
    if not stands and phase is Phase.DONE and service.bookable and not step.reads:
        yield Promise.DONE_IS_DONE, "the record says it is done, and nothing is there"


def _undone_again(trial: Trial, step: StepPlan) -> str:
    """Why an undo took effect twice; whatever was wrong with the do has no part in it."""
    facts = (fact for row in trial.run.rows for fact in row.facts if isinstance(fact, Offered))
    calls = sum(fact.step == step.index and fact.kind is Kind.UNDO for fact in facts)
    if calls < 2:
        return f"its undo {step.undo} cancelled it again in one and the same call"
    return (
        f"its undo {step.undo} was called again after its answer was lost, and undid twice: send call().key "
        "along, if its service heeds keys, or look first whether it is still there"
    )


def _said_of(phase: Phase) -> str:
    return "never called" if phase is Phase.IDLE else MOVED[phase]


# --- the record


def _in_the_record(trial: Trial, said: list[Testimony]) -> Iterator[Broken]:
    if trial.head.state not in AT_REST:
        yield from _unsettled(trial, said)
    elif trial.untroubled and trial.head.state is not TaskState.COMPLETED:
        why = trial.head.reason or "it is parked"
        yield Broken(Promise.WORKS, "", f"with no trouble at all it does not complete: {why}")
    for step, mark in zip(trial.plan.plan.steps, trial.head.marks, strict=True):
        if mark == Phase.UNDO_STUCK and _needlessly(trial, step):
            what = "its undo failed for a reason of its own, so that a person must see to it"
            yield Broken(Promise.NEEDS_NOBODY, step.name, what, _because(said, step.name))
        if step.keyed and _without_key(trial, step):
            what = "it was called without its key, so that a call in doubt cannot be repeated"
            yield Broken(Promise.SENDS_KEYS, step.name, what, _because(said, step.name))


def _unsettled(trial: Trial, said: list[Testimony]) -> Iterator[Broken]:
    if trial.head.paused:
        yield Broken(Promise.SETTLES, "", "it never comes to rest: it is paused, and nobody resumed it")
        return
    for index, opened in trial.head.open.items():
        name, phase = trial.plan.plan.steps[index].name, Phase(trial.head.marks[index])
        what = f"it never comes to rest: {opened.error or MOVED.get(phase, 'called')}"
        if opened.handed_back and trial.plan.input_type is Any:
            what += "; the plan does not say of what type its input is: give one that fits (--input)"
        yield Broken(Promise.SETTLES, name, what, _because(said, name))


def _needlessly(trial: Trial, step: StepPlan) -> bool:
    """Whether its undo failed by itself, in a way that no fault and nobody's word explains."""
    last = [fact for fact in _reports(trial, step) if fact.kind is Kind.UNDO][-1:]
    if trial.head.open[step.index].news is not News.REFUSED:
        unanswered = trial.scene.network.left_unanswered(step.name, Kind.UNDO)
        return any(map(raised_by_itself, last)) and not unanswered
    struck = any(
        one.step == step.name and one.kind is Kind.UNDO and one.fault is CallFault.REFUSED
        for one in trial.scene.network.struck
    )
    return not struck and not trial.scene.services[step.name].refuses_undo


def _without_key(trial: Trial, step: StepPlan) -> bool:
    return any(map(needed_its_key, _reports(trial, step)))


def _reports(trial: Trial, step: StepPlan) -> list[Reported]:
    facts = (fact for row in trial.run.rows for fact in row.facts)
    return [fact for fact in facts if isinstance(fact, Reported) and fact.step == step.index]


def _in_time(trial: Trial, said: list[Testimony]) -> Iterator[Broken]:
    for flight, _ in trial.scene.network.overdue:
        step = trial.plan.plan.steps[flight.step].name
        yield Broken(Promise.IN_TIME, step, OVERDUE, _because(said, step))
