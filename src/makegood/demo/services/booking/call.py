"""A call as it came in, and the answer a service gives to it."""

import json
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Call:
    method: str
    path: tuple[str, ...]  # decoded, one entry a segment: ("reservations", "by-key", "trip-1-flight")
    query: dict[str, str]
    key: str | None  # the Idempotency-Key header, honoured or not
    body: Json  # empty where none came, or none that is a JSON object
    at: str  # when it came, by the wall clock
    arrived: float  # the same by the monotonic clock, in seconds

    @property
    def address(self) -> str:
        return "/" + "/".join(self.path)

    @property
    def reference(self) -> str | None:
        return self.body.get("reference") or self.query.get("reference")

    @property
    def request(self) -> str:
        """What is asked for, in canonical text: the same key must never come with another one."""
        return f"{self.method} {self.address} {json.dumps(self.body, sort_keys=True)}"


@dataclass(frozen=True)
class Answer:
    status: int
    body: Json
    effect: str | None = None  # what it changed in the ledger: booked, cancelled, tombstone
