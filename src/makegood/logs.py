"""Logs for machines: a line of JSON for each record, with the task, step and attempt that it is about.

makegood logs by the standard library, under "makegood". Its records about a task have `task_id`, that of one
that is parked also `plan`, and those about a call `step`, `attempt` and `kind` as well, as have those of
`call().logger`. `makegood up --log-format json` writes them so; elsewhere give this formatter to a handler.
"""

import logging
from datetime import UTC, datetime
from typing import Any

import msgspec

NAMED = {"task_id": "taskId", "plan": "plan", "step": "step", "kind": "kind", "attempt": "attempt"}


class JsonLines(logging.Formatter):
    """A record as a line of JSON: `at` (UTC), `level`, `logger`, `message`, what it is about, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "at": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {shown: getattr(record, name) for name, shown in NAMED.items() if hasattr(record, name)}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()
