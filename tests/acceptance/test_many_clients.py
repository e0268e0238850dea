"""Many processes write one file at once, and nobody is told that it is locked."""

from tests.acceptance.yard import Yard

CLIENTS = 20
TASKS_EACH = 200


def test_twenty_clients_submit_at_once_under_a_running_engine(yard: Yard) -> None:
    engine = yard.engine("tests.acceptance.trips")
    clients = [yard.program("submit_many", f"client-{number}", TASKS_EACH) for number in range(CLIENTS)]
    for client in clients:
        assert client.line() == "ready"
    for client in clients:
        assert client.process.stdin is not None
        client.process.stdin.write("go\n")
        client.process.stdin.flush()
    for client in clients:
        assert client.ended() == 0
    states = yard.all_at_rest(CLIENTS * TASKS_EACH)
    assert set(states.values()) == {"Completed"}
    for process in (*clients, engine):
        assert "database is locked" not in process.talk
        assert "cannot be reached" not in process.talk
        assert "ERROR" not in process.talk
