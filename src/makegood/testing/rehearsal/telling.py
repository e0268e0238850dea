"""A run as a story: what was struck, what the services did, what the record says, one line each."""

from collections.abc import Iterator

import msgspec

from makegood.reading.story import Line as Recorded
from makegood.reading.story import story as recorded
from makegood.reading.words import function_of
from makegood.testing.rehearsal.trial import Trial
from makegood.testing.simulation.faults import CallFault
from makegood.testing.simulation.network import Struck
from makegood.testing.virtual import EPOCH

STRUCK = {
    CallFault.REFUSED: "{call} is refused",
    CallFault.BUSY: "{call} is told: not now, try again",
    CallFault.NO_ANSWER: "{call} is carried out, and its answer is lost",
    CallFault.REQUEST_LOST: "{call} is lost on its way",
    CallFault.LATE: "{call} is held up on its way, until after its caller gave up",
    CallFault.DIE_BEFORE: "the process dies before {call} is sent",
    CallFault.DIE_AFTER: "{call} is carried out, and the process dies before it hears so",
}


class Line(msgspec.Struct, frozen=True):
    """One line of a story; `at` is in seconds since the task was submitted."""

    at: float
    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:9.2f} s  {self.who}: {self.what}"


def story(trial: Trial) -> list[Line]:
    """What happened, oldest first; of one moment, the record first: it is written before anything is done."""
    begin = (trial.run.rows[0].at - EPOCH) / 1000
    lines = [*_inside(trial), *_outside(trial)]
    dated = [msgspec.structs.replace(line, at=round(max(0.0, line.at - begin), 2)) for line in lines]
    return sorted(dated, key=lambda line: line.at)


def _outside(trial: Trial) -> Iterator[Line]:
    """What the record cannot know."""
    for struck in trial.scene.network.struck:
        yield Line(struck.at, "trouble", _told(trial, struck))
    for note in trial.scene.notes:
        yield Line(note.at, f"service {note.who}", note.what)


def _told(trial: Trial, struck: Struck) -> str:
    step = trial.plan.plan.steps[trial.plan.plan.index_of[struck.step]]
    told = STRUCK.get(struck.fault, f"{{call}}: {struck.fault}")
    return told.format(call=function_of(step, struck.kind))


def _inside(trial: Trial) -> Iterator[Line]:
    rows = list(enumerate(trial.run.rows, 1))
    lines: list[Recorded] = recorded(trial.plan.plan, rows)
    yield from (Line((line.at - EPOCH) / 1000, line.who, line.what) for line in lines)
