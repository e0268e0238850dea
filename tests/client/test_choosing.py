"""Which tasks are meant by a filter, and acting on all of them."""

import time
from datetime import timedelta
from pathlib import Path

import pytest

from makegood import Makegood, MakegoodError
from makegood.client import Where
from makegood.reading.matching import parse
from tests.client.sample import Order, lamps, light, run


@pytest.mark.parametrize(
    ("terms", "meant"),
    [
        ([], Where()),
        (["state=failed", "state=Running"], Where(states=("failed", "Running"))),
        (
            ["plan=light", "step=order_lamp", "agent=lamps"],
            Where(plan="light", step="order_lamp", agent="lamps"),
        ),
        (["tag.customer=a=b", "tag.who=x"], Where(tags={"customer": "a=b", "who": "x"})),
        (
            ["error~Line went", "age>90s", "age<1.5h"],
            Where(error="Line went", older_than=90, younger_than=5400),
        ),
        (["stuck>2d", "paused=yes"], Where(stuck_for=172_800, paused=True)),
        (["paused=no"], Where(paused=False)),
        (["ended=no", "version=3fa0"], Where(ended=False, version="3fa0")),
    ],
)
def test_a_filter_as_people_write_it(terms: list[str], meant: Where) -> None:
    assert parse(terms) == meant


@pytest.mark.parametrize(
    ("term", "words"),
    [
        ("failed", "nothing to choose tasks by; write state=S"),
        ("state=gone", "'gone' is no state of a task; the states are Running"),
        ("state=Undone", "'Undone' is no state of a task; a task that is undone is Compensated; the states"),
        ("age>soon", "'soon' is no length of time; write 90s"),
        ("age>\u0663h", "'\u0663h' is no length of time"),  # a digit that no other part of a term may have
        ("age=90s", "nothing to choose tasks by"),
        ("paused=maybe", "nothing to choose tasks by"),
        ("ended=1", "nothing to choose tasks by"),
        ("version=light", "'light' is no version of a plan; give some of its first hexadecimal digits"),
        ("tag=x", "nothing to choose tasks by"),
        ("plan.x=y", "nothing to choose tasks by"),
        ("colour=red", "nothing to choose tasks by"),
    ],
)
def test_what_is_no_filter_says_how_to_write_one(term: str, words: str) -> None:
    with pytest.raises(MakegoodError, match=words):
        parse([term])


def test_tasks_are_chosen_by_what_they_are_and_what_was_said(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps]) as makegood:
            for name, trouble in (("fine", ""), ("sold", "refused"), ("stuck", "doubt"), ("odd", "doubt")):
                tags = {"who": name, "team": "light"}
                task = await makegood.submit(light, Order(name, trouble), task_id=name, tags=tags)
                await task.wait(20)

            async def found(*terms: str) -> set[str]:
                return set(await makegood.find(parse(terms)))

            assert await found() == {"fine", "sold", "stuck", "odd"}
            assert await found("state=failed") == {"stuck", "odd"}
            assert await found("state=failed", "tag.who=odd") == {"odd"}
            assert await found("tag.team=light", "tag.who=fine") == {"fine"}
            assert await found("tag.team=dark") == set()
            assert await found("error~LINE went") == {"stuck", "odd"}
            assert await found("error~sold out") == {"sold"}
            assert await found("step=order_lamp") == {"stuck", "odd"}
            assert await found("agent=lamps", "plan=light") == {"stuck", "odd"}
            assert await found("agent=cooks") == set()
            assert await found("plan=dark") == set()
            assert await found("age<1h") == {"fine", "sold", "stuck", "odd"}
            assert await found("age>1h") == set()
            assert await found("stuck>0s") == {"stuck", "odd"}
            assert await found("stuck>1h") == set()
            await makegood.submit(light, Order("later"), task_id="later", start_at=timedelta(hours=1))
            assert "later" not in await found("stuck>0s")
            assert await makegood.task("later").cancel()
            await makegood.task("odd").pause()
            assert await found("paused=yes") == {"odd"}
            assert await found("paused=no", "state=failed") == {"stuck"}
            assert await found("ended=no") == {"stuck", "odd"}
            assert await found("ended=yes") == {"fine", "sold", "later"}
            assert await found("ended=no", "state=completed", "state=failed") == {"stuck", "odd"}
            assert await found("ended=no", "state=completed") == set()
            assert await found(f"version={light.version[:12]}") == {"fine", "sold", "stuck", "odd", "later"}
            assert await found("version=" + "0" * 12) == set()

    run(work)


TASKS = 230
"""More than are read at a time."""


def test_pages_of_chosen_tasks_leave_none_out_and_repeat_none(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db") as client:
            thirds = [{"third": str(n % 3)} for n in range(TASKS)]
            for n, tags in enumerate(thirds):
                await client.submit(light, Order(f"{n}"), task_id=f"t-{n}", tags=tags)
            for limit in (1, 7, 100, 1_000):
                seen: list[str] = []
                after: str | None = None
                while after is not None or not seen:
                    page = await client.list(parse(["tag.third=1"]), limit=limit, after=after)
                    assert len(page.tasks) <= limit
                    seen += [task["taskId"] for task in page.tasks]
                    after = page.next
                    await client.submit(light, Order("new"), tags={"third": "1"})  # others go on meanwhile
                wanted = [f"t-{n}" for n in reversed(range(TASKS)) if n % 3 == 1]
                old = [task_id for task_id in seen if task_id.startswith("t-")]
                assert len(set(seen)) == len(seen)
                assert old == wanted

    run(work)


def test_an_act_on_many_tells_what_came_of_each_at_the_rate_given(tmp_path: Path) -> None:
    async def work() -> None:
        async with Makegood(f"sqlite:///{tmp_path}/tasks.db", [lamps]) as makegood:
            for n in range(5):
                task = await makegood.submit(light, Order(f"{n}", "doubt" if n < 4 else ""), task_id=f"t-{n}")
                await task.wait(20)
            ids = [*await makegood.find(), "t-gone"]
            begun = time.monotonic()
            acted = [
                each async for each in makegood.act_on(ids, lambda task: task.cancel(why="over"), rate=20)
            ]
            assert time.monotonic() - begun >= 0.25
            assert [each.task_id for each in acted] == ids
            assert {each.task_id for each in acted if each.refused} == {"t-4", "t-gone"}
            assert "it is Completed" in acted[0].said
            assert not any(each.already for each in acted)
            again = [each async for each in makegood.act_on(ids, lambda task: task.cancel())]
            assert {each.task_id for each in again if each.already} == {"t-0", "t-1", "t-2", "t-3"}
            with pytest.raises(MakegoodError, match="rate of 0"):
                _ = [each async for each in makegood.act_on(ids, lambda task: task.cancel(), rate=0)]

    run(work)
