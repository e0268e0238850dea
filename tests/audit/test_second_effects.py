"""Late reports: which of them prove a second effect, and which tell of the one on record again."""

from typing import Any

import msgspec
import pytest

from makegood.auditing import Kind
from makegood.core.events import (
    Answer,
    CancelAsked,
    HandedBack,
    Probed,
    Reply,
    Reported,
    ResolveAsked,
    SkipAsked,
    Verdict,
)
from makegood.core.record import Kind as Call
from makegood.core.record import TaskState
from tests.audit.written import statement
from tests.unit.walk import KEYED, PROBED, Walk, step

FORGETFUL = {"class": {"keyed": 3600}}


def late(walk: Walk, attempt: int, result: bytes, **more: Any) -> None:
    walk.commit(Reported(0, attempt, Call.DO, Reply.DONE, msgspec.Raw(result), **more))


def called_twice(*given: dict[str, Any]) -> Walk:
    """The first call was handed back unsent, as its agent believed; another is under way."""
    walk = Walk(step("car", *given))
    walk.call("car")
    walk.report("car", Reply.TRANSIENT)
    walk.inspect()
    walk.wait(60)
    walk.call("car")
    return walk


@pytest.mark.parametrize("given", [{}, PROBED, FORGETFUL], ids=["unkeyed", "probed", "forgetful"])
def test_two_calls_that_were_done_at_a_service_without_lasting_keys(given: dict[str, Any]) -> None:
    walk = called_twice(given)
    walk.report("car", Reply.DONE, b'"2"')
    assert statement(walk).findings == ()
    late(walk, 1, b'"1"')
    [finding] = statement(walk).findings
    assert (finding.kind, finding.step) == (Kind.DOUBLE, "car")
    assert 'with the result "1"' in finding.what
    assert "A second effect may be live" in walk.why()


def test_at_a_keyed_service_the_two_are_one() -> None:
    walk = called_twice(KEYED)
    walk.report("car", Reply.DONE, b'"1"')
    late(walk, 1, b'"1"')
    assert statement(walk).findings == ()
    assert "second effect" not in walk.why()


def test_at_a_keyed_service_that_was_called_without_its_key_they_are_not() -> None:
    walk = called_twice(KEYED)
    walk.report("car", Reply.DONE, b'"1"')
    late(walk, 1, b'"2"', key_read=False)
    assert [finding.kind for finding in statement(walk).findings] == [Kind.DOUBLE]


def test_a_report_that_comes_twice_is_one() -> None:
    walk = called_twice()
    walk.report("car", Reply.DONE, b'"2"')
    late(walk, 2, b'"2"')
    assert statement(walk).findings == ()
    assert "second effect" not in walk.why()


def in_doubt(*given: dict[str, Any]) -> Walk:
    walk = Walk(step("car", *given))
    walk.call("car")
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    return walk


def test_what_a_probe_had_found_is_reported_late() -> None:
    walk = in_doubt(PROBED)
    walk.call("car")
    walk.commit(Probed(0, walk.attempt("car"), Answer.THERE, msgspec.Raw(b'"1"')))
    late(walk, 1, b'"1"')
    assert statement(walk).findings == ()


def test_what_a_person_had_found_is_reported_late() -> None:
    walk = in_doubt()
    walk.commit(ResolveAsked(0, Verdict.DONE, "ann", given=(msgspec.Raw(b'"1"'),)))
    late(walk, 1, b'"1"')
    assert statement(walk).findings == ()


def test_of_two_calls_the_probe_had_found_one() -> None:
    walk = called_twice(PROBED)
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.call("car")
    walk.commit(Probed(0, walk.attempt("car"), Answer.THERE, msgspec.Raw(b'"2"')))
    late(walk, 2, b'"2"')
    assert statement(walk).findings == ()
    late(walk, 1, b'"1"')
    [finding] = statement(walk).findings
    assert "call 1 was reported done" in finding.what


def test_what_was_skipped_happened_after_all() -> None:
    walk = in_doubt()
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann"))
    walk.inspect()
    walk.commit(SkipAsked(0, "ann"))
    assert walk.record()["state"] == "Completed"
    assert statement(walk).findings == ()
    late(walk, 1, b'"1"')
    [finding] = statement(walk).findings
    assert finding.kind is Kind.DOUBLE


def test_a_call_that_was_handed_back_counts_for_none() -> None:
    walk = Walk(step("car"))
    walk.call("car")
    walk.commit(HandedBack(0, walk.attempt("car"), "going down"))
    walk.call("car")
    walk.report("car", Reply.UNKNOWN)
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    walk.commit(ResolveAsked(0, Verdict.DONE, "ann", given=(msgspec.Raw(b'"found"'),)))
    late(walk, 2, b'"2"')
    assert statement(walk).findings == ()


def held_absent(times: int) -> Walk:
    """Compensated: so many calls ended unknown, and of each the probe found nothing."""
    walk = Walk(step("car", PROBED))
    for _ in range(times):
        walk.call("car")
        walk.report("car", Reply.UNKNOWN)
        walk.inspect()
        walk.wait(60)
        walk.inspect()
        walk.call("car")
        walk.commit(Probed(0, walk.attempt("car"), Answer.ABSENT))
        walk.inspect()
        walk.wait(60)
    walk.commit(CancelAsked("ann"))
    assert walk.head.state is TaskState.COMPENSATED
    return walk


def test_late_effects_that_were_undone_one_by_one_are_no_double() -> None:
    walk = held_absent(2)
    late(walk, 1, b'"1"')
    walk.done("car")
    late(walk, 3, b'"2"')
    walk.call("car")
    walk.commit(Probed(0, walk.attempt("car"), Answer.ABSENT))
    assert walk.head.state is TaskState.COMPENSATED
    assert statement(walk).findings == ()
    assert "second effect" not in walk.why()


def test_a_late_effect_that_came_to_light_while_another_was_undone_is_a_double() -> None:
    walk = held_absent(2)
    late(walk, 1, b'"1"')
    late(walk, 3, b'"2"')
    walk.done("car")
    assert walk.head.state is TaskState.COMPENSATED
    [finding] = statement(walk).findings
    assert (finding.kind, 'with the result "2"' in finding.what) == (Kind.DOUBLE, True)
