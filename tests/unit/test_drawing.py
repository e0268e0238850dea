"""Plans drawn: what stands where, and that undo is numbered as the core compensates."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from makegood.core.events import Reply
from makegood.core.plan import Plan
from makegood.core.record import OFFERED, PLANNED, TaskState
from makegood.drawing import mermaid, svg, text
from makegood.drawing.rows import undo_order
from makegood.testing.shorthand import BARE, KEYED, PIVOT, PROBED, READS, TOMB, parallel, series, step
from tests.core.plans import BODIES, plan_of
from tests.core.scripts import Bench

SVG = "{http://www.w3.org/2000/svg}"

BODY = series(
    step("look", READS),
    step("stamp", TOMB, undo=None),
    parallel(step("book", KEYED, undo="give_back"), series(step("wine", BARE), step("glasses", PROBED))),
    step("last", {"class": {"keyed": 3600}}, deadline=90, agent="shop", action="buy"),
    step("charge", KEYED, PIVOT),
    parallel(step("mail", KEYED), step("tell", KEYED, undo=None)),
)
PLAN = plan_of(BODY, "order")

DRAWN = """\
forward                                       undo, from 1 on
|                                             ^
o  look                                       |  -  nothing to undo
|  look-agent, reads                          |
o  stamp                                      |  -  stays in effect
|  stamp-agent, keyed, tombstone              |
+- at the same time                           |
|  o  book                                    |  2  give_back
|  |  book-agent, keyed                       |
|  +- one after the other                     |
|  |  o  wine                                 |  3  cancel
|  |  |  wine-agent, no keys, no probe        |
|  |  o  glasses                              |  2  cancel
|  |  |  glasses-agent, probe find            |
|  |                                          |
|                                             |
o  last                                       |  1  cancel
|  shop/buy, keyed for 60 min, deadline 90 s  |
#  charge                                        -  no way back from here
|  charge-agent, pivot, keyed
+- at the same time
|  o  mail                                       -  never undone
|  |  mail-agent, keyed
|  o  tell                                       -  never undone
|  |  tell-agent, keyed
|
v"""


def test_the_plan_as_text() -> None:
    title, empty, *drawn = text(PLAN).splitlines()
    assert title == f"order {PLAN.version[:12]}"
    assert empty == ""
    assert "\n".join(drawn) == DRAWN
    assert max(map(len, drawn)) <= 80


def test_long_names_stay_whole_and_what_is_beside_them_moves_down() -> None:
    long = "a" * 60
    drawn = text(plan_of(series(step(long), step("b")))).splitlines()
    at = next(n for n, line in enumerate(drawn) if long in line)
    assert drawn[at] == f"o  {long}"
    assert re.fullmatch(r"\| .* \|  2  cancel", drawn[at + 1] if "cancel" in drawn[at + 1] else drawn[at + 2])


@pytest.mark.parametrize("body", [*BODIES.values(), BODY], ids=[*BODIES, "order"])
def test_the_core_compensates_in_the_order_that_is_drawn(body: dict[str, Any]) -> None:
    """All of a wave's undos end at once: each is then called in the wave that its number names."""
    if not any(node.get("pivot") for node in body.get("series", [])):
        body = series(body, step("turn", READS))
    bench = Bench(body)
    plan = bench.plan
    turns = plan.steps[-1 if plan.pivot is None else plan.pivot].name
    while turns not in (waves := _planned(bench)):
        bench.done(*waves)
    bench.ends(turns, Reply.REFUSED)
    called: dict[int, int] = {}
    wave = 0
    while bench.state is TaskState.COMPENSATING:
        wave += 1
        names = _planned(bench)
        called |= {plan.index_of[name]: wave for name in names}
        bench.done(*names)
    assert bench.state is TaskState.COMPENSATED
    assert undo_order(plan) == called


def _planned(bench: Bench) -> list[str]:
    return [each.name for each in bench.plan.steps if bench.phase(each.name) in PLANNED | OFFERED]


# --- Mermaid


def arrows(drawn: str, sign: str) -> set[tuple[str, str]]:
    found = re.findall(rf"^  (\w+) {re.escape(sign)} (\w+)$", drawn, re.MULTILINE)
    return set(found)


def test_mermaid_goes_forward_and_back() -> None:
    drawn = mermaid(PLAN)
    assert drawn.startswith("flowchart TD\n  accTitle: plan order ")
    assert {("s0", "s1"), ("s3", "s4"), ("f1", "s2"), ("f1", "s3"), ("s2", "f1x"), ("s4", "f1x")} < arrows(
        drawn, "-->"
    )
    assert arrows(drawn, "==>") == {
        ("u5", "b1"),
        ("b1", "u2"),
        ("b1", "u4"),
        ("u4", "u3"),
        ("u2", "b1x"),
        ("u3", "b1x"),
    }
    assert ("s5", "u5") in arrows(drawn, "-.-")
    assert 's6{{"charge<br/>charge-agent, pivot, keyed"}}' in drawn
    assert 'u3["3. cancel"]' in drawn


def test_wide_groups_one_after_the_other_take_few_arrows() -> None:
    wide = parallel(*[step(f"a{n}") for n in range(200)])
    other = parallel(*[step(f"b{n}") for n in range(200)])
    assert len(arrows(mermaid(plan_of(series(wide, other))), "-->")) == 801


HOSTILE = '"]<b>&\n; end #1;\x1b'


def test_what_a_document_names_reaches_mermaid_as_text() -> None:
    drawn = mermaid(plan_of(step("a", agent=HOSTILE, undo=HOSTILE)))
    assert "<b>" not in drawn
    assert "#34;#93;#60;b#62;#38;#92;n#59; end #35;1#59;#92;x1b, no keys" in drawn
    assert len(drawn.splitlines()) == 5


# --- SVG


def parsed(plan: Plan) -> ElementTree.Element:
    return ElementTree.fromstring(svg(plan))


def test_svg_is_well_formed_and_says_everything() -> None:
    picture = parsed(PLAN)
    words = [node.text for node in picture.iter(f"{SVG}text")]
    for name in [each.name for each in PLAN.steps]:
        assert name in words
    assert [word for word in words if word and word.isdigit()] == ["2", "3", "2", "1"]
    assert words.count("at the same time") == 2
    assert {"stays in effect", "nothing to undo", "no way back from here", "never undone"} < set(words)
    kinds = [node.get("class") for node in picture.iter(f"{SVG}rect")]
    assert {kind: kinds.count(kind) for kind in ("reads", "step", "pivot", "undo", "group")} == {
        "reads": 1,
        "step": 7,
        "pivot": 1,
        "undo": 4,
        "group": 3,
    }


def test_svg_is_for_screen_readers_and_for_the_dark() -> None:
    picture = parsed(PLAN)
    assert picture.get("role") == "img"
    assert picture.get("aria-labelledby") == "title description"
    title, description = picture.find(f"{SVG}title"), picture.find(f"{SVG}desc")
    assert title is not None
    assert title.text == f"Plan order {PLAN.version[:12]}"
    assert description is not None
    assert description.text is not None
    assert "1 cancel for last, 2 give_back for book, 2 cancel for glasses, 3 cancel" in description.text
    assert "prefers-color-scheme: dark" in svg(PLAN)


def test_svg_holds_whatever_a_document_names() -> None:
    picture = parsed(plan_of(step("a", agent=HOSTILE, undo=HOSTILE)))
    words = [node.text or "" for node in picture.iter(f"{SVG}text")]
    assert '"]<b>&\\n; end #1;\\x1b' in words


def test_everything_lies_inside_the_picture() -> None:
    deep = step("z" * 60, KEYED, undo="w" * 70)
    for _ in range(20):
        deep = parallel(series(deep, step(f"s{len(str(deep))}")))
    picture = parsed(plan_of(deep))
    _, _, width, height = map(float, str(picture.get("viewBox")).split())
    for box in picture.iter(f"{SVG}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        wide, high = float(str(box.get("width"))), float(str(box.get("height")))
        assert 0 <= x <= x + wide <= width
        assert 0 <= y <= y + high <= height
        assert wide >= 100 or box.get("class") == "group"
