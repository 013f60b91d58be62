"""Conductors that join: what the API says about owners, before and after."""

from baremetal_sched.hashring import ring_of
from tests.service import Service

NODES = 80


def owners(service: Service) -> dict[str, str | None]:
    document = service.baremetal("GET", "/nodes?fields=uuid,conductor").json
    return {node["uuid"]: node["conductor"] for node in document["nodes"]}


def test_a_tenth_conductor_takes_a_tenth_of_the_nodes_and_nothing_else_moves(database_url: str) -> None:
    with Service(database_url) as service:
        hosts = [f"c{number}" for number in range(10)]
        for host in hosts[:9]:
            service.add_conductor(host)
        for number in range(NODES):
            body = {"driver": "fake-hardware", "name": f"n{number}", "uuid": f"00000000-0000-0000-0000-{number:012}"}
            service.baremetal("POST", "/nodes", body)
        before = owners(service)
        service.add_conductor(hosts[9], "rack1")
        assert owners(service) == before
        service.add_conductor(hosts[9])
        after = owners(service)
    moved = {uuid for uuid in before if before[uuid] != after[uuid]}
    assert after == {uuid: ring_of(frozenset(hosts)).owner(uuid) for uuid in before}
    assert {after[uuid] for uuid in moved} == {"c9"}
    assert NODES / 20 <= len(moved) <= NODES / 5
