"""The audit on a schedule: what is newly found is said in the log."""

import logging

from makegood.agenda import every
from makegood.auditing.audit import Audit
from makegood.errors import MakegoodError
from makegood.reading.audit import Finding
from makegood.reading.words import counted

log = logging.getLogger("makegood.audit")


class Rounds:
    """Audits every so many seconds, at once to begin with; each finding is a warning when it is new.

    Raises MakegoodError for what is no length of time.
    """

    def __init__(self, audit: Audit, seconds: float) -> None:
        if not seconds > 0:
            raise MakegoodError(f"an audit every {seconds:g} s cannot be; give a length of time above 0")
        self._audit = audit
        self._seconds = seconds
        self._known: set[Finding] = set()

    async def run(self) -> None:
        """Make the rounds for ever; ends when cancelled."""
        await every(self._seconds, self._round, "audit")

    async def _round(self) -> None:
        report = await self._audit.run()
        for finding in report.findings:
            if finding not in self._known:
                log.warning("audit: %s: %s", finding.kind, finding)
        self._known = set(report.findings)
        if report.clean:
            audited = counted(report.audited, "task")
            log.info("audit: clean, %s, %d for a person", audited, len(report.parked))
        else:
            log.info("audit: %d tasks, %d findings", report.audited, len(report.findings))
