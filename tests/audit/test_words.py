"""What persons and calls said of an effect: the last word stands, the ones before are kept or history."""

from makegood.auditing import Stands
from makegood.cli.audit import effect_row
from makegood.core.events import CancelAsked, Reply, ResolveAsked, RetryAsked, Verdict
from makegood.reading.past import Word
from tests.audit.written import statement
from tests.unit.walk import Walk, step


def in_doubt() -> Walk:
    walk = Walk(step("car"))
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    return walk


def test_a_word_that_a_later_call_came_after_is_kept() -> None:
    walk = in_doubt()
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann", "she asked them"))
    walk.inspect()
    walk.wait(60)
    walk.done("car", b'"2"')
    [effect] = statement(walk).effects
    assert (effect.stands, effect.settled_by) == (Stands.KEPT, "")
    assert effect.earlier_words == (Word("ann", "absent", "she asked them"),)
    assert effect_row(effect)[-1] == "before, ann says: it never happened (she asked them)"


def test_a_word_that_a_later_call_came_after_does_not_stand_while_that_is_in_doubt() -> None:
    walk = in_doubt()
    walk.commit(ResolveAsked(0, Verdict.ABSENT, "ann", "she asked them"))
    walk.inspect()
    walk.wait(60)
    walk.call("car")
    walk.report("car", Reply.UNKNOWN, error="reset")
    walk.inspect()
    walk.wait(60)
    walk.inspect()
    [effect] = statement(walk).effects
    assert (effect.stands, effect.settled_by) == (Stands.IN_DOUBT, "")
    assert effect.earlier_words == (Word("ann", "absent", "she asked them"),)


def test_a_word_that_something_was_left_does_not_stand_while_it_is_undone() -> None:
    walk = Walk({"series": [step("car"), step("van")]})
    walk.done("car", b'"1"')
    walk.commit(CancelAsked("ann"))
    for verdict in (Verdict.LEFT, None):
        walk.call("car")
        walk.report("car", Reply.REFUSED, error="no")
        walk.inspect()
        if verdict is not None:
            walk.commit(ResolveAsked(0, verdict, "ann"))
            assert statement(walk).effects[0].settled_as == "left"
            walk.commit(RetryAsked(0, "ann"))
    effect = statement(walk).effects[0]
    assert (effect.settled_as, effect.earlier_words) == ("", (Word("ann", "left", ""),))


def test_what_a_call_said_before_it_went_well_is_history() -> None:
    walk = Walk({"series": [step("car"), step("van")]})
    walk.done("car", b'"1"')
    walk.commit(CancelAsked("ann"))
    walk.call("car")
    walk.report("car", Reply.TRANSIENT, error="403")
    walk.inspect()
    assert statement(walk).effects[0].error == "403"
    walk.wait(600)
    walk.done("car")
    effect = statement(walk).effects[0]
    assert (effect.stands, effect.error) == (Stands.UNDONE, "")
