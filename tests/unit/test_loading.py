"""What the command line finds in a user's files, and what it says of files that are broken."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from makegood.authoring import Agent, PlanDefinition
from makegood.authoring.loading import load_app, load_plan
from makegood.errors import PlanError

APP = """
from makegood.authoring import Agent, plan, step

cars = Agent("car-agent")
mirrors = cars

@cars.action(undo=None)
def reserve_car(at: str) -> str:
    return at

@plan
def book(at: str) -> str:
    return step(reserve_car, at)

@plan(name="book_again")
def second() -> None:
    step(reserve_car, "here")

alone = Agent("alone")
everything = [cars, book]
mixed = [cars, 5]
nothing = []
"""


class Folder:
    """A user's folder, from which makegood was started."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> str:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "app", raising=False)  # another folder's
    before = set(sys.modules)
    yield Folder(tmp_path)
    for name in set(sys.modules) - before:
        del sys.modules[name]


def names(spec: str) -> tuple[list[str], list[str]]:
    app = load_app(spec)
    return list(app.agents), list(app.plans)


def test_everything_at_the_top_level_is_found(folder: Folder) -> None:
    folder.write("trips.py", APP)
    assert names("trips.py") == names("trips") == (["car-agent", "alone"], ["book", "book_again"])
    assert load_app("trips.py").agents["car-agent"] is load_app("trips").agents["car-agent"]
    assert load_app(str(folder.path / "trips.py")).plans["book"] is load_app("trips").plans["book"]


def test_an_attribute_is_one_thing_or_a_list(folder: Folder) -> None:
    folder.write("trips.py", APP)
    assert names("trips.py:alone") == (["alone"], [])
    assert names("trips:book") == ([], ["book"])
    assert names("trips:everything") == (["car-agent"], ["book"])


def test_a_plan_is_named_by_its_name_or_by_the_modules(folder: Folder) -> None:
    folder.write("trips.py", APP)
    assert isinstance(load_plan("trips.py:book"), PlanDefinition)
    assert load_plan("trips:book_again").name == load_plan("trips:second").name == "book_again"
    assert names("trips:second") == names("trips:book_again") == ([], ["book_again"])
    assert load_plan("trips:everything:book").name == "book"
    for spec, why in (
        ("trips.py:third", "trips.py has no plan 'third'; its plans: book, book_again"),
        ("trips:alone:book", "trips:alone has no plan 'book'; its plans: none"),
        ("trips.py", "which plan\\? Write APP:PLAN"),
        (":book", "which plan"),
    ):
        with pytest.raises(PlanError, match=why):
            load_plan(spec)


def test_what_lies_beside_the_file_or_in_packages_is_found(folder: Folder) -> None:
    folder.write("deep/shop/__init__.py", "")
    folder.write("deep/shop/main.py", "from helpers import cars\nfrom . import more")
    folder.write("deep/shop/more.py", "")
    folder.write("deep/helpers.py", 'from makegood.authoring import Agent\ncars = Agent("cars")')
    folder.write("deep/app.py", "from helpers import cars")
    assert names("deep/app.py") == (["cars"], [])
    assert names("shop.main") == (["cars"], [])


def test_two_files_of_one_name_are_two_modules(folder: Folder) -> None:
    for place in ("one", "two", "odd"):
        folder.write(f"{place}/app.py", f'from makegood.authoring import Agent\na = Agent("{place}")')
    folder.write("odd/my-app.py", 'from makegood.authoring import Agent\na = Agent("dashed")')
    assert [names(f"{place}/app.py")[0] for place in ("one", "two", "odd", "two")] == [
        ["one"],
        ["two"],
        ["odd"],
        ["two"],
    ]
    assert load_app("two/app.py").agents["two"] is load_app("two/app.py").agents["two"]
    assert names("odd/my-app.py") == (["dashed"], [])


def test_types_may_be_hinted_in_text(folder: Folder) -> None:
    folder.write(
        "hinted.py",
        """
        from __future__ import annotations
        from dataclasses import dataclass
        from makegood.authoring import Agent, plan, step

        agent = Agent("a")

        @dataclass
        class Trip:
            stops: list[Stop]

        @dataclass
        class Stop:
            name: str

        @agent.action(undo=None)
        def visit(stop: Stop) -> Stop: ...

        @plan
        def tour(trip: Trip) -> Stop:
            return step(visit, trip.stops[0])
        """,
    )
    tour = load_plan("hinted.py:tour")
    assert tour.input_type.__name__ == "Trip"
    assert tour.document.output == {"$ref": "visit"}


BROKEN: list[tuple[str, str, str, str]] = [
    ("no such file", "", "missing.py", r"^missing.py: there is no such file; .* name its path$"),
    (
        "no such module",
        "",
        "missing_module",
        r"^missing_module: there is no module 'missing_module'; run this where",
    ),
    (
        "a dot for a colon",
        APP,
        "app.book",
        r"^app.book: there is no .*; what the module app holds is named app:book$",
    ),
    (
        "a name misspelt",
        APP + "\n@plan\ndef third() -> None:\n    stepp(reserve_car, 'x')\n",
        "app.py",
        r"^app.py cannot be imported: NameError: .*; did you mean 'step'\?\n  app.py:",
    ),
    ("no name", "", "a-b", "'a-b' is neither a module's name nor a path that ends in .py"),
    ("empty", "", "", "'' is neither a module's name nor a path"),
    (
        "nothing in it",
        "x = 1",
        "app.py",
        r"^app.py: no agent and no plan is found there; define them at the top level",
    ),
    ("an empty list", APP, "app.py:nothing", "no agent and no plan is found there; put one into the list"),
    (
        "no such attribute",
        APP,
        "app.py:planes",
        "^app.py has no 'planes'; agents and plans in it: cars, mirrors, book, second, alone$",
    ),
    (
        "something else in the list",
        APP,
        "app:mixed",
        "^app:mixed: 5 is no agent and no plan; agents and plans in it: cars, .*$",
    ),
    (
        "not an agent",
        APP,
        "app:step",
        "^app:step: <makegood.* is no agent and no plan; agents and plans in it: cars, .*$",
    ),
    (
        "two agents of one name",
        'from makegood.authoring import Agent\na, b = Agent("x"), Agent("x")',
        "app.py",
        "^app.py: two different agents are called 'x', at app.py:2 and app.py:2; give one another name$",
    ),
    (
        "two plans of one name",
        APP + "@plan(name='book')\ndef third() -> None:\n    step(reserve_car, 'x')\n",
        "app.py",
        r"^app.py: two different plans are called 'book', at app.py:11 and app.py:\d+; give",
    ),
    (
        "a syntax error",
        "x = 1\nif x\n",
        "app.py",
        r"^app.py cannot be imported: SyntaxError: expected ':'\n  app.py:2$",
    ),
    (
        "an error",
        "def deeper():\n    return {}['x']\n\ndeeper()\n",
        "app.py",
        r"^app.py cannot be imported: KeyError: 'x'\n  app.py:4 in <module>\n  app.py:2 in deeper$",
    ),
    (
        "an error in a library",
        "import json\n\njson.loads('{')\n",
        "app",
        r"^app cannot be imported: JSONDecodeError: .*\n  app.py:3 in <module>$",
    ),
    (
        "a missing library",
        "import missing_library\n",
        "app.py",
        r"^app.py cannot be imported: ModuleNotFoundError: .* 'missing_library'\n  app.py:1 in <module>$",
    ),
    (
        "an exit",
        "import sys\nsys.exit(3)\n",
        "app.py",
        r"^app.py ends the program when imported; put that below `if __name__ == .*\n  app.py:2 in <module>$",
    ),
    (
        "a refused plan",
        APP + "\n@plan\ndef bad() -> None:\n    step(print)\n",
        "app.py",
        r"^app.py:\d+: print is no action .*\n  app.py:\d+ in <module>\n  app.py:\d+ in bad$",
    ),
    (
        "a refused agent",
        'from makegood.authoring import Agent\n\na = Agent("a b")\n',
        "app.py",
        r"^app.py:3: agent 'a b': an agent's name is of letters .*\n  app.py:3 in <module>$",
    ),
    (
        "an action with types that have no JSON, in no plan",
        APP + "@cars.action(undo=None)\ndef draw(z: complex) -> None: ...\n",
        "app.py",
        r"^app.py:\d+: parameter 'z' of draw: type complex cannot be written",
    ),
]


@pytest.mark.parametrize(("text", "spec", "why"), [pytest.param(*rest, id=name) for name, *rest in BROKEN])
def test_what_is_broken_is_said_in_the_users_lines(folder: Folder, text: str, spec: str, why: str) -> None:
    folder.write("app.py", text)
    with pytest.raises(PlanError, match=why) as broken:
        load_app(spec)
    assert broken.value.__suppress_context__ or broken.value.__context__ is None
    assert "makegood/" not in str(broken.value)


def test_a_file_that_was_mended_loads(folder: Folder) -> None:
    folder.write("mended.py", "raise ValueError")
    with pytest.raises(PlanError, match="ValueError"):
        load_app("mended.py")
    folder.write("mended.py", APP + "# and a little longer, so that no cached bytecode fits\n")
    assert isinstance(load_app("mended.py").agents["alone"], Agent)


def test_a_person_may_interrupt(folder: Folder) -> None:
    folder.write("slow.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_app("slow.py")
