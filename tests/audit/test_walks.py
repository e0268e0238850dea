"""Statements against the ledgers of simulated worlds: nothing is found falsely, nothing told is missed."""

from collections.abc import Iterator

import msgspec
import pytest

from makegood.auditing import Effect, Finding, Stands
from makegood.core.events import Reply, Reported
from makegood.core.record import Kind
from makegood.reading.audit import statement_of
from makegood.testing.observer import Run
from makegood.testing.services import Service
from tests.audit.written import written
from tests.core.test_walks import walk

CHUNK = 50
NOTHING_LEFT = (Stands.UNDONE, Stands.NEVER, Stands.SKIPPED)


def stated(seed: int, *, frozen: bool) -> Iterator[tuple[Run, Effect, Service, list[Finding]]]:
    """Every effect of every task of one world, with the service behind it and what was found of it."""
    for run in walk(seed, frozen=frozen).runs:
        statement = statement_of(written(run.task_id, run.plan, run.stored, run.rows), run.plan)
        assert {finding.kind for finding in statement.findings} <= {"double"}, statement.findings
        for effect in statement.effects:
            [service] = [service for service in run.services if service.step.name == effect.step]
            yield run, effect, service, [f for f in statement.findings if f.step == effect.step]


@pytest.mark.parametrize("first", range(0, 300, CHUNK))
def test_a_statement_is_what_the_ledger_holds(first: int) -> None:
    for seed in range(first, first + CHUNK):
        for run, effect, service, findings in stated(seed, frozen=False):
            live = len(service.live(run.task_id))
            assert findings == [], seed
            assert live == 1 or effect.stands is not Stands.KEPT, (seed, effect)
            assert live == 0 or effect.stands not in NOTHING_LEFT, (seed, effect)


@pytest.mark.parametrize("first", range(6450, 6650, CHUNK))
def test_a_second_effect_is_found_where_it_was_told(first: int) -> None:
    """Calls outlive their bound here: some are made twice, and some reports come when all is over."""
    for seed in range(first, first + CHUNK):
        for run, effect, service, findings in stated(seed, frozen=True):
            expected = _second_was_told(run, effect, service)
            assert bool(findings) == expected, (seed, effect, service.effects, findings)


def _second_was_told(run: Run, effect: Effect, service: Service) -> bool:
    """Whether a live effect beside the one on record was once reported done."""
    done = [
        fact
        for row in run.rows
        for fact in row.facts
        if isinstance(fact, Reported) and fact.kind is Kind.DO and fact.step == service.step.index
    ]
    told: set[msgspec.Raw | bytes] = {bytes(fact.result) for fact in done if fact.reply is Reply.DONE}
    known = [live for live in service.live(run.task_id) if bytes(live.result) in told]
    return len(known) > (0 if effect.stands in NOTHING_LEFT else 1)
