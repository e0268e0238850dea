"""One-line faults of our own code, each with a name, each to be found by the simulation.

The mutants of the core are those that its own tests know (`tests/core/mutants.py`); here stand those of the
rooms, the desk and the store.
"""

from typing import NamedTuple

from tests.core.mutants import MUTANTS as OF_THE_CORE


class Mutant(NamedTuple):
    """In a file of the package, `line` becomes `instead`; some of the first `seeds` worlds must go wrong.

    `sqlite`: they are played on real files. `plan`: it is struck at every boundary instead.
    """

    name: str
    file: str
    line: str
    instead: str
    seeds: int = 300
    sqlite: bool = False
    plan: str = ""


OF_THE_SHELL = (
    Mutant(
        "orders go out before the commit",
        "desk.py",
        "        answers = await commit(self.store, ",
        "        for d in decisions:\n"
        "            if self.rooms.agents is not None and d.claims:\n"
        "                self.rooms.agents.carry_out(d.saved(), d.claims, asked)\n"
        "                d.claims = []\n"
        "        answers = await commit(self.store, ",
    ),
    Mutant(
        "the answer comes before the commit",
        "desk.py",
        "        answers = await commit(self.store, ",
        "        for d in decisions:\n            d.tell()\n        answers = await commit(self.store, ",
    ),
    Mutant(
        "a lost commit reply is a failure",
        "commit.py",
        "return Committed() if first == [(change.base + 1, change.write_id)] else None",
        "return None",
        plan="neither",
    ),
    Mutant(
        "a lost commit reply is a success",
        "commit.py",
        "return Committed() if first == [(change.base + 1, change.write_id)] else None",
        "return Committed()",
    ),
    Mutant(
        "any row of that version is mine",
        "commit.py",
        "first = [(row.version, row.write_id) for row in rows[:1]]",
        "first = [(row.version, change.write_id) for row in rows[:1]]",
        seeds=2000,
    ),
    Mutant(
        "a stale change's orders go out",
        "desk.py",
        "        match answer:\n            case Committed():",
        "        match answer:\n            case Committed() | Stale():",
    ),
    Mutant(
        "the version is not in the fence",
        "store/memory.py",
        "        if (task.stored.version if task else 0) != change.base:",
        "        if (task is None) != (change.base == 0):",
    ),
    Mutant(
        "the version is not in the fence of SQLite",
        "store/sql/sqlite.sql",
        "WHERE task_id = ? AND version = ?",
        "WHERE task_id = ? AND version >= min(?, version)",
        sqlite=True,
    ),
    Mutant(
        "a wait-out trusts the wall clock",
        "supervisor/supervisor.py",
        "                if left > 0:",
        "                if False:",
        seeds=3000,
    ),
    Mutant(
        "a slot is not given back",
        "rooms.py",
        "        if self.agents is not None and claims:",
        "        if False and self.agents is not None:",
    ),
    Mutant(
        "a slot is given back twice",
        "desk.py",
        "        for decision in decisions:\n            self.rooms.release(decision.claims)",
        "        for decision in decisions:\n            self.rooms.release(decision.claims)\n"
        "            self.rooms.release(decision.claims)",
    ),
    Mutant(
        "a call that is too late is sent",
        "agents/runner.py",
        "return self._desk.clock.monotonic() >= work.start_by or self._desk.now() >= work.complete_by",
        "return False",
        seeds=1000,
    ),
    Mutant(
        "an undo of another name is taken for the pinned one",
        "agents/repertoire.py",
        "if function is not None and function.name == pinned:",
        "if function is not None:",
    ),
    Mutant(
        "a call has no timeout",
        "agents/runner.py",
        "            work.deadline - monotonic(), self._time_out, flight",
        "            work.deadline + 30 - monotonic(), self._time_out, flight",
    ),
    Mutant(
        "nothing is due in the store",
        "decision.py",
        "return due if due is None or rooms.deciding else min(due, self.draft.now)",
        "return None",
    ),
    Mutant(
        "facts are dropped while the store is away",
        "tray.py",
        "        self.put_back(task_id, [post for post in posts if post.answer is None])",
        "        pass",
        plan="neither",
    ),
    Mutant(
        "a fact that lost to another writer is dropped",
        "tray.py",
        "            if post.answer is None or post.decided < DECISIONS_MAX:",
        "            if post.answer is not None and post.decided < DECISIONS_MAX:",
        plan="neither",
    ),
    Mutant(
        "the supervisor never makes its rounds",
        "supervisor/supervisor.py",
        "if head is not None and wants_inspection(head, self._desk.now()):",
        "if False:",
    ),
    Mutant(
        "the scheduler never makes its rounds",
        "scheduler/scheduler.py",
        "if head is not None and any(mark in PLANNED for mark in head.marks):",
        "if False:",
    ),
    Mutant(
        "agents take nothing that others offered",
        "agents/runner.py",
        "if head is not None and any(mark in OFFERED for mark in head.marks):",
        "if False:",
        seeds=1000,
    ),
    Mutant(
        "an undo carries its do's key",
        "agents/work.py",
        "key=do_key if self.kind is Kind.PROBE else self.key,",
        "key=do_key,",
    ),
    Mutant(
        "a probe asks with a key of its own",
        "agents/work.py",
        "key=do_key if self.kind is Kind.PROBE else self.key,",
        "key=self.key,",
    ),
    Mutant(
        "what is not known is taken for no effect",
        "agents/libraries.py",
        "    if rule is None:\n        return UNKNOWN",
        "    if rule is None:\n        return TRANSIENT",
    ),
    Mutant(
        "a probe that fails says absent",
        "agents/work.py",
        "answer = Answer.RUNNING if isinstance(error, StillRunning) else Answer.CANNOT_TELL",
        "answer = Answer.ABSENT",
    ),
    Mutant(
        "the undo does not get the result",
        "agents/work.py",
        "        raw = self._raw_result(values)\n        return None if raw is None",
        "        raw = None\n        return None if raw is None",
    ),
    Mutant(
        "store time falls with the wall clock",
        "store/stamp.py",
        "now = max(carried, wall, mark)",
        "now = self._clock.wall()",
    ),
    Mutant(
        "a task's values lack the newest row",
        "shelf.py",
        "                if row.version <= entry.version:",
        "                if row.version < entry.version:",
    ),
    Mutant(
        "every commit has the same write id",
        "decision.py",
        "        head.write_id = random_bits(62)",
        "        head.write_id = 7",
        seeds=3000,
    ),
    Mutant(
        "the digest chain is not carried on",
        "decision.py",
        "        head.digest = chain(head.digest, body)",
        "        head.digest = chain(b'', body)",
    ),
)

LIVES = {
    "a claim is not fenced": "the desk claims what the same decision offers",
    "a call that did not read its key is taken for keyed": "the simulated agents always tell their keys",
    "a call that certainly had no effect needed its key": "the simulated agents always tell their keys",
    "a record waits for nobody and nobody says so": "it is the guard of a guard: no record comes that far",
    "what surfaced at the check is undone with the old key": "a call must outlive its bound just there",
    "a call cut off late is only filed": "a call must outlive its bound, and nobody hear of it",
    "a look that a late call overtook is the last": "a call must outlive its bound just there",
    "a probe asked before a late call landed is believed": "a call must outlive its bound just there",
    "a second call is made while the first may have been sent late": "a call must outlive its bound there",
    "a person is believed while a call cut off late may land": "a call must outlive its bound just there",
    "a blind undo is ordered again though its key is forgotten": "the key's life ends the new round as well",
    "the next round of a blind undo outlives the key it finds its effect by": "it is hardly ordered",
    "a late report overwrites a completed task": "a call must outlive its bound there",
    "evidence against a compensated task is only filed": "a call must outlive its bound there",
    "a doubled report answers for the next round of an undo": "too rare: not in 300 seeds",
    "a person is believed while the call may still land": "what they saw has moved by then (decision 14)",
    "a call that nobody repeats is never waited out": "a person is only told to ask again",
    "a person says that what may still land is undone": "they must say it of a blind undo just then",
    "the result is corrected that a failed undo was made of": "honest people give what is there",
    "a result is corrected though a call was made of it": "honest people give what is there",
    "a blind undo that was handed back forgets the life of its key": "it must be handed back just there",
    "what may have been done since a backup is skipped": "somebody must skip it before its turn",
    "what was left is undone out of its turn": "a step must be left, and retried, just then",
    "a call cut off late is only filed where it is the latest": "a call must outlive its bound just there",
    "a deadline heard in vain is heard for ever": "it costs rows, and no promise",
    "jitter takes away": "the Supervisor draws no negative jitter",
}
"""Mutants of the core that the simulation does not show, with the reason; the core's own tests find them."""

BUDGETS = {
    "what never began in a backup was never called": 1000,
    "a retry counts on a key that has died meanwhile": 10_000,
    "a planned retry does not keep a task from parking": 6000,
    "a wait-out ends by a clock this process did not watch": 1000,
    "past the pivot a failed step turns the task": 1000,
    "an offer outlives the turn": 6000,
    "undo what was never called": 1000,
}
"""Seeds for those of the core's mutants that hide longer."""

MUTANTS = (
    *(
        Mutant(m.name, f"core/{m.file}", m.line, m.instead, BUDGETS.get(m.name, 300))
        for m in OF_THE_CORE
        if m.name not in LIVES
    ),
    *OF_THE_SHELL,
)
