"""A plan document that is not the one its tasks are pinned to harms only those, and says the way out."""

import asyncio
import json

import pytest

from makegood import Makegood, plan, step
from makegood.errors import StoreError
from tests.audit import shop
from tests.audit.conftest import Place
from tests.cli.terminal import Shell

DAMAGE = "UPDATE plans SET document = CAST(replace(document, 'give_back', 'give_away') AS BLOB)"


@plan
def write_letter(receipt: str) -> None:
    step(shop.send_letter, receipt)


def test_its_tasks_are_not_driven_and_all_others_are(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        async with Makegood(place.url, agents=shop.AGENTS) as mg:
            await (await mg.submit(write_letter, "thanks", task_id="letter")).result(30)
            await asyncio.sleep(2.5)
            await mg.task("new").record()

    place.sql(DAMAGE)
    with pytest.raises(
        StoreError, match=r"task new cannot be read here: the document of plan .* was changed"
    ):
        asyncio.run(run())
    assert caplog.text.count("task new cannot be driven here: the document of plan") == 1
    assert place.audit("letter").clean
    assert not place.audit("new").clean


def test_the_way_out_that_is_named_leads_out(place: Place) -> None:
    place.sql(DAMAGE)
    shell = Shell(place.folder)
    said = shell.run("show", "completed")
    assert said.code == 1
    assert "remove it from the store's plans and submit the same plan once more" in said.err
    assert len(json.loads(shell.ok("list", "--json"))) == 8
    place.sql("DELETE FROM plans")
    shell.ok("submit", "shop.py:take_order", '{"item": "pen"}', "--id", "once-more")
    assert "Completed" in shell.ok("show", "completed")
    assert place.audit().clean
