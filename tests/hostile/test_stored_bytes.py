"""A store's file that was damaged, row by row: the damaged task says so, and every other goes on.

More with MAKEGOOD_HOSTILE=N; a failure names the seed of its damage.
"""

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from makegood import Agent, Makegood, Refused, Retry, Unknown, plan, step
from makegood.cli.main import main
from makegood.cli.watch import _Changes as Changes
from makegood.errors import StoreError
from makegood.store.sqlite import MARK_MAX
from tests.hostile.scale import TIMES, mutated

shop = Agent("shop", timeout=2, settle=0.1, retry=Retry(attempts=1))


async def give_back(sold: str | None) -> None: ...


@shop.action(undo=give_back)
async def sell(what: str) -> str:
    return what


@shop.action(undo=give_back)
async def take_money(what: str) -> str:
    match what:
        case "refused":
            raise Refused("no")
        case "lost":
            raise Unknown("no answer")
    return what


@plan
def sale(what: str) -> str:
    return step(take_money, step(sell, what))


VICTIMS = {"completed": "pen", "undone": "refused", "parked": "lost"}


async def _fill(url: str) -> None:
    async with Makegood(url, agents=[shop]) as makegood:
        for name, what in VICTIMS.items():
            await (await makegood.submit(sale, what, task_id=name)).wait(10)
        await (await makegood.submit(sale, "pen", task_id="healthy")).wait(10)
    async with Makegood(url) as nobody_up:
        await nobody_up.submit(sale, "pen", task_id="new")
        await nobody_up.submit(sale, "pen", task_id="waiting")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "tasks.db"
    asyncio.run(_fill(f"sqlite:///{path}"))
    return path


class Place:
    """A copy of the file, one at a time."""

    def __init__(self, original: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._original = original
        self._capsys = capsys
        self.path = folder / "tasks.db"
        self.url = f"sqlite:///{self.path}"

    def renew(self) -> apsw.Connection:
        """Undamaged again; answers a connection to damage it with."""
        for end in ("", "-wal", "-shm"):
            Path(f"{self.path}{end}").unlink(missing_ok=True)
        shutil.copy(self._original, self.path)
        return apsw.Connection(str(self.path))

    def run(self, *arguments: str) -> tuple[int, str, str]:
        code = main(["--store", self.url, *arguments])
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        assert "itself failed" not in said.err, said.err
        return code, said.out, said.err

    async def goes_on(self) -> None:
        """An engine drives what was there and what is new."""
        async with Makegood(self.url, agents=[shop]) as makegood:
            assert await (await makegood.submit(sale, "ink", task_id="fresh")).result(10) == "ink"
            assert await makegood.task("waiting").result(10) == "pen"


@pytest.fixture
def place(original: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(original, tmp_path, capsys)


# --- what is damaged


NUMBERS = [0, -1, 1, 3, 5, 99, 2**31, 2**63 - 1, -(2**63), 253_402_300_800_000]
HEADS = [
    b"",
    b"\xc0",
    b"\x90",
    b"\x91\xc4\x00",
    b"\x91\xc4\x01\xff",
    b"\x81\x01\x02",
    b"\xdd\xff\xff\xff\xff",
]
ODD = [0, -1, 5, 99, 2**40, 2**70, "x", None, [], {}, "Moved", "Claimed", 1.5, True, "\0"]


def one(db: apsw.Connection, query: str, *values: Any) -> Any:
    return db.execute(query, values).fetchall()[0][0]


def damage_head(db: apsw.Connection, number: int, chance: Random) -> None:
    head = one(db, "SELECT head FROM tasks WHERE id = ?", number)
    made = chance.choice([mutated(head, chance), mutated(head, chance), chance.choice(HEADS)])
    db.execute("UPDATE tasks SET head = ? WHERE id = ?", (made, number))


def damage_row(db: apsw.Connection, number: int, chance: Random) -> None:
    rows = db.execute("SELECT version, body FROM history WHERE id = ?", (number,)).fetchall()
    version, body = chance.choice(list[Any](rows))
    made = chance.choice([mutated(body, chance), json.dumps(replaced(json.loads(body), chance)).encode()])
    db.execute("UPDATE history SET body = ? WHERE id = ? AND version = ?", (made, number, version))


def replaced(value: Any, chance: Random) -> Any:
    """JSON with a part of it, anywhere, replaced."""
    if not isinstance(value, list) or not value or chance.random() < 0.2:
        return chance.choice(ODD)
    at = chance.randrange(len(value))
    value[at] = replaced(value[at], chance)
    return value


def damage_number(db: apsw.Connection, number: int, chance: Random) -> None:
    column = chance.choice(["state", "version", "due", "created_at"])
    db.execute(f"UPDATE tasks SET {column} = ? WHERE id = ?", (chance.choice(NUMBERS), number))


def damage_name(db: apsw.Connection, number: int, chance: Random) -> None:
    column = chance.choice(["plan", "plan_version"])
    db.execute(f"UPDATE tasks SET {column} = ? WHERE id = ?", (chance.choice(["", "x\0", "0" * 64]), number))


def lose_rows(db: apsw.Connection, number: int, chance: Random) -> None:
    db.execute("DELETE FROM history WHERE id = ? AND version >= ?", (number, chance.choice([1, 2, 3])))


DAMAGE: list[Callable[[apsw.Connection, int, Random], None]] = [
    damage_head,
    damage_row,
    damage_number,
    damage_name,
    lose_rows,
]


def damaged(place: Place, seed: int) -> str:
    """A place with one task damaged and due; answers which."""
    chance = Random(seed)
    victim = chance.choice([*VICTIMS, "new"])
    with place.renew() as db:
        number = one(db, "SELECT id FROM tasks WHERE task_id = ?", victim)
        chance.choice(DAMAGE)(db, number, chance)
        if chance.random() < 0.5:
            db.execute("UPDATE tasks SET due = 0 WHERE id = ?", (number,))
    db.close()
    return victim


@pytest.mark.parametrize("seed", range(40 * TIMES))
def test_looking_at_a_damaged_task_says_so_and_at_others_shows_them(place: Place, seed: int) -> None:
    victim = damaged(place, seed)
    for command in ("show", "history", "why"):
        for more in ([], ["--json"]):
            code, out, err = place.run(command, victim, *more)
            assert (code, bool(out)) in ((0, True), (1, False)), (command, out, err)
            assert code == 0 or f"task {victim}" in err
            code, out, err = place.run(command, "healthy", *more)
            assert (code, err) == (0, ""), (command, err)
    assert place.run("cancel", victim)[0] in (0, 1)
    code, out, _ = place.run("list", "--json")
    assert code == 0
    assert len(json.loads(out)) == len(VICTIMS) + 3
    assert place.run("list")[0] == 0
    assert place.run("audit", "healthy")[0] == 0
    assert place.run("audit")[0] in (0, 1)


@pytest.mark.parametrize("seed", range(25 * TIMES))
def test_an_engine_drives_every_other_task(place: Place, seed: int) -> None:
    damaged(place, seed)
    asyncio.run(place.goes_on())


def test_the_way_out_is_named(place: Place) -> None:
    with place.renew() as db:
        db.execute("UPDATE tasks SET head = x'91c400' WHERE task_id = 'completed'")
    db.close()
    code, out, err = place.run("show", "completed")
    assert (code, out) == (1, "")
    assert "task completed: its record cannot be read here: it is damaged" in err
    assert "`makegood audit completed` says what in it does not hold" in err
    assert place.run("audit", "completed")[0] == 1


def test_watching_all_tasks_goes_on_beside_a_damaged_one(place: Place) -> None:
    def damage(query: str) -> None:
        with apsw.Connection(str(place.path)) as db:
            db.execute(query)
        db.close()

    async def watch() -> list[list[str]]:
        async with Makegood(place.url) as makegood:
            changes = Changes(makegood)
            seen = await changes.rows(await changes.look())
            damage("UPDATE tasks SET state = 1, head = x'' WHERE task_id = 'new'")
            assert await changes.look() == []
            return seen

    place.renew().close()
    damage("UPDATE history SET body = x'' WHERE id = (SELECT id FROM tasks WHERE task_id = 'new')")
    rows = {name: changed for changed, name, *_ in asyncio.run(watch())}
    assert rows["new"] == ""
    assert rows["waiting"]


# --- the clock, and who lives

CLOCKS = {
    "no row": ("DELETE FROM clock", "is not there"),
    "the largest number": (f"UPDATE clock SET at = {2**63 - 1}", f"says {2**63 - 1}, which is no time"),
    "the year 10000": ("UPDATE clock SET at = 253402300800000", "says 253402300800000, which is no time"),
}
COMMANDS = (["list"], ["show", "completed"], ["why", "new"], ["history", "new"], ["audit"], ["cancel", "new"])


@pytest.mark.parametrize("case", CLOCKS)
def test_a_damaged_clock_is_named_and_its_way_out_works(place: Place, case: str) -> None:
    query, said = CLOCKS[case]
    with place.renew() as db:
        db.execute(query)
    err = ""
    for command in COMMANDS:
        code, out, err = place.run(*command)
        assert (code, out) == (1, ""), (command, err)
        assert f"{place.path} is damaged: row 1 of its table clock {said}; restore a backup" in err
    with pytest.raises(StoreError, match="row 1 of its table clock"):
        asyncio.run(place.goes_on())

    _, _, way_out = err.rpartition(f"sqlite3 {place.path} ")
    with db:
        db.execute(way_out.strip().strip("'"))
    db.close()
    assert place.run("audit")[0] == 0
    asyncio.run(place.goes_on())


def test_a_clock_that_is_damaged_under_a_running_engine_is_named_and_can_be_mended(place: Place) -> None:
    async def scenario(db: apsw.Connection) -> None:
        async with Makegood(place.url, agents=[shop]) as makegood:
            db.execute("DELETE FROM clock")
            with pytest.raises(StoreError, match="row 1 of its table clock is not there"):
                await makegood.submit(sale, "pen", task_id="lost")
            db.execute("REPLACE INTO clock VALUES (1, 0)")
            assert await (await makegood.submit(sale, "pen", task_id="kept")).result(10) == "pen"

    db = place.renew()
    asyncio.run(scenario(db))
    db.close()


@pytest.mark.parametrize("at", [-(2**63), -1, MARK_MAX - 3_600_000])
def test_an_odd_clock_still_goes(place: Place, at: int) -> None:
    with place.renew() as db:
        db.execute("UPDATE clock SET at = ?", (at,))
    db.close()
    for command in COMMANDS:
        assert place.run(*command)[0] == 0, command


MEMBERS = [
    b"",
    b"{}",
    b"\xff",
    b"[" * 100_000,
    b'{"member_id":"m","roles":["agent"],"actions":{"a":5}}',
    b'{"member_id":"m","roles":[],"actions":{},"x":' + b"[" * 100_000,
]


@pytest.mark.parametrize("raw", MEMBERS)
def test_a_damaged_member_is_passed_over_and_named(
    place: Place, caplog: pytest.LogCaptureFixture, raw: bytes
) -> None:
    with place.renew() as db:
        db.execute("INSERT INTO members VALUES ('odd', ?, ?)", (2**62, raw))
    db.close()
    for command in (*COMMANDS, ["list", "--json"]):
        caplog.clear()
        assert place.run(*command)[0] == 0, command
        asks_who_lives = command[0] in ("why", "cancel") or command == ["list"]  # to say it where nobody does
        assert ("member 'odd' is passed over, its row is damaged" in caplog.text) == asks_who_lives, command
    asyncio.run(place.goes_on())


# --- the whole file


def cut(at: int) -> Callable[[bytes], bytes]:
    return lambda raw: raw[:at]


def blanked(page: int) -> Callable[[bytes], bytes]:
    return lambda raw: raw[: page * 4096] + bytes(4096) + raw[(page + 1) * 4096 :]


FILES: dict[str, Callable[[bytes], bytes]] = {
    "100 bytes of it": cut(100),
    "a page of it": cut(4096),
    "a page and a half": cut(6000),
    "half of it": lambda raw: raw[: len(raw) // 2],
    "a page blank": blanked(1),
    "another page blank": blanked(2),
    "compressed": lambda raw: b"\x1f\x8b" + raw,
    "text": lambda raw: b"hello\n" * 1000,
    "zeros": lambda raw: bytes(8192),
}


@pytest.mark.parametrize("case", FILES)
def test_a_damaged_file_is_named_with_the_way_out(place: Place, case: str) -> None:
    place.renew().close()
    place.path.write_bytes(FILES[case](place.path.read_bytes()))
    before = place.path.read_bytes()
    for command in (["list"], ["show", "completed"], ["audit"], ["cancel", "new"], ["history", "new"]):
        code, out, err = place.run(*command)
        assert (code, out) == (1, ""), (command, err)
        assert str(place.path) in err
        assert any(way in err for way in ("restore a backup", "name another one")), err
    assert place.path.read_bytes() == before

    async def engine() -> None:
        async with Makegood(place.url, agents=[shop]) as makegood:
            await makegood.task("completed").record()

    with pytest.raises(StoreError, match=str(place.path)):
        asyncio.run(engine())


def test_without_its_log_a_file_holds_what_was_in_it_before(place: Place) -> None:
    """The log is lost with what it held, and with nothing else."""
    place.renew().close()

    async def write() -> None:
        async with Makegood(place.url) as makegood:
            await makegood.submit(sale, "pen", task_id="in-the-log")
            shutil.copy(place.path, place.path.with_name("copy.db"))

    asyncio.run(write())
    place.renew().close()
    shutil.copy(place.path.with_name("copy.db"), place.path)
    code, _, err = place.run("show", "in-the-log")
    assert code == 1
    assert "no task 'in-the-log'" in err
    asyncio.run(place.goes_on())
    assert place.run("audit", "healthy", "fresh")[0] == 0
