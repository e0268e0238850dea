"""For tests of your own: rehearse a plan, stage its services, break them where you like.

    from makegood.testing import FakeService, rehearse

`makegood.testing.conformance` is the suite that every store must pass.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from makegood.http import HOMES as HTTP_CLIENTS

if TYPE_CHECKING:
    from makegood.testing.rehearsal.cases import (
        Strike,
        crash_after,
        crash_before,
        happens_late,
        lost_answer,
        lost_request,
    )
    from makegood.testing.rehearsal.fakes import FakeService
    from makegood.testing.rehearsal.ledgers import Booking, Ledger, NothingThere
    from makegood.testing.rehearsal.over_http import HttpAnswer
    from makegood.testing.rehearsal.over_httpx import HttpxTransport
    from makegood.testing.rehearsal.over_requests import RequestsAdapter
    from makegood.testing.rehearsal.performance import Performance, assert_settled
    from makegood.testing.rehearsal.rehearse import rehearse
    from makegood.testing.rehearsal.report import Report
    from makegood.testing.rehearsal.stage import Rehearsal

__all__ = [
    "Booking",
    "FakeService",
    "HttpAnswer",
    "HttpxTransport",
    "Ledger",
    "NothingThere",
    "Performance",
    "Rehearsal",
    "Report",
    "RequestsAdapter",
    "Strike",
    "assert_settled",
    "crash_after",
    "crash_before",
    "happens_late",
    "lost_answer",
    "lost_request",
    "rehearse",
]

_HOMES = {
    "Booking": "ledgers",
    "FakeService": "fakes",
    "HttpAnswer": "over_http",
    "HttpxTransport": "over_httpx",
    "Ledger": "ledgers",
    "NothingThere": "ledgers",
    "Performance": "performance",
    "Rehearsal": "stage",
    "Report": "report",
    "RequestsAdapter": "over_requests",
    "assert_settled": "performance",
    "rehearse": "rehearse",
}
"""Where each name lives, if not in `cases`: nobody pays for what is not asked for."""


_NEEDS = {
    "HttpxTransport": ("httpx", HTTP_CLIENTS["AsyncClient"][1]),
    "RequestsAdapter": ("requests", HTTP_CLIENTS["Session"][1]),
}
"""Names for which a library must be there that may be missing: which, and how to get it."""

if not TYPE_CHECKING:  # to a type checker all of them are there; `import *` gives those that are
    __all__ = [name for name in __all__ if name not in _NEEDS or find_spec(_NEEDS[name][0])]


def __getattr__(name: str) -> Any:
    """Import the home of a name that is asked for. Raises ImportError where its library is not installed."""
    if name not in __all__ and name not in _NEEDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"makegood.testing.rehearsal.{_HOMES.get(name, 'cases')}"), name)
    except ModuleNotFoundError as error:
        if name not in _NEEDS:
            raise
        way = _NEEDS[name][1]
        raise ImportError(f"makegood.testing.{name} needs {error.name}, which is missing: {way}") from error
