"""What the tests of SQLite run as processes of their own: `python programs.py PROGRAM ARGUMENTS`."""

import asyncio
import resource
import signal
import sys

from makegood.errors import StoreError, StoreUncertain
from makegood.store.protocol import Change, Committed, Query
from makegood.store.sqlite import SqliteStore


def change(task_id: str, base: int = 0, row: bytes = b"row") -> Change:
    return Change(task_id=task_id, base=base, write_id=base + 1, state=0, due=None, head=b"head", row=row)


def say(*words: object) -> None:
    print(*words, flush=True)


async def commit_for(path: str, name: str, count: str) -> None:
    """Create `count` tasks and change each once, naming each version that is acknowledged."""
    store = SqliteStore(path)
    await store.open()
    for number in range(int(count)):
        task_id = f"{name}-{number}"
        for base in (0, 1):
            assert list(await store.commit([change(task_id, base)])) == [Committed()]
            say(task_id, base + 1)
    await store.close()


async def fill_up(path: str, bytes_max: str) -> None:
    """Commit until no file may grow, say how that ended, make room, and commit once more."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = SqliteStore(path)
    await store.open()
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(bytes_max), resource.RLIM_INFINITY))
    for number in range(10_000):
        try:
            await store.commit([change(f"t-{number}", row=bytes(3000))])
        except StoreError as error:
            say("failed", type(error).__name__, error)
            break
        say(f"t-{number}", 1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await store.commit([change("afterwards")])
    say("afterwards", 1)
    await store.close()


async def try_to_use(path: str) -> None:
    """Open and write, and say what was in the way."""
    store = SqliteStore(path)
    try:
        await store.open()
        await store.commit([change("task")])
    except StoreError as error:
        say(type(error).__name__, error, "uncertain" if isinstance(error, StoreUncertain) else "")
    else:
        say("done")
    await store.close()


async def say_tasks(path: str) -> None:
    """Name every task that is to be seen."""
    store = SqliteStore(path)
    await store.open()
    say(*[task.task_id for task in (await store.search(Query())).tasks])
    await store.close()


if __name__ == "__main__":
    programs = {each.__name__: each for each in (commit_for, fill_up, try_to_use, say_tasks)}
    asyncio.run(programs[sys.argv[1]](*sys.argv[2:]))
