"""Records that cannot be made sense of."""

from collections.abc import Iterator
from contextlib import contextmanager

from makegood.errors import MakegoodError, StoreError

ILLEGIBLE = "its record cannot be read here: it is damaged, or of another version of makegood"


@contextmanager
def legible(task_id: str) -> Iterator[None]:
    """Around whatever reads a task's record: what it does not expect there raises StoreError.

    A damaged record may decode and still hold together nowhere, so that anything can go wrong with it.
    """
    try:
        yield
    except MakegoodError:
        raise
    except Exception as error:
        raise StoreError(
            f"task {task_id}: {ILLEGIBLE} ({type(error).__name__}: {error}); `makegood audit {task_id}` says "
            "what in it does not hold, and a backup of the store has it as it was"
        ) from error
