"""The demo's agents can list what their services hold: real services over HTTP, and the command on top."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from makegood import Makegood
from makegood.demo import trips
from tests.cli.terminal import Said, Shell

SERVICES = Path(trips.__file__).parent / "services"
TRIP = trips.Trip("Ann", "LIS", "OSL", "2026-05-01")


@contextmanager
def services(folder: Path, **options: str) -> Iterator[dict[str, str]]:
    """The three services, without faults; answers where they are, as the environment names it."""
    running: list[subprocess.Popen[str]] = []
    places: dict[str, str] = {}
    try:
        for name in ("flight", "hotel", "car"):
            program = [sys.executable, str(SERVICES / f"{name}.py"), "--ledger", str(folder / f"{name}.db")]
            process = subprocess.Popen(
                [*program, *options.get(name, "").split()], stdout=subprocess.PIPE, text=True
            )
            running.append(process)
            assert process.stdout is not None
            places[f"MAKEGOOD_DEMO_{name.upper()}"] = process.stdout.readline().split()[-1]
        yield places
    finally:
        for process in running:
            process.terminate()
            process.communicate(timeout=10)


def book(folder: Path, places: dict[str, str]) -> str:
    """Book a trip; answers how that ended."""

    async def run() -> str:
        url = f"sqlite:///{folder / 'trips.db'}"
        async with Makegood(url, agents=[trips.flights, trips.hotels, trips.cars]) as mg:
            return await (await mg.submit(trips.book_trip, TRIP, task_id="trip-1")).wait(30)

    with pytest.MonkeyPatch.context() as patch:
        for name, place in places.items():
            patch.setenv(name, place)
        return asyncio.run(run())


def audit(folder: Path, places: dict[str, str]) -> Said:
    command = ("audit", "--store", "sqlite:///trips.db", "--with", "makegood.demo.trips")
    return Shell(folder).run(*command, **places)


def test_a_trip_that_was_booked_is_held_until_somebody_interferes(tmp_path: Path) -> None:
    with services(tmp_path, car="--sold-out 0") as places:
        assert book(tmp_path, places) == "Completed"
        said = audit(tmp_path, places)
        assert (said.code, "compared with services: 3 effects" in said.out) == (0, True)

        again = {"reference": "trip-1/reserve_car", "traveller": "Ann", "pickup": "here", "days": "2"}
        httpx.post(f"{places['MAKEGOOD_DEMO_CAR']}/reservations", json=again).raise_for_status()
        httpx.delete(f"{places['MAKEGOOD_DEMO_HOTEL']}/reservations/HO-1001").raise_for_status()
        said = audit(tmp_path, places)
    assert said.code == 1
    assert "list_hotels of hotel-agent holds nothing of it" in said.out
    assert (
        "list_cars of car-agent holds trip-1/reserve_car (CA-1001), trip-1/reserve_car (CA-1002)" in said.out
    )
    assert said.out.endswith("half done: 2\n")


def test_a_service_that_undoes_in_word_only_is_found_out(tmp_path: Path) -> None:
    with services(tmp_path, car="--sold-out 1", flight="--undo off") as places:
        assert book(tmp_path, places) == "Compensated"
        said = audit(tmp_path, places)
    assert said.code == 1
    assert "is undone, but list_flights of flight-agent holds trip-1/reserve_flight (FL-1001)" in said.out
    assert said.out.endswith("half done: 1\n")


def test_services_that_are_away_cannot_be_compared(tmp_path: Path) -> None:
    with services(tmp_path, car="--sold-out 0") as places:
        assert book(tmp_path, places) == "Completed"
    said = audit(tmp_path, places)
    assert said.code == 1
    assert "list_cars of car-agent could not be compared: ConnectionRefusedError" in said.out
    assert said.out.endswith("half done: 0\nother findings: 3\n")
