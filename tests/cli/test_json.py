"""What commands print with --json is as docs/reference/schemas say."""

import json
import shutil
from collections.abc import Iterator

import pytest
from jsonschema import Draft202012Validator

from makegood.cli.main import makegood
from tests.cli.terminal import APP, Shell
from tests.schemas import SCHEMAS, faults
from tools.reference.schemas import FORMS

TRIPS: dict[str, dict[str, str]] = {
    "done": {},
    "undone": {"car": "refused"},
    "parked": {"car": "lost"},
    "stuck": {"car": "refused", "undo": "refused"},
    "settled": {"car": "lost"},
}
PARKED = '{"who": "ann", "car": "lost"}'
COMMANDS = {
    "agents": ("agents",),
    "audit": ("audit",),
    "audit of some": ("audit", *TRIPS),
    "check": ("check", "app.py"),
    "doctor": ("doctor",),
    **{f"history of {name}": ("history", name) for name in ("undone", "stuck", "settled")},
    "list": ("list",),
    "rehearse": ("rehearse", "app.py:rent_car"),
    **{f"show {name}": ("show", name) for name in ("done", "undone", "stuck", "settled")},
    "submit": ("submit", "app.py:book_trip", '{"who": "eve"}', "--id", "alone"),
    "submit and wait": ("submit", "app.py:book_trip", '{"who": "ann"}', "--id", "done", "--wait"),
    "submit what is parked": ("submit", "app.py:book_trip", PARKED, "--id", "parked", "--wait"),
    "submit many": ("submit", "app.py:book_trip", "--many", "trips"),
    "submit what is taken": ("submit", "app.py:rent_car", "--many", "taken"),
    "watch": ("watch", "--timeout", "0.1"),
    "watch one": ("watch", "stuck"),
    **{f"why {name}": ("why", name) for name in ("done", "parked")},
}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A store with a task of each trip, all at rest, and the process that drove them."""
    shell = Shell(tmp_path_factory.mktemp("printed"))
    shutil.copy(APP, shell.folder / "app.py")
    trips = [{"id": name, "input": {"who": "ann"} | trip} for name, trip in TRIPS.items()]
    (shell.folder / "trips").write_text("\n".join(map(json.dumps, trips)))
    (shell.folder / "taken").write_text('{"id": "done", "input": {"who": "bob"}}')
    with shell.started("up", "app.py") as everybody:
        everybody.wait_for_talk(" up as ")
        shell.ok("submit", "app.py:book_trip", "--many", "trips", "--tag", "by=ann")
        for name in TRIPS:
            shell.run("watch", name)
        shell.ok("resolve", "settled", "reserve_car", "absent", "--why", "asked them")
        shell.run("watch", "settled")
        yield shell


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_is_of_its_schema(up: Shell, name: str) -> None:
    command, *words = COMMANDS[name]
    out = up.run(command, *words, "--json").out
    assert out
    for document in out.splitlines() if FORMS[command].by_line else [out]:
        assert faults(command, json.loads(document)) == []


def test_every_command_with_json_has_a_schema() -> None:
    told = {name for name, each in makegood.commands.items() if any("--json" in p.opts for p in each.params)}
    assert told == set(SCHEMAS) - {"alert"} == {words[0] for words in COMMANDS.values()}


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
