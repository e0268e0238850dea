"""The audit on a schedule: what is newly found is said in the log."""

import logging
from collections.abc import Iterable

from makegood.agenda import every
from makegood.auditing.audit import Audit
from makegood.auditing.comparing import Listed
from makegood.errors import MakegoodError
from makegood.reading.audit import Finding
from makegood.reading.words import counted

log = logging.getLogger("makegood.audit")

TOLD_MAX = 10
"""Of one listing, how many new findings a round tells one by one."""
SHARED = (
    "most of what it holds is of no task of this store, so another store may use this service; let each list "
    "its own, by a key prefix: Agent(..., key=KeyForm(prefix=...))"
)


class Rounds:
    """Audits every so many seconds, at once to begin with; each finding is a warning when it is new.

    Where a listing shows many at once, the first are told, and how many more there are.
    Raises MakegoodError for what is no length of time.
    """

    def __init__(self, audit: Audit, seconds: float) -> None:
        if not seconds > 0:
            raise MakegoodError(f"an audit every {seconds:g} s cannot be; give a length of time above 0")
        self._audit = audit
        self._seconds = seconds
        self._known: set[Finding] = set()
        self._shared: set[str] = set()

    async def run(self) -> None:
        """Make the rounds for ever; ends when cancelled."""
        await every(self._seconds, self._round, "audit")

    async def _round(self) -> None:
        report = await self._audit.run()
        lists = self._audit._lists
        told_apart = self._known.union(*(listed.found for listed in lists))
        _tell(finding for finding in report.findings if finding not in told_apart)
        for listed in lists:
            self._tell_listed(listed)
        self._known = set(report.findings)
        self._shared = {listed.name for listed in lists if listed.is_shared}
        audited = counted(report.audited, "task")
        if report.clean:
            log.info("audit: clean, %s, %d for a person", audited, len(report.parked))
        else:
            log.info("audit: %s, %s", audited, counted(len(report.findings), "finding"))

    def _tell_listed(self, listed: Listed) -> None:
        new = [finding for finding in listed.found if finding not in self._known]
        _tell(new[:TOLD_MAX])
        if len(new) > TOLD_MAX:
            more = counted(len(new) - TOLD_MAX, "more finding")
            log.warning("audit: %s: %s; `makegood audit --with APP` shows them all", listed.name, more)
        if listed.is_shared and listed.name not in self._shared:
            log.warning("audit: %s: %s", listed.name, SHARED)


def _tell(findings: Iterable[Finding]) -> None:
    for finding in findings:
        log.warning("audit: %s: %s", finding.kind, finding)
