"""What the demo shows: progress while it runs, a table at the end."""

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from makegood.demo.check import Findings
from makegood.reading.words import WAITED_FOR

KINDS = ("booked", "undone", "never happened", "parked", "double", "orphaned", "half done")
STATES = ("Running", "Compensating", "Completed", "Compensated", "Failed")
PLAIN_PACE = 2.0
"""Seconds at least between two lines of progress where there is no terminal."""


class Display:
    """One line that is rewritten on a terminal; elsewhere, a line every now and then."""

    def __init__(self, trips: int, monotonic: Callable[[], float]) -> None:
        self._trips = trips
        self._monotonic = monotonic
        self._live = sys.stderr.isatty()
        self._last = ""
        self._next = monotonic() + PLAIN_PACE

    def say(self, words: str) -> None:
        """A line that stays."""
        self._clear()
        print(words, file=sys.stderr, flush=True)

    def update(self, tasks: Sequence[Mapping[str, Any]], kills: int) -> None:
        """Show how far the trips are, and what the unfinished ones wait for."""
        line = progress(tasks, self._trips, kills)
        if line == self._last:
            return
        if self._live:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
        elif self._monotonic() >= self._next:
            print(line, file=sys.stderr, flush=True)
            self._next = self._monotonic() + PLAIN_PACE
        else:
            return
        self._last = line

    def close(self) -> None:
        """Leave the terminal tidy."""
        self._clear()

    def _clear(self) -> None:
        if self._live:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def progress(tasks: Sequence[Mapping[str, Any]], trips: int, kills: int) -> str:
    """One line: states, then what is waited for."""
    states = Counter(task["state"] for task in tasks)
    waits = Counter(task["waiting"]["for"] for task in tasks if "waiting" in task)
    counted = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    waiting = ", ".join(f"{count} for {WAITED_FOR[what]}" for what, count in waits.most_common())
    line = f"{len(tasks)}/{trips} trips, {_kills(kills)}: {counted or 'none yet'}"
    return f"{line}; waiting: {waiting}" if waiting else line


def summary_table(
    records: Mapping[str, Mapping[str, Any]],
    findings: Mapping[str, Findings],
    hit: Mapping[str, float],
    kills: int,
    seconds: float,
) -> str:
    """The table at the end, as text."""
    states = Counter(record["state"] for record in records.values())
    ended = ", ".join(f"{states[state]} {state}" for state in STATES if states[state])
    lines = [f"\n{len(records)} trips, {_kills(kills)}, {seconds:.0f} s: {ended}", ""]
    lines.append("service " + "".join(f"  {kind}" for kind in KINDS) + "   hit")
    for service, found in findings.items():
        counts = "".join(f"  {found.counts[kind]:>{len(kind)}}" for kind in KINDS)
        lines.append(f"{service:8}{counts}{hit[service]:6.0%}")
    lines.append("Counted in the services' ledgers; hit: the share of their calls that a fault hit.")
    bad = sum(
        found.counts[kind] for found in findings.values() for kind in ("double", "orphaned", "half done")
    )
    verdict = "Nothing is double, nothing is orphaned, nothing is half done." if not bad else f"{bad} broken."
    return "\n".join([*lines, "", verdict, ""])


def _kills(count: int) -> str:
    return f"{count} kill" if count == 1 else f"{count} kills"
