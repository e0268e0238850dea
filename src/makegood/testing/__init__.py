"""For tests of your own: rehearse a plan, stage its services, break them where you like.

    from makegood.testing import FakeService, rehearse

`makegood.testing.conformance` is the suite that every store must pass.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"makegood.testing.rehearsal.{_HOMES.get(name, 'cases')}"), name)
