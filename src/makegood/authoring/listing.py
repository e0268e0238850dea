"""What a listing function yields: an effect that a service holds, named so that the audit finds its task."""

import msgspec

from makegood.errors import PayloadError


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """One effect that a service holds now, named by `key`, the idempotency key that the service kept with it,
    or by `task_id` and `step` (which may be left out where it can be only one step of the task).

    `note` is what helps a person to find it there, such as the service's own number for it. Raises
    PayloadError unless exactly one of `key` and `task_id` is given, as text.
    """

    key: str = ""
    task_id: str = ""
    step: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("key", "task_id", "step", "note"):
            if not isinstance(getattr(self, name), str):
                raise PayloadError(f"Held: {name}={getattr(self, name)!r} is not text")
        if bool(self.key) == bool(self.task_id) or (self.step and self.key):
            raise PayloadError(
                f"{self!r}: give the key that the service kept, or else the task_id (and its step); leave "
                "out what is none of ours"
            )

    def __str__(self) -> str:
        name = self.key or "/".join(filter(None, (self.task_id, self.step)))
        return f"{name} ({self.note})" if self.note else name
