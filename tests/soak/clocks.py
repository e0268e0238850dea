"""Wall clocks that are wrong or jump, process by process, by libfaketime; monotonic clocks are left alone."""

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.tools import faketime_preload

RIGHT, AHEAD, BEHIND = "+0", "+3650d", "-3650d"
JUMPS = (RIGHT, AHEAD, BEHIND, "+1h", "-1h", "+1d", "-1d", "+90s", "-90s")


@dataclass(frozen=True)
class WrongClock:
    """The wall clock of one process, set by a file."""

    path: Path

    @property
    def given(self) -> Mapping[str, str]:
        """What a process must be given in its environment to live by it."""
        return {
            "LD_PRELOAD": faketime_preload(),
            "FAKETIME_TIMESTAMP_FILE": str(self.path),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_NO_CACHE": "1",
        }

    def set(self, ahead: str) -> None:
        """Set it so far ahead of the right time, or behind it; whoever lives by it notices at once."""
        new = self.path.with_suffix(".new")
        new.write_text(ahead)
        os.replace(new, self.path)

    def jump(self, chance: random.Random) -> None:
        self.set(chance.choice(JUMPS))


AHEADS = {
    "ten years ahead": (AHEAD, RIGHT, RIGHT),
    "ten years behind": (BEHIND, RIGHT, RIGHT),
    "both ways": (AHEAD, BEHIND, RIGHT),
    "jumping": ("", "", RIGHT),
}
"""For each run: how far ahead the clocks of its two engines and of its client are; "": it jumps."""
