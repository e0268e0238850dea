"""The check at the end, made at the services: what their ledgers hold, against what our records say."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

STEP_OF = {"flight": "reserve_flight", "hotel": "reserve_hotel", "car": "reserve_car"}
IN_EFFECT = frozenset(("done", "kept"))


@dataclass(frozen=True)
class Reservation:
    """One row of a service's ledger."""

    reference: str
    key: str | None
    confirmation: str
    created_at: str
    cancelled_at: str | None

    @property
    def live(self) -> bool:
        return self.cancelled_at is None


@dataclass
class Findings:
    """What a service really holds, counted in trips; `wrong` says of each fault where it stands."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def fault(self, kind: str, words: str) -> None:
        self.counts[kind] += 1
        self.wrong.append(f"{kind}: {words}")


def read_ledger(path: Path) -> list[Reservation]:
    """Every reservation a service ever made."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as ledger:
        rows = ledger.execute(
            "SELECT reference, key, confirmation, created_at, cancelled_at FROM reservations"
        )
        return [Reservation(*row) for row in rows]


def hit_share(path: Path) -> float:
    """The share of all calls a service received that a fault hit."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as ledger:
        total, hit = ledger.execute("SELECT count(*), count(fault) FROM calls").fetchone()
    return hit / total if total else 0.0


def check_service(
    service: str, reservations: Iterable[Reservation], records: Mapping[str, Mapping[str, Any]]
) -> Findings:
    """Hold one service's ledger against the records of all trips."""
    found = Findings()
    by_trip: dict[str, list[Reservation]] = {task_id: [] for task_id in records}
    for reservation in reservations:
        task_id = reservation.reference.partition("/")[0]
        if task_id not in by_trip:
            found.fault("orphaned", f"{service} {reservation.confirmation} belongs to no trip")
        else:
            by_trip[task_id].append(reservation)
    for task_id, made in by_trip.items():
        _check_trip(found, service, task_id, made, records[task_id])
    return found


def _check_trip(
    found: Findings, service: str, task_id: str, made: list[Reservation], record: Mapping[str, Any]
) -> None:
    step = next(s for s in record["steps"] if s["name"] == STEP_OF[service])
    outcome, state = step.get("outcome", "none"), record["state"]
    live = [reservation for reservation in made if reservation.live]
    where = f"{service} {task_id} ({state}, {outcome}): {_listed(made)}"
    if _double(made):
        found.fault("double", where)
    if state == "Failed" and step["name"] in record.get("inDoubt", ()):
        found.counts["parked"] += 1  # whatever the service holds, a person is asked about it
    elif live and outcome not in IN_EFFECT:
        found.fault("orphaned", where)
    elif outcome in IN_EFFECT and not live:
        found.fault("half done", f"{where}; the record says it is in effect")
    elif state not in ("Completed", "Compensated", "Failed"):
        found.fault("half done", f"{where}; the trip has not ended")
    elif state == "Completed" and not live:
        found.fault("half done", f"{where}; the trip is Completed without it")
    else:
        found.counts[_kind(state, made)] += 1


def _kind(state: str, made: list[Reservation]) -> str:
    if state == "Failed":
        return "parked"
    if state == "Completed":
        return "booked"
    return "undone" if made else "never happened"


def _double(made: list[Reservation]) -> bool:
    """Two bookings for one wish: two under one key, or one made while another was live."""
    keys = [reservation.key for reservation in made if reservation.key]
    if len(keys) != len(set(keys)):
        return True
    ordered = sorted(made, key=lambda reservation: reservation.created_at)
    return any(one.live or (one.cancelled_at or "") > other.created_at for one, other in pairwise(ordered))


def _listed(made: list[Reservation]) -> str:
    return json.dumps([f"{r.confirmation} {'live' if r.live else 'cancelled'}" for r in made])
