"""Idempotency keys: one key names one intended effect: (task, step, direction, round)."""

import hashlib
import uuid

from makegood.core.document import HASH_MIN, KeyForm
from makegood.core.record import Kind

NAMESPACE = uuid.UUID("6d616b65-676f-4f64-8000-6b6579666f72")


def derive_key(task_id: str, step: str, kind: Kind, round_: int, form: KeyForm) -> str:
    """The key of an intended effect, in the form its service wants.

    Derived once, when a round's first call is offered, then read from the record. A key that is too long for
    the service is cut behind its prefix and ends in a hash of the whole, so that two effects never share one.
    """
    plain = f"{form.prefix}{task_id}-{step}"
    if kind is Kind.UNDO:
        plain += "-undo"
    if round_ > 1:
        plain += f"~{round_}"
    if form.uuid:
        return str(uuid.uuid5(NAMESPACE, plain))
    if len(plain) <= form.max_length:
        return plain
    behind_it = form.max_length - len(form.prefix)
    room = behind_it if behind_it >= HASH_MIN else form.max_length  # of a prefix that leaves none
    tail = hashlib.sha256(plain.encode()).hexdigest()[: min(32, room - 1)]
    return f"{plain[: form.max_length - len(tail) - 1]}-{tail}"
