"""What every store checks before it looks at its data, so that all of them answer alike."""

from collections.abc import Sequence
from reprlib import repr as shown

from makegood.errors import StoreError
from makegood.store.protocol import Change

BYTES_MAX = 64 * 1024 * 1024
"""The largest head, and the largest append row, that a store takes."""

INTEGER_MAX = 2**63 - 1

DIGITS_MAX = 100
"""Of a page's number; Python makes no int of thousands."""


def refuse_doubles(changes: Sequence[Change]) -> None:
    """Raise ValueError if a batch holds two changes for one task."""
    task_ids = [change.task_id for change in changes]
    if len(set(task_ids)) != len(task_ids):
        doubles = sorted({task_id for task_id in task_ids if task_ids.count(task_id) > 1})
        raise ValueError(f"several changes in one batch for {', '.join(doubles)}; fold them into one")


def too_large(change: Change) -> bool:
    """Whether its head or its append row has more bytes than a store takes."""
    return len(change.head) > BYTES_MAX or len(change.row) > BYTES_MAX


def refusal(change: Change) -> str | None:
    """Why no store can hold this change; None if one can."""
    if too_large(change):
        return (
            f"its head has {len(change.head):,} bytes and its append row {len(change.row):,}; "
            f"a store takes up to {BYTES_MAX:,} in each"
        )
    for name, number in (("write id", change.write_id), ("due time", change.due or 0)):
        if not -INTEGER_MAX - 1 <= number <= INTEGER_MAX:
            return f"its {name} {number} does not fit in 64 bits"
    for name, text in (("id", change.task_id), ("plan name", change.plan), ("version", change.plan_version)):
        if not _is_unicode(text):
            return f"its {name} {text!r} is not valid Unicode"
    return None


def place_in_search(after: object) -> int:
    """The number below which a search goes on; raises StoreError for what is no page's `next`."""
    if after is None:
        return INTEGER_MAX
    if not isinstance(after, str) or not after.isdecimal() or len(after) > DIGITS_MAX:
        raise StoreError(f"{shown(after)} is no page's `next`; leave it out to begin with the newest task")
    return min(int(after), INTEGER_MAX)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
