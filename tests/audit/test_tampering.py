"""Whatever somebody does to the file behind makegood's back shows, and names the task and what differs."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from makegood import Makegood
from makegood.auditing import End
from makegood.core.events import begin, chain
from makegood.core.record import Head, TaskState, decode_head, encode_head
from makegood.errors import PayloadError
from tests.audit import shop
from tests.audit.conftest import ENDS, Place
from tests.cli.terminal import Shell

Tampering = Callable[[Place], object]


def rows(place: Place, task_id: str) -> list[tuple[int, bytes]]:
    query = "SELECT version, body FROM history WHERE id = ? ORDER BY version"
    return [(version, bytes(body)) for version, body in place.sql(query, place.number(task_id))]


def head(place: Place, task_id: str) -> Head:
    [(raw,)] = place.sql("SELECT head FROM tasks WHERE task_id = ?", task_id)
    return decode_head(raw)


def save_head(place: Place, task_id: str, changed: Head) -> None:
    place.sql("UPDATE tasks SET head = ? WHERE task_id = ?", encode_head(changed), task_id)


def save_row(place: Place, task_id: str, version: int, body: bytes) -> None:
    place.sql(
        "UPDATE history SET body = ? WHERE id = ? AND version = ?", body, place.number(task_id), version
    )


# --- one thing changed


def a_result(place: Place) -> None:
    version, body = next((v, b) for v, b in rows(place, "completed") if b'"completed_' in b)
    save_row(place, "completed", version, body.replace(b'"completed_', b'"complexed_'))


def a_moment(place: Place) -> None:
    version, body = rows(place, "completed")[1]
    row = json.loads(body)
    save_row(place, "completed", version, json.dumps([row[0] + 1, *row[1:]], separators=(",", ":")).encode())


def white_space(place: Place) -> None:
    version, body = rows(place, "completed")[1]
    save_row(place, "completed", version, body + b" ")


def garbage(place: Place) -> None:
    save_row(place, "completed", 2, b"\xff\x00")


def another_step(place: Place) -> None:
    version, body = next((v, b) for v, b in rows(place, "completed") if b'["Claimed",1' in b)
    save_row(place, "completed", version, body.replace(b'["Claimed",1', b'["Claimed",77'))


def a_row_removed(place: Place) -> None:
    place.sql("DELETE FROM history WHERE id = ? AND version = 2", place.number("completed"))


def all_rows_removed(place: Place) -> None:
    place.sql("DELETE FROM history WHERE id = ?", place.number("completed"))


def a_row_added(place: Place) -> None:
    version, body = rows(place, "completed")[-1]
    number = place.number("completed")
    place.sql(
        "INSERT INTO history (id, version, write_id, body) VALUES (?, ?, 1, ?)", number, version + 1, body
    )


def a_row_added_before_the_first(place: Place) -> None:
    number = place.number("completed")
    place.sql(
        "INSERT INTO history SELECT id, 0, write_id, body FROM history WHERE id = ? AND version = 1", number
    )


def every_version_lowered(place: Place) -> None:
    number = place.number("completed")
    place.sql("UPDATE history SET version = version - 9 WHERE id = ?", number)
    place.sql("UPDATE tasks SET version = version - 9 WHERE id = ?", number)


def no_version_and_no_rows(place: Place) -> None:
    all_rows_removed(place)
    place.sql("UPDATE tasks SET version = 0 WHERE task_id = 'completed'")


def the_last_row_and_version_removed(place: Place) -> None:
    version, _ = rows(place, "completed")[-1]
    place.sql("DELETE FROM history WHERE id = ? AND version = ?", place.number("completed"), version)
    place.sql("UPDATE tasks SET version = version - 1 WHERE task_id = 'completed'")


def two_rows_exchanged(place: Place) -> None:
    (_, one), (_, other) = rows(place, "completed")[1:3]
    save_row(place, "completed", 2, other)
    save_row(place, "completed", 3, one)


def the_head_s_state(place: Place) -> None:
    changed = head(place, "completed")
    changed.marks[1] = 0
    save_head(place, "completed", changed)


def the_head_s_digest(place: Place) -> None:
    changed = head(place, "completed")
    changed.digest = bytes(32)
    save_head(place, "completed", changed)


def the_head_s_write_id(place: Place) -> None:
    changed = head(place, "completed")
    changed.write_id += 1
    save_head(place, "completed", changed)


def no_head(place: Place) -> None:
    place.sql("UPDATE tasks SET head = x'00' WHERE task_id = 'completed'")


def a_column(name: str, value: Any, task_id: str = "completed") -> Tampering:
    return lambda place: place.sql(f"UPDATE tasks SET {name} = ? WHERE task_id = ?", value, task_id)


def rewritten(task_id: str, old: bytes, new: bytes) -> Tampering:
    """Rows changed, and the digest in the head put right."""

    def tamper(place: Place) -> None:
        changed, digest = head(place, task_id), begin(task_id, place.plan_version(task_id))
        for version, body in rows(place, task_id):
            body = body.replace(old, new)
            save_row(place, task_id, version, body)
            digest = chain(digest, body)
        assert digest != changed.digest, "nothing was changed"
        changed.digest = digest
        save_head(place, task_id, changed)

    return tamper


CHANGES: dict[str, tuple[Tampering, str]] = {
    "a result in a row": (a_result, "the digest over its rows"),
    "the moment of a row": (a_moment, "the digest over its rows"),
    "the white space of a row": (white_space, "row 2 is not what the core decided: its bytes are not"),
    "garbage for a row": (garbage, "row 2 is not what the core decided: DecodeError"),
    "a step that there is not": (another_step, "is not what the core decided: "),
    "a row removed": (a_row_removed, "row 2 of "),
    "all rows removed": (all_rows_removed, "rows 1 to 5 of 5 are missing"),
    "an absurd version": (a_column("version", 2**60), f"rows 6 to {2**60} of {2**60} are missing"),
    "a row added before the first": (a_row_added_before_the_first, "row 0 was added: a history begins with"),
    "every version lowered": (every_version_lowered, "its head is damaged: it is of version -4"),
    "no version and no rows": (no_version_and_no_rows, "its head is damaged: it is of version 0"),
    "a row added": (a_row_added, " was added: the head is of version "),
    "the end removed": (the_last_row_and_version_removed, "the digest over its rows"),
    "two rows exchanged": (two_rows_exchanged, "row 2 is not what the core decided: "),
    "a step's mark in the head": (the_head_s_state, "what its history makes of it: marks is "),
    "the digest in the head": (the_head_s_digest, "the digest over its rows"),
    "the write id in the head": (the_head_s_write_id, "its history makes of it: write_id is "),
    "an unreadable head": (no_head, "its head cannot be read"),
    "the state": (a_column("state", 3), "it is listed in state 3, but its head says Completed"),
    "a state that is none": (a_column("state", 9), "it is listed in state 9"),
    "the moment of creation": (a_column("created_at", 5), "listed as created at"),
    "the plan's name": (a_column("plan", "other"), "listed under plan 'other'"),
    "the plan": (a_column("plan_version", "0" * 64), "the store has no plan 000000000000"),
    "a due moment put off": (a_column("due", 2**50, "new"), "its due moment was put off or taken away"),
    "a due moment taken away": (a_column("due", None, "new"), "its due moment was put off or taken away"),
    "rows and their digest": (rewritten("completed", b'"done"', b'"refused"'), "not what the core decided"),
}  # fmt: skip


@pytest.mark.parametrize(("tamper", "what"), CHANGES.values(), ids=CHANGES)
def test_a_change_shows_at_its_task_and_at_no_other(place: Place, tamper: Tampering, what: str) -> None:
    tamper(place)
    report = place.audit()
    assert {finding.kind for finding in report.findings} == {"record"}
    [task_id] = {finding.task_id for finding in report.findings}
    assert task_id == ("new" if "due moment" in what else "completed")
    assert any(what in finding.what for finding in report.findings), report.findings
    assert report.audited == len(ENDS)


def test_the_command_exits_1_and_says_what_differs(place: Place) -> None:
    a_row_removed(place)
    said = place.run()
    assert said.code == 1
    assert "record  completed        row 2 of 5 is missing" in said.out
    assert said.out.endswith("half done: 0\nother findings: 1\n")
    [finding] = place.json()[1]["findings"]
    assert finding == {
        "kind": "record", "taskId": "completed", "version": 2, "what": "row 2 of 5 is missing"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("task_id", "state", "steps"),
    [
        ("new", TaskState.COMPLETED, ["reserve", "charge", "send_letter"]),
        ("stuck", TaskState.COMPENSATED, ["reserve"]),
        ("doubt", TaskState.COMPENSATED, ["reserve", "charge"]),
        ("left", TaskState.COMPENSATED, ["reserve"]),
    ],
)
def test_an_end_that_its_effects_do_not_allow_is_half_done(
    place: Place, task_id: str, state: TaskState, steps: list[str]
) -> None:
    changed = head(place, task_id)
    changed.state = state
    save_head(place, task_id, changed)
    report = place.audit()
    assert [finding.step for finding in report.findings if finding.kind == "halfDone"] == steps
    assert report.half_done == len(steps)
    assert f"the task is {state.name.capitalize()}, but this effect is" in report.findings[-1].what


# --- the plan document


@pytest.mark.parametrize(
    ("query", "what"),
    [
        (
            "UPDATE plans SET document = CAST(replace(document, 'give_back', 'give_away') AS BLOB)",
            "changed or damaged",
        ),
        ("UPDATE plans SET document = x'00'", "changed or damaged"),
        ("DELETE FROM plans", "the store has no plan"),
    ],
)
def test_a_changed_plan_is_found_at_every_task_pinned_to_it(place: Place, query: str, what: str) -> None:
    place.sql(query)
    report = place.audit()
    assert {finding.task_id for finding in report.findings} == set(ENDS)
    assert all(what in finding.what for finding in report.findings)
    assert report.ends[End.UNREADABLE] == len(ENDS)


# --- two tasks


def exchange(place: Place, one: str, other: str, what: str) -> None:
    first, second = place.number(one), place.number(other)
    if what == "history":
        for old, new in ((first, -1), (second, first), (-1, second)):
            place.sql("PRAGMA foreign_keys = OFF")
            place.sql("UPDATE history SET id = ? WHERE id = ?", new, old)
        return
    [(version, raw)] = place.sql("SELECT version, head FROM tasks WHERE id = ?", first)
    place.sql(
        "UPDATE tasks SET (version, head) = (SELECT version, head FROM tasks WHERE id = ?) WHERE id = ?",
        second,
        first,
    )
    place.sql("UPDATE tasks SET version = ?, head = ? WHERE id = ?", version, raw, second)


def test_the_rows_of_two_tasks_exchanged(place: Place) -> None:
    exchange(place, "left", "stuck", "history")
    assert {finding.task_id for finding in place.audit().findings} == {"left", "stuck"}


def test_two_tasks_exchanged_with_their_heads_show_by_their_keys(place: Place) -> None:
    exchange(place, "completed", "skipped", "history")
    exchange(place, "completed", "skipped", "head")
    found = place.audit().findings
    assert {finding.task_id for finding in found} == {"completed", "skipped"}
    assert any("other facts follow from its events" in finding.what for finding in found)


def test_tasks_without_calls_renamed_and_exchanged_show_by_their_digests(place: Place) -> None:
    async def submit() -> None:
        async with Makegood(place.url) as mg:
            await mg.submit(shop.take_order, shop.Order("cup"), task_id="newer")

    asyncio.run(submit())
    for old, new, found in (
        ("new", "other", {"other"}),
        ("newer", "new", {"other", "new"}),
        ("other", "newer", {"newer", "new"}),
    ):
        place.sql("UPDATE tasks SET task_id = ? WHERE task_id = ?", new, old)
        assert {finding.task_id for finding in place.audit().findings} == found


# --- seals


CONSISTENTLY = rewritten("accepted", b"a gift", b"a loan")
"""What no record can show by itself: another reason for what a person ordered."""


def sealed(place: Place) -> Path:
    seal = place.folder / "seal.jsonl"
    said = place.run("--seal", "seal.jsonl")
    assert said.code == 0
    assert f"sealed in seal.jsonl: the histories of {len(ENDS)} tasks; keep it where" in said.err
    assert "check later: makegood audit --against seal.jsonl" in said.err
    return seal


def test_a_seal_shows_what_was_rewritten_consistently(place: Place) -> None:
    seal = sealed(place)
    CONSISTENTLY(place)
    assert place.run().code == 0
    said = place.run("--against", "seal.jsonl")
    assert said.code == 1
    assert "its history up to version" in said.out
    [finding] = place.audit(against=seal).findings
    assert (finding.kind, finding.task_id) == ("seal", "accepted")


def test_a_seal_shows_what_was_removed(place: Place) -> None:
    seal = sealed(place)
    place.sql("DELETE FROM history WHERE id = ?", place.number("left"))
    place.sql("DELETE FROM tasks WHERE task_id = 'left'")
    assert place.audit().clean
    [finding] = place.audit(against=seal).findings
    assert (finding.task_id, "is not in the store any more" in finding.what) == ("left", True)


def test_another_plan_shows_though_the_history_fits_it(place: Place) -> None:
    [(document,)] = place.sql("SELECT document FROM plans")
    other = bytes(document).replace(b'"give_back"', b'"give_away"')
    version = hashlib.sha256(other).hexdigest()
    place.sql("INSERT INTO plans VALUES (?, 'take_order', ?)", version, other)
    place.sql("UPDATE tasks SET plan_version = ? WHERE task_id = 'refused'", version)
    found = place.audit().findings
    assert {finding.task_id for finding in found} == {"refused"}
    assert any("the digest over its rows" in finding.what for finding in found)


def test_a_history_that_went_on_still_has_its_seal(place: Place) -> None:
    seal = sealed(place)
    assert len(seal.read_bytes().splitlines()) == len(ENDS) + 1
    Shell(place.folder).ok("cancel", "new")
    assert place.audit(against=seal).clean
    assert place.run("--against", "seal.jsonl").err == "all that seal.jsonl sealed is still there\n"


def test_what_does_not_hold_together_is_not_sealed(place: Place) -> None:
    a_row_removed(place)
    said = place.run("--seal", "seal.jsonl")
    assert f"the histories of {len(ENDS) - 1} tasks, not of 1 that do not hold; keep" in said.err
    *lines, _ = (place.folder / "seal.jsonl").read_text().splitlines()
    assert {json.loads(line)["taskId"] for line in lines} == set(ENDS) - {"completed"}


def test_a_seal_is_never_written_over(place: Place) -> None:
    before = sealed(place).read_bytes()
    said = place.run("--seal", "seal.jsonl")
    assert said.code == 1
    assert "name a new file" in said.err
    assert (place.folder / "seal.jsonl").read_bytes() == before


def cut(seal: bytes, lines: int) -> bytes:
    return b"".join(seal.splitlines(keepends=True)[:lines])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda seal: b"", "is no whole seal"),
        (lambda seal: cut(seal, 3), "is no whole seal"),
        (lambda seal: cut(seal, len(ENDS)), "is no whole seal"),
        (lambda seal: seal[:-9], f"line {len(ENDS) + 1}: Input data was truncated"),
        (lambda seal: seal.replace(b'"new"', b'"now"'), "is no whole seal"),
        (lambda seal: seal + cut(seal, 1), "is no whole seal"),
    ],
    ids=["empty", "cut", "cut before its end", "cut in a line", "changed", "added to"],
)
def test_a_seal_that_is_not_whole_proves_nothing(
    place: Place, damage: Callable[[bytes], bytes], words: str
) -> None:
    seal = place.folder / "seal.jsonl"
    place.audit(seal=seal)
    seal.write_bytes(damage(seal.read_bytes()))
    with pytest.raises(PayloadError, match=words):
        place.audit(against=seal)


def test_a_file_that_is_no_seal_is_malformed(place: Place) -> None:
    (place.folder / "seal.jsonl").write_text('{"taskId": "completed"}\n')
    said = place.run("--against", "seal.jsonl")
    assert (said.code, said.out) == (2, "")
    assert "seal.jsonl, line 1" in said.err
    assert place.run("--against", "nowhere.jsonl").code == 1
