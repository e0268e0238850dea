"""How much is tried: little with every `make test`, N times as much with MAKEGOOD_HOSTILE=N set.

A run without it is always the same. With it hypothesis tries something new each time, and the damaged stores
are those of more seeds.
"""

import os
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

TIMES = int(os.environ.get("MAKEGOOD_HOSTILE", "1"))

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**63, -(2**63) - 1, 2**64, 2**70, 10**400])
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(["$ref", "$lit", "path"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
"""Any JSON, with what programs stumble over well represented."""


def examples(count: int) -> settings:
    """Hypothesis's settings for a test of this many examples."""
    return settings(
        max_examples=count * TIMES,
        deadline=None,
        derandomize=TIMES == 1,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


def mutated(raw: bytes, chance: Random) -> bytes:
    """Bytes with a few of them flipped, replaced, left out or doubled."""
    made = bytearray(raw)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(4):
            case 0:
                made[at : at + 1] = chance.randbytes(1)
            case 1:
                del made[at : at + chance.randrange(1, 6)]
            case 2:
                made[at:at] = chance.randbytes(chance.randrange(1, 5))
            case _:
                del made[at:]
    return bytes(made)


def nested(depth: int, innermost: Any = 1) -> Any:
    """Lists in lists."""
    for _ in range(depth):
        innermost = [innermost]
    return innermost
