"""A codec makes other bytes of what is stored; whoever lacks it is told so, and nothing else changes."""

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet

from makegood import Compensated, Makegood, MakegoodError
from makegood.errors import PayloadError, SubmissionConflict
from makegood.payload import PAYLOAD_MAX, Envelope
from tests.cli.terminal import Shell
from tests.payload import codecs
from tests.payload.codecs import LONG, Compressed, Encrypted, Order, bank, buy, doubt, encrypted, shop

APP = str(Path(codecs.__file__))
WORD = "teapot"
"""Stands in every payload and error of these tests, and must stand nowhere in the store."""


def stored(folder: Path) -> bytes:
    """All that the store holds of the tasks."""
    with sqlite3.connect(folder / "t.db") as db:
        rows = (
            db.execute("SELECT body FROM history").fetchall()
            + db.execute("SELECT head FROM tasks").fetchall()
        )
    return b"\n".join(bytes(row[0]) for row in rows)


def url(folder: Path) -> str:
    return f"sqlite:///{folder}/t.db"


def test_of_many_inputs_none_is_entered_where_one_gets_too_large(tmp_path: Path) -> None:
    async def main() -> None:
        async with Makegood(url(tmp_path), codec=Compressed()) as mg:
            with pytest.raises(PayloadError, match="bytes as codec 'zlib' writes it"):
                await mg.submit_many(buy, [Order("a"), Order(os.urandom(PAYLOAD_MAX).hex())])
            assert not await mg.find()

    asyncio.run(main())


def test_nothing_of_it_is_stored_in_clear_and_all_of_it_is_shown(tmp_path: Path) -> None:
    async def main() -> list[Any]:
        async with Makegood(url(tmp_path), agents=[shop], codec=encrypted) as mg:
            done = await mg.submit(buy, Order(WORD), task_id="done")
            assert await done.result(20) == f"paid taken {WORD}"
            refused = await mg.submit(buy, Order(WORD, 2), task_id="refused")
            with pytest.raises(Compensated, match=f"refused: {LONG[:40]}"):
                await refused.result(20)
            report = await mg.audit()
            assert report.clean
            return [await done.record(), await refused.record(), await refused.history()]

    codecs.undone.clear()
    done, refused, history = asyncio.run(main())
    assert codecs.undone == [(f"taken {WORD}", Order(WORD, 2))]
    assert done["input"] == {"item": WORD, "count": 1}
    assert [step["result"] for step in done["steps"]] == [f"taken {WORD}", f"paid taken {WORD}"]
    assert refused["steps"][1]["error"] == f"{LONG}{WORD}"
    assert any(fact.get("error") == f"{LONG}{WORD}" for fact in history)
    assert WORD.encode() not in stored(tmp_path)
    assert LONG[:20].encode() not in stored(tmp_path)

    shell, told = Shell(tmp_path), f'{{"item":"{WORD}","count":1}}'
    as_json = ["--store", url(tmp_path)]
    assert told in shell.run("show", "done", *as_json, MAKEGOOD_CODEC=f"{APP}:encrypted").out
    assert told in shell.run("history", "done", *as_json, MAKEGOOD_CODEC=f"{APP}:encrypted").out


def test_who_lacks_the_codec_is_told_which(tmp_path: Path) -> None:
    async def main() -> None:
        async with Makegood(url(tmp_path), agents=[shop], codec=encrypted) as mg:
            await (await mg.submit(buy, Order(WORD), task_id="done")).result(20)
            await (await mg.submit(buy, Order(WORD, 2), task_id="refused")).wait(20)
        async with Makegood(url(tmp_path)) as mg:
            with pytest.raises(PayloadError, match="the input is stored by codec 'fernet', which"):
                await mg.task("done").result(20)
            assert (await mg.audit()).clean
        async with Makegood(url(tmp_path), codec=Encrypted(Fernet.generate_key())) as mg:
            with pytest.raises(
                PayloadError,
                match=r"the input is stored, and codec 'fernet' cannot open it: InvalidToken; .*=APP:NAME",
            ):
                await mg.task("done").result(20)
        async with Makegood(url(tmp_path), codec=Compressed()) as mg:
            with pytest.raises(
                PayloadError, match=r"'fernet', and this process was given 'zlib'; give .* MAKEGOOD_CODEC="
            ):
                await mg.task("done").result(20)

    asyncio.run(main())
    shell = Shell(tmp_path)
    for command in ("show", "history", "why", "audit"):
        for more in ([], ["--json"]):
            said = shell.ok(command, "refused", *more, "--store", url(tmp_path))
            assert "{makegood" not in said
            assert "gAAAA" not in said
            assert "by codec 'fernet', which this process was not given; give the one" in " ".join(
                said.split()
            )
    wrong = shell.run("show", "done", "--store", url(tmp_path), MAKEGOOD_CODEC="nowhere.py:codec")
    assert wrong.code == 2
    wrong = shell.run("show", "done", "--store", url(tmp_path), MAKEGOOD_CODEC=f"{APP}:nothing")
    assert (wrong.code, "there is no such codec; write APP:NAME" in wrong.err) == (2, True)


def test_the_same_submission_is_known_by_what_it_says(tmp_path: Path) -> None:
    async def main() -> None:
        async with Makegood(url(tmp_path), agents=[shop], codec=encrypted) as mg:
            await mg.submit(buy, Order(WORD), task_id="t")
            await mg.submit(buy, Order(WORD), task_id="t")
            with pytest.raises(SubmissionConflict, match=r"differs at input\.count") as conflict:
                await mg.submit(buy, Order(WORD, 3), task_id="t")
            assert WORD not in str(conflict.value)

    asyncio.run(main())


def test_a_task_waits_for_an_agent_that_has_the_codec(tmp_path: Path) -> None:
    async def main() -> str:
        async with Makegood(url(tmp_path), codec=encrypted) as mg:
            await mg.submit(buy, Order(WORD), task_id="t")
        async with Makegood(url(tmp_path), agents=[shop]) as mg:
            async with asyncio.timeout(10):
                while "handed" not in (said := await mg.task("t").why()):
                    await asyncio.sleep(0.01)
        async with Makegood(url(tmp_path), agents=[shop], codec=encrypted) as mg:
            await mg.task("t").retry()
            assert await mg.task("t").result(20) == f"paid taken {WORD}"
        return said

    assert "the input is stored by codec 'fernet', which this process was not given" in asyncio.run(main())


def test_tasks_from_before_the_codec_go_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with Makegood(url(tmp_path)) as mg:
            await mg.submit(buy, Order(WORD), task_id="t")
        async with Makegood(url(tmp_path), agents=[shop], codec=encrypted) as mg:
            assert await mg.task("t").result(20) == f"paid taken {WORD}"
            await mg.submit(buy, Order(WORD), task_id="t")

    asyncio.run(main())
    assert f"paid taken {WORD}".encode() not in stored(tmp_path)


def test_what_a_person_says_is_closed_too_and_a_parked_task_tells_its_error(tmp_path: Path) -> None:
    async def main() -> tuple[str, list[Any]]:
        async with Makegood(url(tmp_path), agents=[bank], codec=encrypted) as mg:
            task = await mg.submit(doubt, Order(WORD), task_id="t")
            assert await task.wait(20) == "Failed"
            said, listed = await task.why(), list((await mg.list()).tasks)
            await task.resolve("ask", "done", b'"a %s"' % WORD.encode(), by="ann")
            assert await task.result(20) == f"a {WORD}"
            return said, listed

    said, [listed] = asyncio.run(main())
    assert f"RuntimeError: {WORD} is lost" in said
    assert f"RuntimeError: {WORD} is lost" in listed["reason"]
    assert WORD.encode() not in stored(tmp_path)


# --- how much


def test_what_is_stored_is_measured(tmp_path: Path) -> None:
    async def main() -> None:
        async with Makegood("memory:", agents=[shop], codec=Compressed()) as mg:
            task = await mg.submit(buy, Order("long " * 600_000))
            assert len(await task.result(20)) > 2 * PAYLOAD_MAX
            noise = os.urandom(PAYLOAD_MAX).hex()
            with pytest.raises(PayloadError, match=r"^input takes [0-9,]+ bytes as codec 'zlib'"):
                await mg.submit(buy, Order(noise))
            with pytest.raises(PayloadError, match=r"^input takes 16,"):
                await mg.submit(buy, Order("x" * 16 * PAYLOAD_MAX))

    asyncio.run(main())


# --- codecs that are none


class Odd:
    """A codec that goes wrong in its own way."""

    name = "odd"

    def __init__(self, decoded: bytes | None = None) -> None:
        self._decoded = decoded

    def encode(self, clear: bytes) -> bytes:
        if b"fail" in clear:
            raise RuntimeError("no key")
        return b"\x00" + clear

    def decode(self, stored: bytes) -> bytes:
        return stored[1:] if self._decoded is None else self._decoded


def test_a_codec_that_fails_says_so_and_nothing_is_stored() -> None:
    wordy = Odd(b"")
    wordy.encode = lambda clear: clear.decode()  # type: ignore[method-assign, assignment, return-value]
    for codec, why in (
        (Odd(b"other"), "^input: codec 'odd' cannot read back what it has written"),
        (Odd(), "^input: codec 'odd' failed: RuntimeError: no key"),
        (wordy, "^input: codec 'odd' failed: TypeError: its encode gave str; it must give bytes"),
    ):
        with pytest.raises(PayloadError, match=why):
            Envelope(codec).close(b'"fail"' if codec._decoded is None else b"1", "input")
    nameless: Any = object()
    for wrong in (nameless, type("Bad", (Odd,), {"name": "a b"})()):
        with pytest.raises(MakegoodError, match="has no name that matches"):
            Makegood("memory:", codec=wrong)


def test_a_result_that_its_codec_fails_on_is_not_called_again(tmp_path: Path) -> None:
    async def main() -> dict[str, Any]:
        async with Makegood("memory:", agents=[shop], codec=Odd()) as mg:
            task = await mg.submit(buy, Order("fai"))
            await task.result(20)
            again = await mg.submit(buy, Order("fail"[::-1]))  # "liaf": taken all right
            assert await again.wait(20) == "Completed"
            return await task.record()

    assert asyncio.run(main())["state"] == "Completed"


def test_an_error_that_its_codec_fails_on_is_told_as_such() -> None:
    assert Envelope(Odd()).close_text("fail: secret-word", 200) == "an error that codec 'odd' failed on"


def test_clear_text_is_never_taken_for_what_a_codec_wrote() -> None:
    closed = Envelope(encrypted).close(b'"x"', "input")
    with pytest.raises(PayloadError, match="looks like something that a codec has written"):
        Envelope().close(closed, "input")
    twice = Envelope(encrypted)
    assert twice.open(twice.close(closed, "input"), "input") == closed


@pytest.mark.parametrize("length", [0, 1, 50, 199, 200, 201, 5_000])
@pytest.mark.parametrize("codec", [None, encrypted, Compressed(), Odd()])
def test_a_text_that_is_cut_off_keeps_its_beginning(codec: Any, length: int) -> None:
    envelope, text = Envelope(codec), "".join(chr(97 + n % 26) for n in range(length))
    closed = envelope.close_text(text, 200)
    assert envelope.open_text(f"refused: {closed}; so it is") == f"refused: {text}; so it is"
    cut = envelope.open_text(closed[:200])
    assert cut.removesuffix("...") == text[: len(cut.removesuffix("..."))]
    assert len(cut) >= min(length, 40)
