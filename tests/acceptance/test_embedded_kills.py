"""A program with the engine inside it is killed over and over, at any moment; the ledger knows best."""

import random
from time import sleep

from tests.acceptance.yard import Yard

KILLS = 12


def test_what_was_acknowledged_is_never_lost_nor_doubled(yard: Yard) -> None:
    chance, acknowledged = random.Random(17), list[str]()
    for _ in range(KILLS):
        program = yard.program("book_for_ever", len(acknowledged))
        acknowledged += [program.line() for _ in range(chance.randint(1, 30))]
        sleep(chance.uniform(0, 0.1))
        acknowledged += program.kill().split()
    yard.engine("tests.acceptance.trips")
    states = yard.all_at_rest(len(set(yard.states()) | set(acknowledged)))
    assert set(acknowledged) <= set(states)
    assert set(states.values()) == {"Completed", "Compensated"}
    assert yard.ledger.wrong(states, steps=2) == []
