"""A rehearsal finds what is wrong with an agent, says of which step and why, and lets its twin pass."""

from collections.abc import Callable

import pytest

from makegood.testing import rehearse
from makegood.testing.rehearsal.promises import Promise
from tests.rehearsal.shops import (
    FAULTS,
    Shop,
    asks_before_it_reads_its_key,
    forgets_its_result,
    probe_takes_no_answer_for_no,
    refunds_twice,
    settle_too_short,
    undo_says_that_nobody_knows,
)


def name(make: Callable[..., Shop]) -> str:
    return make.__name__


@pytest.mark.parametrize("make", FAULTS, ids=name)
def test_a_faulty_agent_is_found(make: Callable[..., Shop]) -> None:
    shop = make(faulty=True)
    promise, because = FAULTS[make]
    report = rehearse(shop.plan, agents=[shop.agent])
    found = {finding.broken.promise: finding for finding in report.broken if finding.broken.step == "book"}
    assert promise in found, f"{report}"
    assert because in str(found[promise].broken)
    assert found[promise].story
    assert Promise.ENGINE not in {finding.broken.promise for finding in report.broken}, f"{report}"


@pytest.mark.parametrize("make", FAULTS, ids=name)
def test_its_sound_twin_passes(make: Callable[..., Shop]) -> None:
    shop = make(faulty=False)
    report = rehearse(shop.plan, agents=[shop.agent])
    assert report.kept, f"{report}"
    assert len(report.rows) >= 20


@pytest.mark.parametrize("make", [asks_before_it_reads_its_key, undo_says_that_nobody_knows], ids=name)
def test_what_is_right_is_not_blamed(make: Callable[[], Shop]) -> None:
    shop = make()
    report = rehearse(shop.plan, agents=[shop.agent])
    assert report.kept, f"{report}"


def test_a_forgotten_result_is_told_for_what_it_is() -> None:
    shop = forgets_its_result()
    told = f"{rehearse(shop.plan, agents=[shop.agent])}"
    assert (
        "with no trouble at all it does not complete: book: done, but its result cannot be recorded" in told
    )
    assert "undo cancel returned though hotels-1 was in effect" in told


def test_a_probe_that_learns_nothing_is_named() -> None:
    shop = probe_takes_no_answer_for_no(faulty=True)
    report = rehearse(shop.plan, agents=[shop.agent])
    assert "book times out, happened; probe of book times out:" in {
        f"{one.trouble}:" for one in report.broken
    }
    assert "trouble: find is lost on its way" in f"{report}"


def test_a_story_is_told_in_the_order_of_its_events() -> None:
    shop = refunds_twice(faulty=True)
    [finding] = rehearse(shop.plan, agents=[shop.agent]).broken
    told = [f"{line.who}: {line.what}" for line in finding.story]
    events = [
        "hotel: undo of book: called, key stay-1-book-undo",
        "trouble: cancel is carried out, and the process dies before it hears so",
        "service hotels: cancels hotels-1",
        "hotel: undo of book: called again, try 2",
        "service hotels: cancels hotels-1 once more: it takes effect again",
        "scheduler: the task is Compensated",
    ]
    places = [next(n for n, line in enumerate(told) if line.startswith(event)) for event in events]
    assert places == sorted(places)
    assert [line.at for line in finding.story] == sorted(line.at for line in finding.story)


def test_an_undo_that_counts_twice_is_not_explained_by_its_do() -> None:
    shop = refunds_twice(faulty=True, do_sends_its_key=False)
    report = rehearse(shop.plan, agents=[shop.agent])
    [found] = [one.broken for one in report.broken if one.broken.promise is Promise.UNDONE_ONCE]
    assert found.what == "hotels-1 was cancelled 2 times, and each counted"
    assert found.because.startswith("its undo cancel was called again after its answer was lost")


def test_the_worst_comes_first_and_one_story_is_told_once() -> None:
    shop = settle_too_short(faulty=True)
    report = rehearse(shop.plan, agents=[shop.agent])
    promises = [one.broken.promise for one in report.broken]
    assert promises[0] is Promise.ONCE
    assert Promise.IN_TIME in promises[1:]
    troubles = {one.trouble for one in report.broken}
    assert len(troubles) < len(promises)
    assert all(f"{report}".count(f"  {trouble}:\n") == 1 for trouble in troubles)
    assert all(f"{one.broken}" in f"{report}" for one in report.broken)


def test_a_report_is_shown_as_it_is_told() -> None:
    shop = refunds_twice(faulty=True)
    broken = rehearse(shop.plan, agents=[shop.agent])
    assert repr(broken) == str(broken)
    assert repr(broken).startswith("BROKEN, in ")
    assert repr(broken).endswith("broken promises: 1")
    kept = rehearse(shop.plan)
    assert repr(kept) == str(kept) == f"stay: {len(kept.rows)} runs, and no promise was broken"
