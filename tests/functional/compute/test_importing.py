"""``compute import``: servers, flavors and key pairs of a Nova."""

from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.compute.hosts import instance_info
from baremetal_sched.compute.migration import importing, nova_documents
from baremetal_sched.db.models import Flavor, Keypair, Node, Server, ServerTag
from baremetal_sched.machines import states
from tests.functional.compute import world
from tests.functional.compute.nova_lists import (
    Compute,
    columns,
    flavor_of,
    import_lists,
    keypair_of,
    server_of,
    uuid_of,
)
from tests.restored import restored
from tests.service import Service


def all_of(service: Service, model: Any, *names: str) -> list[tuple[Any, ...]]:
    """Columns of all rows of a model."""

    def read(session: Session) -> list[tuple[Any, ...]]:
        return [tuple(getattr(row, name) for name in names) for row in session.scalars(select(model))]

    return sorted(service.database.read(read))


def test_a_server_is_taken_over_with_its_node(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    printed = import_lists(
        compute,
        tmp_path,
        servers=[server_of("s1", node, key_name="k1", locked=True, extra_specs={"hw:boot": "x"})],
        flavors=[flavor_of()],
        keypairs=[keypair_of("k1")],
    )
    assert printed == (
        "flavors: 1 imported, 0 already present, 0 skipped\n"
        "keypairs: 1 imported, 0 already present, 0 skipped\n"
        "servers: 1 imported, 0 already present, 0 skipped\n"
    )
    found = columns(service, uuid_of("s1"))
    assert found["flavor"] == {
        "id": "f1",
        "name": "bm.large",
        "vcpus": 16,
        "ram": 65536,
        "disk": 400,
        "ephemeral": 0,
        "swap": 0,
        "extra_specs": {"hw:boot": "x"},
    }
    assert found["flavor_id"] == "f1"
    assert found["keypair"] == {"name": "k1", "type": "ssh", "public_key": "ssh-ed25519 AAAA"}
    assert (found["name"], found["project_id"], found["user_id"]) == ("s1", "p1", "u1")
    assert (found["locked"], found["config_drive"], found["user_metadata"]) == (True, True, {"role": "db"})
    assert (found["security_groups"], found["image_id"]) == (["default"], uuid_of("image"))
    assert (found["created_at"], found["launched_at"]) == (datetime(2017, 3, 1, 10), datetime(2017, 3, 1, 10, 5))
    assert found["task"] is None
    assert all_of(service, ServerTag, "tag") == [("old",)]
    assert service.node("n1")["instance_uuid"] == uuid_of("s1")


def test_a_key_pair_that_is_not_in_the_file(service: Service, compute: Compute, tmp_path: Path) -> None:
    """Its name is shown; there is nothing to put on the machine when it is rebuilt."""
    node = service.add_node("n1")
    import_lists(compute, tmp_path, servers=[server_of("s1", node, key_name="k9")])
    assert columns(service, uuid_of("s1"))["keypair"] == {"name": "k9", "type": "ssh", "public_key": ""}

    def drive(session: Session) -> dict[str, Any]:
        server = session.scalars(select(Server)).one()
        return instance_info.build_config_drive(server, session.scalars(select(Node)).one(), "nova", None)

    assert "keys" not in service.database.read(drive)["meta_data"]


def test_its_machine_is_not_offered_from_then_on(service: Service, compute: Compute, tmp_path: Path) -> None:
    """Nothing is claimed for it yet: that is for the migration."""
    node = service.add_node("n1")
    assert service.candidates("resources=CUSTOM_GOLD:1") == {node}
    import_lists(compute, tmp_path, servers=[server_of("s1", node)])
    assert service.candidates("resources=CUSTOM_GOLD:1") == set()
    assert service.placement("GET", f"/allocations/{uuid_of('s1')}").json["allocations"] == {}


def test_a_node_that_has_the_instance_already(service: Service, compute: Compute, tmp_path: Path) -> None:
    """As one has that was adopted."""
    node = service.add_node("n1", instance_uuid=uuid_of("s1"))
    service.set_columns("n1", provision_state=states.ACTIVE)
    before = service.node("n1")
    import_lists(compute, tmp_path, servers=[server_of("s1", node)])
    assert service.node("n1") == before
    assert columns(service, uuid_of("s1"))["uuid"] == uuid_of("s1")


def test_an_import_can_be_repeated(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    lists = {
        "servers": [server_of("s1", node, key_name="k1")],
        "flavors": [flavor_of()],
        "keypairs": [keypair_of("k1")],
    }
    import_lists(compute, tmp_path, **lists)
    before = columns(service, uuid_of("s1"))
    printed = import_lists(compute, tmp_path, **lists)
    assert printed == "".join(
        f"{kind}: 0 imported, 1 already present, 0 skipped\n" for kind in ("flavors", "keypairs", "servers")
    )
    assert columns(service, uuid_of("s1")) == before
    assert [len(all_of(service, model, "id")) for model in (Server, Flavor, Keypair)] == [1, 1, 1]


def test_servers_that_cannot_be_taken_over_are_named(service: Service, compute: Compute, tmp_path: Path) -> None:
    other, twice, cleaned, claimed = (service.add_node(name) for name in ("n1", "n2", "n3", "n4"))
    service.baremetal(
        "PATCH", f"/nodes/{other}", [{"op": "add", "path": "/instance_uuid", "value": uuid_of("another")}]
    )
    service.set_columns("n3", provision_state=states.CLEANWAIT)
    service.claim(uuid_of("claimant"), claimed)
    unknown = uuid_of("unknown node")
    down = {"id": uuid_of("s8"), "status": "UNKNOWN", "tenant_id": "p1", "created": "2017-03-01T10:00:00Z", "links": []}
    nodes = {"s1": unknown, "s2": other, "s3": twice, "s4": twice, "s5": cleaned, "s6": claimed, "s7": None}
    servers = [server_of(name, node) for name, node in nodes.items()]
    printed = import_lists(compute, tmp_path, servers=[*servers, down])
    ids = {name: f"server {uuid_of(name)} ({name})" for name in nodes}
    both = f"{uuid_of('s3')}, {uuid_of('s4')}"
    assert printed.splitlines() == [
        f"skipped {ids['s1']}: its node {unknown} is not enrolled here.",
        f"skipped {ids['s2']}: its node {other} has another instance, {uuid_of('another')}.",
        f"skipped {ids['s3']}: there are several servers on node {twice}: {both}.",
        f"skipped {ids['s4']}: there are several servers on node {twice}: {both}.",
        f"skipped {ids['s5']}: its node {cleaned} is in provision state 'clean wait'.",
        f"skipped {ids['s6']}: its node {claimed} is claimed by {uuid_of('claimant')}.",
        f"skipped {ids['s7']}: it is not on a node, or the list was not made by an administrator.",
        f"skipped server {uuid_of('s8')} (): its cell was down when Nova was asked.",
        "servers: 0 imported, 0 already present, 8 skipped",
    ]
    assert all_of(service, Server, "id") == []
    assert service.node("n2")["instance_uuid"] is None


def test_a_server_that_is_in_the_file_twice(service: Service, compute: Compute, tmp_path: Path) -> None:
    node = service.add_node("n1")
    printed = import_lists(compute, tmp_path, servers=[server_of("s1", node)] * 2)
    assert printed == "servers: 1 imported, 1 already present, 0 skipped\n"


def test_a_server_that_is_elsewhere(service: Service, compute: Compute, tmp_path: Path) -> None:
    here = service.add_node("n1", instance_uuid=uuid_of("s1"))
    there = service.add_node("n2")
    printed = import_lists(compute, tmp_path, servers=[server_of("s1", there)])
    assert f"here it is on node {here}, not on node {there}." in printed
    import_lists(compute, tmp_path, servers=[server_of("s1", here)])
    printed = import_lists(compute, tmp_path, servers=[server_of("s1", there)])
    assert f"it is here already, and not on node {there}." in printed


def test_flavors_keep_what_is_here(service: Service, compute: Compute, tmp_path: Path) -> None:
    import_lists(compute, tmp_path, flavors=[flavor_of(swap=512, description="d")])
    printed = import_lists(
        compute,
        tmp_path,
        flavors=[
            flavor_of(vcpus=1),
            flavor_of(id="f2"),
            flavor_of(id="f3", name="f3", extra_specs={"hw:cpu_policy": "dedicated"}),
            {key: value for key, value in flavor_of(id="f4", name="f4").items() if key != "extra_specs"},
            flavor_of(id="f5", name="f5", **{"os-flavor-access:is_public": False}),
        ],
    )
    lines = printed.splitlines()
    assert lines[0] == "skipped flavor bm.large (f2): another flavor here has its name (id f1)."
    assert lines[1].startswith("skipped flavor f3 (f3): Extra spec 'hw:cpu_policy' is not valid: ")
    assert lines[2].startswith("skipped flavor f4 (f4): its extra specs are not in the file.")
    assert lines[3] == "private flavors, whose projects Nova's list does not name: f5"
    assert lines[4] == "flavors: 1 imported, 1 already present, 3 skipped"
    assert all_of(service, Flavor, "flavorid", "vcpus", "swap_mb", "is_public") == [
        ("f1", 16, 512, True),
        ("f5", 16, 0, False),
    ]


def test_a_key_pair_is_of_those_who_used_it(service: Service, compute: Compute, tmp_path: Path) -> None:
    """Nova's list does not say whose it is."""
    n1, n2 = service.add_node("n1"), service.add_node("n2")
    import_lists(
        compute,
        tmp_path,
        servers=[server_of("s1", n1, key_name="k1"), server_of("s2", n2, key_name="k1", user_id="u2")],
        keypairs=[keypair_of("k1"), keypair_of("k2"), keypair_of("k3", user_id="u3")],
    )
    nobody: str = service.app.settings.compute.user_id
    owners = [("k1", "u1"), ("k1", "u2"), ("k2", nobody), ("k3", "u3")]
    assert all_of(service, Keypair, "name", "user_id") == owners
    printed = import_lists(compute, tmp_path, keypairs=[keypair_of("k3", user_id="u3", public_key="ssh-rsa B")])
    assert "skipped keypair k3 of u3: the user has another key of this name here." in printed


def test_a_file_that_is_not_understood(
    service: Service, compute: Compute, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for document, said in [
        (b"{", "The file is not JSON"),
        (b"[]", "The file is not what Nova answers, at $: [] is not of type 'object'."),
        (b"{}", "at $: {} should be non-empty"),
        (orjson.dumps({"hosts": []}), "'hosts' is not one of servers, flavors, keypairs, server_groups."),
        (orjson.dumps({"flavors": [flavor_of(vcpus=-1)]}), "at $.flavors[0].vcpus: -1 is less than the minimum of 0."),
        (orjson.dumps({"flavors": [], "flavors_links": [{}]}), "'flavors_links': the list has more pages."),
        (orjson.dumps({"flavors": [flavor_of(name="a\x00")]}), "the character NUL"),
        (
            orjson.dumps({"servers": [{**server_of("s1", None), "flavor": {"id": "f1", "links": []}}]}),
            "Ask for the servers at microversion 2.47 or later",
        ),
        (
            orjson.dumps({"flavors": [flavor_of()], "servers": [server_of("s1", None, created="no")]}),
            "created: 'no' is not",
        ),
        (orjson.dumps({"servers": [server_of("s1", None, id="no")]}), "at $.servers[0].id: 'no' is not a 'uuid'."),
    ]:
        with subtests.test(document=document):
            path = tmp_path / "nova.json"
            path.write_bytes(document)
            code, printed, complaints = compute("import", str(path))
            assert (code, printed) == (1, "")
            assert said in complaints
            assert all_of(service, Flavor, "id") == []


def test_a_server_can_be_told_by_the_clients_after_it_is_adopted(
    service: Service, compute: Compute, tmp_path: Path
) -> None:
    """An import may come before the adoption, too."""
    uuid: str = service.baremetal("POST", "/nodes", {"driver": "fake-hardware", "name": "n1"}).json["uuid"]
    import_lists(compute, tmp_path, servers=[server_of("s1", uuid)])
    service.patch("n1", ("add", "/instance_info", {"image_source": "http://images/1", "capabilities": "{}"}))
    for verb in ("manage", "adopt"):
        service.baremetal("PUT", "/nodes/n1/states/provision", {"target": verb})
        service.work()
    shown = service.node("n1")
    assert (shown["provision_state"], shown["instance_uuid"]) == ("active", uuid_of("s1"))
    assert columns(service, uuid_of("s1"))["fault"] is None


def test_what_this_service_answers_is_understood(service: Service, subtests: pytest.Subtests) -> None:
    """Its lists are Nova's: the server's own copy of the flavor, and all else, comes out as it was."""
    for version in ["2.61", "2.75", "2.98", "2.100"]:
        with subtests.test(version=version), restored(service):
            service.add_node("n1")
            uuid = world.boot(
                service, user_data="aGk=", tags=["t1"], keypair={"name": "k1", "type": "ssh", "public_key": "k"}
            )["uuid"]
            headers = {"OpenStack-API-Version": f"compute {version}"}
            found = service.http.get("/compute/v2.1/servers/detail?all_tenants=1", headers=headers).json
            (document,) = importing.parse(orjson.dumps(found))["servers"]
            pair = keypair_of("k1", public_key="k")
            values = nova_documents.server_values(document, {"bm.gold": "f1"}, pair)
            kept = columns(service, uuid)
            # What a list does not say, and how far the deployment has come.
            unknown = {"image", "updated_at", "created_at", "scheduler_hints"}
            assert {name: kept[name] for name in values.keys() - unknown} == {
                name: value for name, value in values.items() if name not in unknown
            }
            assert values["image"]["id"] == kept["image"]["id"]
            assert abs(values["created_at"] - kept["created_at"]).seconds <= 1
            assert document["tags"] == ["t1"]
