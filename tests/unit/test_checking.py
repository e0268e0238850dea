"""What could strand a task: each rule finds what it is for, and is silent where that is mended."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from makegood.authoring.plans import PlanDefinition
from makegood.checking import RULES, Finding, Setting, Severity, check
from makegood.checking.spans import tries, tries_within
from makegood.core.events import Answer, Reply
from makegood.core.record import Phase, TaskState
from makegood.testing.rehearsal.rehearse import rehearse
from makegood.testing.shorthand import (
    BARE,
    FOR_A_MINUTE,
    KEYED,
    KEYED_PROBE,
    PIVOT,
    PROBED,
    READS,
    TOMB,
    TOMB_PROBE,
    parallel,
    series,
    step,
)
from tests.core.plans import BODIES, plan_of
from tests.core.scripts import Bench

Body = dict[str, Any]
FOR_AN_HOUR = {"class": {"keyed": 3600}}
FOR_A_DAY = {"class": {"keyed": 86_400}}
FOREVER = {"attempts": 1_000_000}


def findings(
    body: Body,
    *,
    deadline: int | None = None,
    lacking: str = "",
    untyped: Mapping[str, Sequence[str]] | None = None,
) -> list[Finding]:
    """Timeout 10 s, settle 5 s, 3 tries, 2 asks, an hour for the undo: if not said otherwise."""
    plan = plan_of(body)
    actions = frozenset(f"{each.agent}/{each.action}" for each in plan.steps if each.name != lacking)
    return check(Setting(plan=plan, actions=actions, untyped=untyped or {}, grace=10_000, deadline=deadline))


def rules(body: Body, **given: Any) -> list[str]:
    return [found.rule for found in findings(body, **given)]


FOUND: dict[str, tuple[str, Body, str]] = {
    "neither keys nor a probe": ("parksOnDoubt", step("a", BARE), "and so it is with its undo cancel"),
    "a pivot with neither": ("parksOnDoubt", step("a", BARE, PIVOT), "the answer to a is lost"),
    "a call that outlasts a shutdown": (
        "cutAtShutdown",
        step("a", BARE, timeout=11),
        "a call may take 11 s, and a process that is told to end (by a deploy, say) gives it 10 s",
    ),
    "a key of 24 s for calls of 15": (
        "keyTooShort",
        step("a", {"class": {"keyed": 24}}),
        "remembered for 24 s, too short a time to settle a call that timed out, which may take 30 s",
    ),
    "the same with a tombstone": (
        "keyTooShort",
        step("a", {"class": {"keyed": 25, "tombstone": True}}),
        "which may take 25 s; in doubt, the task is parked",
    ),
    "a key that is forgotten before the last try": (
        "keyOutlived",
        step("a", FOR_A_MINUTE, retry={"attempts": 5}),
        "its key counts for 45 s after the first call only; in doubt after that, the task is parked",
    ),
    "the same with a probe": (
        "keyOutlived",
        step("a", FOR_A_MINUTE, PROBED, retry=FOREVER),
        "in doubt after that, its probe is asked",
    ),
    "tries without end": (
        "keyOutlived",
        series(step("p", KEYED, PIVOT), step("a", FOR_A_DAY)),
        "without end",
    ),
    "an outage that is longer than a key lasts": (
        "outageOutlivesKey",
        step("a", FOR_AN_HOUR),
        "where no process is up for 59.8 min while a is in doubt",
    ),
    "an undo that is tried for longer than its key lasts": (
        "undoOutlivesKey",
        step("a", FOR_AN_HOUR),
        "the undo cancel is tried for 60 min, but its key counts for 59.8 min",
    ),
    "a probe alone": (
        "restsOnProbe",
        step("a", PROBED),
        "cannot tell in 2 asks, the task is parked. The same",
    ),
    "a probe after an undo": ("undoIsChecked", step("a", KEYED_PROBE), "its probe find must say"),
    "a pivot without a probe": ("pivotInDoubt", step("a", KEYED, PIVOT), "no answer has come after 3 tries"),
    "steps after the pivot": (
        "mustNotFail",
        series(step("p", KEYED, PIVOT), step("a", READS), step("b", KEYED, undo=None)),
        "where a or b is refused, the task is parked",
    ),
    "an undo after the pivot": (
        "undoNeverCalled",
        series(step("p", KEYED, PIVOT), step("a", KEYED)),
        "never",
    ),
    "an effect without undo": ("staysInEffect", step("a", KEYED, undo=None), "what a did stays"),
    "a deadline shorter than a call": (
        "deadlineTooShort",
        step("a", KEYED, deadline=9),
        "one call may take 10 s, but the step's deadline is 9 s",
    ),
    "a deadline shorter than all tries": (
        "triesCutShort",
        step("a", KEYED, deadline=22),
        "only 2 of its 3 tries end before its deadline of 22 s",
    ),
    "a deadline after the pivot": (
        "deadlineUnheeded",
        series(step("p", KEYED, PIVOT), step("a", KEYED, undo=None, deadline=100)),
        "its deadline undoes nothing",
    ),
    "an undo that is called once": (
        "undoGivesUp",
        step("a", KEYED, undoRetry={"within": 10}),
        "may show after 10 s only, and its tries end after 10 s",
    ),
    "an undo that is not repeated after its probe": (
        "undoGivesUp",
        step("a", PROBED, undoRetry={"within": 25}),
        "may show after 25 s only",
    ),
    "no time to settle": ("nothingSettles", step("a", KEYED, settle=0), "settle=0 says"),
}
BROKEN = {"keyTooShort", "deadlineTooShort", "undoGivesUp", "nobodyCalls"}


@pytest.mark.parametrize("case", FOUND)
def test_a_rule_finds_what_it_is_for(case: str) -> None:
    rule, body, words = FOUND[case]
    [found] = [each for each in findings(body) if each.rule == rule]
    assert words in found.what
    assert found.plan == "trip"
    assert (found.severity is Severity.BROKEN) == (rule in BROKEN)
    assert len(found.way_out) > 20


SILENT: dict[str, tuple[str, Body]] = {
    "keys": ("parksOnDoubt", step("a", KEYED)),
    "a probe": ("parksOnDoubt", step("a", PROBED)),
    "no effect": ("parksOnDoubt", step("a", READS)),
    "a call that a shutdown waits for": ("cutAtShutdown", step("a", BARE)),
    "a call that can be repeated": ("cutAtShutdown", step("a", KEYED, timeout=11)),
    "a longer key": ("keyTooShort", step("a", {"class": {"keyed": 31}})),
    "a tombstone needs no wait": ("keyTooShort", step("a", {"class": {"keyed": 26, "tombstone": True}})),
    "no effect, no key needed": ("keyTooShort", step("a", READS, {"class": {"keyed": 1}})),
    "few tries": ("keyOutlived", step("a", FOR_A_MINUTE)),
    "an outage after which a probe can be asked": ("outageOutlivesKey", step("a", FOR_AN_HOUR, PROBED)),
    "an outage said by another rule": (
        "outageOutlivesKey",
        step("a", FOR_A_MINUTE, retry=FOREVER),
    ),
    "a short undo": ("undoOutlivesKey", step("a", FOR_AN_HOUR, undoRetry={"within": 3585})),
    "keys and a probe": ("restsOnProbe", step("a", KEYED_PROBE)),
    "a tombstone needs no check": ("undoIsChecked", step("a", TOMB_PROBE)),
    "a probe of the pivot": ("pivotInDoubt", step("a", KEYED_PROBE, PIVOT)),
    "nothing after the pivot": ("mustNotFail", series(step("a", KEYED), step("p", KEYED, PIVOT))),
    "an undo before the pivot": ("undoNeverCalled", series(step("a", KEYED), step("p", KEYED, PIVOT))),
    "an effect after the pivot": (
        "staysInEffect",
        series(step("p", KEYED, PIVOT), step("a", KEYED, undo=None)),
    ),
    "a deadline that is long enough": ("deadlineTooShort", step("a", KEYED, deadline=10)),
    "a deadline for all tries": ("triesCutShort", step("a", KEYED, deadline=34)),
    "a deadline before the pivot": (
        "deadlineUnheeded",
        series(step("a", KEYED, deadline=50), step("p", PIVOT)),
    ),
    "an undo with time": ("undoGivesUp", step("a", PROBED, undoRetry={"within": 26})),
    "a tombstone waits for nothing": ("nothingSettles", step("a", TOMB, settle=0)),
    "what is never undone is not waited out": (
        "nothingSettles",
        series(step("p", KEYED, PIVOT), step("a", KEYED, settle=0)),
    ),
    "reading waits for nothing": ("nothingSettles", step("a", READS, settle=0)),
}


@pytest.mark.parametrize("case", SILENT)
def test_a_rule_is_silent_where_that_is_mended(case: str) -> None:
    rule, body = SILENT[case]
    assert rule not in rules(body)


def test_every_rule_is_shown_both() -> None:
    named = {rule.__name__.replace("_", "").lower() for rule in RULES} - {"nobodycalls", "untypedaction"}
    assert {rule.lower() for rule, *_ in FOUND.values()} == named
    assert {rule.lower() for rule, _ in SILENT.values()} == named


def test_an_action_that_nobody_has() -> None:
    [found] = findings(series(step("a", TOMB), step("b", TOMB)), lacking="b")
    assert (found.rule, found.severity, found.step) == ("nobodyCalls", Severity.BROKEN, "b")
    assert "no agent here has b-agent/b" in found.what


def test_an_action_that_does_not_say_its_types() -> None:
    body = series(step("a", TOMB), step("b", TOMB))
    [found] = findings(body, untyped={"a-agent/a": ["guest", "room", "return"], "b-agent/b": []})
    assert (found.rule, found.severity, found.step) == ("untypedAction", Severity.NOTE, "a")
    assert "does not say the type of guest, room and its result: only plain JSON" in found.what


def test_a_good_plan_has_no_findings() -> None:
    assert findings(series(step("look", READS), step("a", TOMB), step("b", KEYED))) == []


def test_a_task_deadline_is_held_against_the_longest_way_to_the_pivot() -> None:
    body = series(
        parallel(step("a", TOMB), series(step("b", TOMB), step("c", TOMB))),
        step("p", TOMB, PIVOT),
        step("after", TOMB, undo=None, timeout=1000),
    )
    assert "taskDeadline" not in rules(body, deadline=102_000)
    [found] = [each for each in findings(body, deadline=60_000) if each.rule == "taskDeadline"]
    assert found.step == ""
    assert (
        "101.2 s with all their tries, and 30 s with one try each; after 60 s the task is undone"
        in found.what
    )


def test_how_long_tries_take() -> None:
    [three] = plan_of(step("a")).steps
    assert tries(three) == 3 * 10_000 + 1_250 + 2_500
    assert tries(three, 1) == 10_000
    assert [tries_within(three, at) for at in (9_999, 10_000, 21_250, 10**9)] == [0, 1, 2, 3]
    [many] = plan_of(step("a", retry=FOREVER)).steps
    assert 84.99 < tries(many) / (1_000_000 * 1000) < 85


# --- against the core


CLASSES: dict[str, Body] = {
    "tombstone": TOMB,
    "keyed": KEYED,
    "keyed, probe": KEYED_PROBE,
    "probe": PROBED,
    "neither": BARE,
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_said_to_park_on_doubt_parks_in_the_core(name: str) -> None:
    body = series(step("a", CLASSES[name]), step("b", READS))
    forward = Bench(body).ends("a", Reply.UNKNOWN).phase("a") is Phase.DOUBT
    bench = Bench(body).done("a").ends("b", Reply.REFUSED).ends("a", Reply.UNKNOWN)
    undo = bench.phase("a") is Phase.UNDO_STUCK
    assert [forward, undo] == [("parksOnDoubt" in rules(body))] * 2


@pytest.mark.parametrize("name", CLASSES)
def test_what_rests_on_its_probe_parks_in_the_core_when_that_cannot_tell(name: str) -> None:
    body = series(step("a", CLASSES[name]))
    bench = Bench(body).ends("a", Reply.UNKNOWN)
    if bench.phase("a") is Phase.WAIT_OUT:
        bench.wait_out().probed("a", Answer.CANNOT_TELL).probed("a", Answer.CANNOT_TELL)
    assert (bench.phase("a") is Phase.DOUBT) == bool({"restsOnProbe", "parksOnDoubt"} & set(rules(body)))


KNOWN = {
    "parksOnDoubt",
    "keyOutlived",
    "outageOutlivesKey",
    "undoOutlivesKey",
    "restsOnProbe",
    "undoIsChecked",
}
"""Rules that say of a step that it may be parked because a call was in doubt."""


@pytest.mark.parametrize("name", ["straight", "neither", "forgets_keys", "pivot_bare", "pivot_middle"])
def test_what_a_rehearsal_sees_parked_was_said_before(name: str) -> None:
    """A crash leaves the calls of sibling branches in doubt as well, so that it may be due to any of them."""
    plan = PlanDefinition.from_document({"plan": name, "body": BODIES[name]})
    found = findings(BODIES[name])
    in_doubt = {each.step for each in found if each.rule in KNOWN}
    after_pivot = {each.name for each in plan.plan.steps[plan.plan.pivot or 1000 :]}
    parked = [row.faults[0] for row in rehearse(plan).rows if row.ends == "Failed"]
    for fault in parked:
        step_name = fault.where.removeprefix("undo of ")
        if fault.fault == "refused":  # by an undo, or after the pivot
            assert fault.call == "undo" or step_name in after_pivot
        elif "crash" in fault.fault:
            assert in_doubt
        else:
            assert step_name in in_doubt
    lost = {fault.where for fault in parked if fault.fault == "times out, happened"}
    assert {each.step for each in found if each.rule == "parksOnDoubt"} <= lost


@pytest.mark.parametrize("within", [10, 11])
def test_an_undo_that_is_said_to_give_up_does_so_in_the_core(within: int) -> None:
    body = series(step("a", KEYED, undoRetry={"within": within}), step("b", READS))
    bench = Bench(body).done("a").ends("b", Reply.REFUSED).call("a")
    bench.wait(10_000).report("a", Reply.UNKNOWN)
    bench.look()
    assert (bench.phase("a") is Phase.UNDO_STUCK) == ("undoGivesUp" in rules(body))


def test_a_pivot_that_is_said_to_park_when_its_tries_end_does_so_in_the_core() -> None:
    body = series(step("p", KEYED, PIVOT))
    assert "pivotInDoubt" in rules(body)
    bench = Bench(body)
    for _ in range(3):
        bench.ends("p", Reply.UNKNOWN)
    bench.wait_out()
    assert bench.state is TaskState.FAILED
