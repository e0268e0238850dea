"""The reference is what the code gives; whoever changes the code writes it again."""

import inspect
import re
from importlib import import_module

import pytest

import makegood
from makegood.cli.main import makegood as command_line
from tools.reference.__main__ import AGAIN, FOLDER, pages
from tools.reference.api import MODULES
from tools.reference.cli import FIELDS_TOLD

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_the_code_gives(name: str) -> None:
    written = (FOLDER / name).read_text("utf-8")
    assert written == PAGES[name], (
        f"docs/reference/{name} has fallen behind the code; write it again: {AGAIN}"
    )


PACKAGES = [import_module(name) for name in (*MODULES, "makegood.client", "makegood.authoring")]
NAMES = {name for package in PACKAGES for name in getattr(package, "__all__", ())}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_public_name_is_told(name: str) -> None:
    assert f"\n### {name}\n" in PAGES["api.md"]


def test_methods_and_properties_are_told() -> None:
    told = set(re.findall(r"^#### (\S+)$", PAGES["api.md"], re.MULTILINE))
    for owner in (makegood.Makegood, makegood.Task, makegood.Agent):
        methods = [name for name, _ in inspect.getmembers(owner, inspect.isfunction) if name[0] != "_"]
        assert told.issuperset(f"{owner.__name__}.{name}" for name in methods)


@pytest.mark.parametrize("name", command_line.commands)
def test_every_command_is_told_with_its_options(name: str) -> None:
    section = PAGES["cli.md"].partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    options = {option for param in command_line.commands[name].params for option in param.opts}
    assert [option for option in options if option.startswith("--") and option not in section] == []
    assert f"\n    makegood {name} " in section


@pytest.mark.parametrize("name", FIELDS_TOLD)
def test_fields_are_told_of_commands_that_have_them(name: str) -> None:
    assert any("--json" in param.opts for param in command_line.commands[name].params)
