"""Holds the services' ledgers and the clients' notes against the tasks, once everything is at rest."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from makegood import Makegood
from makegood.client.connection import Snapshot
from makegood.core.events import Claimed, EvidenceFiled, Probed, Reported
from makegood.demo.check import Reservation, check_service
from tests.soak.account import Account
from tests.soak.client import noted
from tests.soak.world import World


@dataclass(frozen=True)
class Case:
    """Something that is not as it should be, and whose task it is."""

    task: str
    words: str


@dataclass
class Verdict:
    """What was found. `broken`: promises. `late`: what a call did that reached its service after its life.

    docs/reliability.md names that bound: a process frozen between its last check and its send can send too
    late, and where a service knows neither keys nor tombstones nothing can stop that. It is never silent.
    """

    counts: Counter[str] = field(default_factory=Counter)
    broken: list[Case] = field(default_factory=list)
    late: list[Case] = field(default_factory=list)

    def excuse(self, words: str, counted: str) -> None:
        """Count what begins with these words as something that no engine can help."""
        excused = [case for case in self.broken if case.words.startswith(words)]
        self.broken = [case for case in self.broken if case not in excused]
        self.counts[counted] += len(excused)


def judge(world: World, *, clocks_agree: bool = True) -> Verdict:
    """Compare everything with everything. Where clocks do not agree nothing is excused as late."""
    verdict = Verdict()
    snapshots = read_all(world)
    for snapshot in snapshots.values():
        _count(verdict.counts, snapshot)
    for service in world.services:
        made = _by_task(service.reservations())
        for task_id in made.keys() - snapshots.keys():
            words = f"orphaned: {service.name} has {made[task_id]} of an unknown task"
            verdict.broken.append(Case(task_id, words))
        for task_id, snapshot in snapshots.items():
            _check(verdict, Account(service.name, made.get(task_id, []), snapshot), clocks_agree=clocks_agree)
        came, hit = service.calls()
        verdict.counts += Counter({"calls": came, "calls hit": hit})
    verdict.broken += _not_as_told(world, snapshots)
    verdict.counts["errors told"] += world.errors_told()
    return verdict


def read_all(world: World) -> dict[str, Snapshot]:
    """Every task with its history."""

    async def read(makegood: Makegood) -> dict[str, Snapshot]:
        return {task_id: await makegood.snapshot(task_id) for task_id in task_ids}

    task_ids = list(world.states())
    return world.ask(read)


def _by_task(reservations: Sequence[Reservation]) -> dict[str, list[Reservation]]:
    found: dict[str, list[Reservation]] = {}
    for each in reservations:
        found.setdefault(each.reference.partition("/")[0], []).append(each)
    return found


def _count(counts: Counter[str], snapshot: Snapshot) -> None:
    counts["tasks"] += 1
    counts[snapshot.record["state"]] += 1
    facts = [fact for _, row in snapshot.rows for fact in row.facts]
    reported = {fact.attempt for fact in facts if isinstance(fact, Reported | Probed)}
    claimed = {fact.attempt for fact in facts if isinstance(fact, Claimed)}
    counts["calls cut off"] += len(claimed - reported)
    counts["late reports"] += sum(isinstance(fact, EvidenceFiled) for fact in facts)


def _check(verdict: Verdict, account: Account, *, clocks_agree: bool) -> None:
    """Hold what a service has of a task against its record."""
    task_id = account.snapshot.stored.task_id
    late = account.late() if clocks_agree else []
    verdict.counts += Counter({"effects": len(account.made), "late effects": len(late)})
    if clocks_agree and (early := account.unrecorded()):
        verdict.broken.append(
            Case(task_id, f"unrecorded: {account.service} {early} came before any call's record")
        )
    record = account.snapshot.record
    for words in check_service(account.service, account.made, {task_id: record}).wrong:
        if late and account.seen():
            verdict.late.append(Case(task_id, f"{words}; {', '.join(late)} came after its call's life"))
        else:
            verdict.broken.append(Case(task_id, words))


def _not_as_told(world: World, snapshots: dict[str, Snapshot]) -> Iterator[Case]:
    states: dict[str, Any] = {task_id: snapshot.record["state"] for task_id, snapshot in snapshots.items()}
    for notes in world.all_notes():
        for task_id in noted(notes, "submitted"):
            if task_id not in states:
                yield Case(task_id, "lost: its submission was acknowledged, and it is not there")
        for task_id in noted(notes, "cancelled"):
            if states.get(task_id) not in ("Compensated", "Failed"):
                yield Case(task_id, f"its cancel was acknowledged, and it is {states.get(task_id)}")
        for task_id in noted(notes, "too-late"):
            if states.get(task_id) != "Completed":
                yield Case(task_id, f"its cancel was refused as too late, and it is {states.get(task_id)}")
