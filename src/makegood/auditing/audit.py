"""One audit: all tasks of a store, or those asked for, proved, stated, held against services and seals."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from makegood.auditing.comparing import Comparer, Comparison, Listed
from makegood.auditing.listing import LISTING_TIMEOUT, Listing, listings
from makegood.auditing.records import Audited, Records
from makegood.auditing.seal import Seal, broken_seals
from makegood.authoring.agent import Agent
from makegood.core.words import moment
from makegood.payload import Envelope
from makegood.reading.audit import ABOUT_EFFECTS, End, Finding, Kind, Statement
from makegood.store.protocol import Store


class Parked(msgspec.Struct, frozen=True, rename="camel"):
    """A task that waits, in plain sight, for a person."""

    task_id: str
    reason: str


class Report(msgspec.Struct, rename="camel", omit_defaults=True):
    """What an audit found. `half_done` counts the findings that are about effects, not about records.

    `tasks` are the statements of the tasks asked for, or else of those with findings of their own.
    """

    at: str
    audited: int
    ends: dict[End, int]
    half_done: int
    findings: list[Finding]
    parked: list[Parked]
    compared: Comparison | None = None
    tasks: list[Statement] = []

    @property
    def clean(self) -> bool:
        return not self.findings


class Audit:
    """What is to be audited. With agents, what their listing functions tell is compared with the record."""

    def __init__(
        self,
        store: Store,
        agents: Iterable[Agent] = (),
        envelope: Envelope | None = None,
        *,
        listing_timeout: float = LISTING_TIMEOUT,
    ) -> None:
        self._store = store
        self._agents = list(agents)
        self._envelope = envelope or Envelope()
        self._listing_timeout = listing_timeout
        self._lists: Sequence[Listed] = ()
        """What the last run compared with: the rounds tell of it listing by listing."""

    async def run(
        self, task_ids: Sequence[str] = (), *, seal: Path | None = None, against: Path | None = None
    ) -> Report:
        """Audit these tasks, or all; each once.

        Memory holds what is found, what is listed, and the ids of what is under way, not the tasks.
        `seal` is a new file for the digests of all that is sound, `against` one that was made so before.
        Raises UnknownTask, StoreError, MakegoodError for a file that cannot be used, PayloadError.
        """
        records, began = Records(self._store, self._envelope), moment(await self._store.now())
        moving = await records.moving() if self._agents else frozenset()
        listed = await listings(self._agents, self._listing_timeout)
        comparer = Comparer(listed, began, moving) if listed else None
        report = Report(
            at=began, audited=0, ends=dict.fromkeys(End, 0), half_done=0, findings=[], parked=[], tasks=[]
        )
        report.findings += [_not_compared(listing) for listing in listed if listing.trouble]
        with nullcontext() if seal is None else Seal(seal) as new_seal:
            async for audited in _each(records, task_ids):
                _note(report, audited, comparer, named=bool(task_ids))
                if new_seal is not None:
                    new_seal.add(audited)
        if comparer is not None:
            report.findings += comparer.left_over() if not task_ids else ()
            report.compared = comparer.result
        if against is not None:
            report.findings += [finding async for finding in broken_seals(records, against)]
        report.half_done = sum(finding.kind in ABOUT_EFFECTS for finding in report.findings)
        self._lists = comparer.lists if comparer is not None else ()
        return report


def _not_compared(listing: Listing) -> Finding:
    return Finding(Kind.NOT_COMPARED, f"{listing.name} could not be compared: {listing.trouble}")


async def _each(records: Records, task_ids: Sequence[str]) -> AsyncIterator[Audited]:
    for task_id in dict.fromkeys(task_ids):
        yield await records.one(task_id)
    if not task_ids:
        async for audited in records.all():
            yield audited


def _note(report: Report, audited: Audited, comparer: Comparer | None, *, named: bool) -> None:
    statement = audited.statement
    compared = list(comparer.see(statement)) if comparer is not None else []
    statement = msgspec.structs.replace(statement, findings=(*statement.findings, *compared))
    report.audited += 1
    report.ends[statement.end] += 1
    report.findings += statement.findings
    if statement.end is End.PARKED:
        report.parked.append(Parked(statement.task_id, statement.reason))
    if named or statement.findings:
        report.tasks.append(statement)
