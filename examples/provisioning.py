"""A stack in the cloud: a network, a database, instances side by side, a name that leads there.

The database takes longer to make than a call may last: the call times out, and is repeated with the same
client token until it is there. Instances know no tokens, but are found by their tag, half made or whole.
Where the name is refused at the end, all is taken down in reverse.

    python examples/provisioning.py [FOLDER]
    makegood rehearse examples/provisioning.py:provision
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError

from makegood import Agent, Makegood, Retry, Transient, parallel, plan, step

if TYPE_CHECKING or __package__:
    from .staging import agrees, enter, look_up, play, services, store, withdraw
else:  # started by its path: this folder is where imports are looked up
    from staging import agrees, enter, look_up, play, services, store, withdraw


@dataclass
class Stack:
    name: str
    size: str


OFTEN = Retry(attempts=10, delay=0.2)
networks = Agent("network-agent", timeout=1, settle=1, keyed=True, retry=OFTEN)
databases = Agent("database-agent", timeout=1, settle=3, keyed=True, retry=OFTEN)  # slow: it may settle late
computers = Agent("compute-agent", timeout=1, settle=1, asks=30, retry=OFTEN)
names = Agent("dns-agent", timeout=1, settle=1, keyed=True, retry=OFTEN)


def delete_network(network: str | None) -> None:
    withdraw("networks")


@networks.action(undo=delete_network)
def create_network(stack: Stack) -> str:
    return enter("networks", name=stack.name)


def delete_database(database: str | None) -> None:
    withdraw("databases")


@databases.action(undo=delete_database)
def create_database(stack: Stack, network: str) -> str:
    return enter("databases", size=stack.size, network=network)  # the key is the client token


def delete_instance(instance: str | None) -> None:
    made = instance or find_instance()
    if made is not None:
        withdraw("instances", made)


def find_instance() -> str | None:
    return look_up("instances")  # by its tag; StillRunning while it is half made


@computers.action(undo=delete_instance, probe=find_instance)
def create_instance(network: str, database: str) -> str:
    try:
        return enter("instances", network=network, database=database)
    except HTTPError as error:
        if error.code != 403:
            raise
        # Usually a 403 is a refusal. Here it is a quota, which others will give back.
        raise Transient("no quota left", retry_after=float(error.headers["Retry-After"])) from None


def remove_name(record: str | None) -> None:
    withdraw("records")


@names.action(undo=remove_name)
def point_name(stack: Stack, instances: list[str]) -> str:
    return enter("records", name=stack.name, to=instances)


@plan
def provision(stack: Stack) -> str:
    network = step(create_network, stack)
    database = step(create_database, stack, network)
    with parallel():
        one = step.options(name="instance_1")(create_instance, network, database)
        two = step.options(name="instance_2")(create_instance, network, database)
    return step(point_name, stack, [one, two])


# --- three stacks, and what goes wrong with them

FAULTS = {
    "blue/create_database": ["slow"],
    "green/instance_1": ["quota", "quota"],
    "green/instance_2": ["slow"],
    "red/create_network": ["lost"],
    "red/point_name": ["no: this name is taken"],
    "undo red/instance_1": ["lost"],
    "undo red/create_database": ["busy"],
}


async def main(folder: Path) -> bool:
    with services(folder, FAULTS, keyless=["instances"]):
        async with Makegood(store(folder), agents=[networks, databases, computers, names]) as makegood:
            tasks = [
                await makegood.submit(provision, Stack(name, "small"), task_id=name)
                for name in ("blue", "green", "red")
            ]
            return await agrees(folder, tasks)


if __name__ == "__main__":
    play(main)
