"""Conductor groups: who serves them, and how many nodes each conductor owns."""

from typing import Any
from zlib import crc32

from sqlalchemy import insert, update

from baremetal_sched.db.clock import utcnow
from baremetal_sched.db.models import Conductor, Node
from baremetal_sched.scheduling.groups import list_groups
from tests.service import Service


def groups(service: Service, query: str = "", status: int = 200, **headers: str) -> Any:
    """GET /v1/groups"""
    found = service.http.get(f"/scheduling/v1/groups?{query}", headers=headers, status=status).json
    return found["groups"] if status == 200 else found["error"]["message"]


def add_nodes(service: Service, count: int, group: str = "", **values: Any) -> list[str]:
    """Nodes as rows, which is all that counts here."""
    uuids = [f"{crc32(group.encode()):08x}-0000-4000-8000-{number:012}" for number in range(count)]
    fields = {
        "driver": "fake-hardware",
        "conductor_group": group,
        "provision_state": "available",
        "created_at": utcnow(),
        **values,
    }
    rows = [{"uuid": uuid, **fields} for uuid in uuids]
    service.database.write(lambda session: session.execute(insert(Node), rows))
    return uuids


def kill(service: Service, host: str) -> None:
    """Let the conductor have died a while ago."""
    died = update(Conductor).where(Conductor.hostname == host).values(heartbeat_at=1)
    service.database.write(lambda session: session.execute(died))


def test_without_nodes(service: Service) -> None:
    """One conductor is always there, in no group."""
    assert [(each["conductor_group"], each["nodes"]) for each in groups(service)] == [("", 0)]
    assert groups(service, "conductor_group=rack1") == []


def test_groups_and_who_serves_them(service: Service) -> None:
    for host, group in {"a": "rack1", "b": "rack1", "dead": "rack1", "idle": "spare", "gone": "lost"}.items():
        service.add_conductor(host, group)
    kill(service, "dead")
    kill(service, "gone")
    uuids = add_nodes(service, 40, "rack1")
    add_nodes(service, 3, "lost")
    add_nodes(service, 2)
    add_nodes(service, 1, "bare", driver="ipmi")

    by_name = {each["conductor_group"]: each for each in groups(service)}
    assert list(by_name) == ["", "bare", "lost", "rack1", "spare"]
    for name, nodes, unserved, alive in [("", 2, 0, 1), ("bare", 1, 1, 0), ("lost", 3, 3, 0), ("spare", 0, 0, 1)]:
        found = by_name[name]
        assert (found["nodes"], found["unserved"], found["conductors_alive"]) == (nodes, unserved, alive)
    idle = {
        "hostname": "idle",
        "alive": True,
        "drivers": ["fake-hardware", "manual-management"],
        "nodes": 0,
        "share": 0.0,
    }
    assert by_name["spare"]["conductors"] == [idle]
    assert by_name["lost"]["conductors"][0]["alive"] is False
    assert by_name["bare"]["rings"] == [{"driver": "ipmi", "nodes": 1, "conductors": []}]
    assert_owned(service, by_name["rack1"], uuids)
    assert groups(service, "conductor_group=RACK1") == [by_name["rack1"]]
    assert groups(service, "conductor_group=") == [by_name[""]]


def assert_owned(service: Service, group: dict[str, Any], uuids: list[str]) -> None:
    """The figures are those of the nodes themselves."""
    owned = dict.fromkeys(("a", "b", "dead"), 0)
    for uuid in uuids:
        owned[service.node(uuid)["conductor"]] += 1
    assert min(owned["a"], owned["b"]) > 0
    assert {each["hostname"]: each["nodes"] for each in group["conductors"]} == owned
    assert {each["hostname"]: each["share"] for each in group["conductors"]} == {h: n / 40 for h, n in owned.items()}
    assert {each["hostname"]: each["alive"] for each in group["conductors"]} == {"a": True, "b": True, "dead": False}
    ring, unused = group["rings"]
    assert (unused["driver"], unused["nodes"]) == ("manual-management", 0)
    assert (ring["driver"], ring["nodes"]) == ("fake-hardware", 40)
    shares = {each["hostname"]: each["ring_share"] for each in ring["conductors"]}
    assert shares["dead"] == 0
    assert abs(shares["a"] + shares["b"] - 1) < 0.00001
    assert {each["hostname"]: each["nodes"] for each in ring["conductors"]} == owned


def test_a_release_without_groups(service: Service) -> None:
    """While one conductor behaves like it, every conductor serves every node, as far as it has the driver."""
    service.add_conductor("a", "rack1")
    pinned = update(Conductor).where(Conductor.hostname == "c1").values(pin_release_version="queens")
    service.database.write(lambda session: session.execute(pinned))
    uuids = add_nodes(service, 20, "rack1")
    owned = dict.fromkeys(("a", "c1"), 0)
    for uuid in uuids:
        owned[service.node(uuid)["conductor"]] += 1
    (group,) = groups(service, "conductor_group=rack1")
    assert {each["hostname"]: each["nodes"] for each in group["conductors"]} == owned
    assert min(owned.values()) > 0


def test_statements_do_not_grow_with_the_fleet(service: Service) -> None:
    for host in ("a", "b"):
        service.add_conductor(host, "rack1")
        service.add_conductor(f"{host}2", "rack2")
    add_nodes(service, 200, "rack1")
    add_nodes(service, 200, "rack2")
    with service.statements() as statements:
        groups(service)
    assert len(statements) == 3


def test_pictures_of_rings(service: Service) -> None:
    """The data that a page needs to draw one: the ring as it is, and as it would be."""
    service.add_conductor("a", "rack1")
    service.add_conductor("dead", "rack1")
    kill(service, "dead")
    settings = service.app.settings
    _, group = service.database.select(lambda connection: list_groups(connection, settings))
    ring = group.rings[0]
    assert [(arc.start, arc.end, arc.member) for arc in ring.arcs()] == [(0.0, 1.0, "a")]
    assert {arc.member for arc in ring.arcs_if_all_lived()} == {"a", "dead"}
    assert ring.shares() == {"a": 1.0, "dead": 0.0}


def test_what_is_refused(service: Service) -> None:
    assert "Unexpected arguments: group" in groups(service, "group=rack1", 400)
    assert "one value for conductor_group" in groups(service, "conductor_group=a&conductor_group=b", 400)
    assert "NUL" in groups(service, "conductor_group=%00", 400)
    assert groups(service, "conductor_group=%3Cscript%3E%E2%80%AE" + "x" * 3000) == []


def test_tenants_see_groups_of_their_nodes(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("secret-host", "rack1")
        service.add_conductor("other", "rack2")
        add_nodes(service, 3, "rack1", owner="a")
        add_nodes(service, 5, "rack2", owner="b")
        add_nodes(service, 2, "rack3", owner="b", lessee="a")
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        assert groups(service, **anna) == [
            {"conductor_group": "rack1", "nodes": 3, "unserved": 0, "conductors_alive": 1},
            {"conductor_group": "rack3", "nodes": 2, "unserved": 2, "conductors_alive": 0},
        ]
        assert groups(service, "conductor_group=rack2", **anna) == []
        assert groups(service, **{"X-Auth-Token": "carl:c", "X-Roles": "reader"}) == []
        admin = {"X-Auth-Token": "admin:operators", "X-Roles": "admin"}
        assert [each["nodes"] for each in groups(service, **admin)] == [3, 5, 2]
        assert groups(service, "conductor_group=rack1", **admin)[0]["conductors"][0]["hostname"] == "secret-host"
        assert "scheduling:groups:get" in groups(service, "", 403, **{"X-Auth-Token": "u:p", "X-Roles": "member"})
        assert groups(service, "", 401)
