"""The page of the fleet."""

import pytest
from sqlalchemy import update

from baremetal_sched.db.models import Conductor
from tests.functional.ui.pages import Document, look
from tests.service import Service

STATES = "Nodes by provision state"
CLASSES = "Nodes by resource class"
UNSERVED = "Conductor groups with nodes that no live conductor serves"

HOSTILE = "<script>alert(1)</script>\u202e&amp;"


def figures(document: Document) -> dict[str, str]:
    """The numbers at the top."""
    names = [text for where, text in document.texts if where == "dt"]
    return dict(zip(names, [text for where, text in document.texts if where == "dd"], strict=True))


def test_an_empty_fleet(database_url: str) -> None:
    with Service(database_url) as service:
        document = look(service)
    assert "There are no nodes yet" in document.text
    assert "No conductor is alive" in document.text
    assert figures(document)["Nodes"] == "0"
    assert document.rows(STATES) == [["No nodes."]]


def test_a_fleet(service: Service) -> None:
    service.add_conductor("c2", "rack1")
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    service.add_node("n4", resource_class="silver", conductor_group="rack1")
    service.add_node("n5", resource_class=None, power=False)
    service.baremetal("PUT", "/nodes/n2/maintenance", {"reason": "disk"})
    service.set_columns(service.node("n4")["uuid"], provision_state="clean failed")
    service.set_columns(service.node("n3")["uuid"], instance_uuid="11111111-0000-4000-8000-000000000001")
    document = look(service)
    assert figures(document) == {
        "Nodes": "5",
        "Free": "1",
        "Allocated": "1",
        "Unavailable": "3",
        "Without a conductor": "0",
        "Conductors alive": "2 of 2",
    }
    assert document.rows(STATES) == [["available", "4", "1"], ["clean failed", "1", "0"]]
    assert document.rows(CLASSES) == [
        ["gold", "3", "1", "1", "1", "maintenance: 1"],
        ["(none)", "1", "0", "0", "1", "resource class: 1"],
        ["silver", "1", "0", "0", "1", "clean failed: 1"],
    ]
    assert "Every node has a live conductor." in document.text
    service.database.write(
        lambda session: session.execute(update(Conductor).where(Conductor.hostname == "c2").values(heartbeat_at=0))
    )
    document = look(service)
    assert document.rows(UNSERVED) == [["rack1", "fake-hardware", "1", "1"]]
    assert figures(document)["Without a conductor"] == "1"
    assert figures(document)["Conductors alive"] == "1 of 2"


def test_hostile_names_are_texts(service: Service) -> None:
    service.add_node("n1", resource_class="x", power=False)
    service.set_columns(service.node("n1")["uuid"], resource_class=HOSTILE, conductor_group=HOSTILE, driver=HOSTILE)
    document = look(service)
    assert document.rows(CLASSES)[0][0] == HOSTILE
    assert document.rows(UNSERVED)[0][:2] == [HOSTILE, HOSTILE]
    assert ("bdi", HOSTILE) in document.texts


def test_neither_the_statements_nor_the_rows_depend_on_the_fleet(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baremetal_sched.ui.fleet.MOST_ROWS", 2)
    for nodes in range(6):
        if nodes in (0, 1, 5):
            with service.statements() as statements:
                document = look(service)
            assert len(statements) == 5
        service.add_node(f"n{nodes}", resource_class=f"class{nodes}", power=False)
    assert len(document.rows(CLASSES)) == 2
    assert "And 3 more classes." in document.text


ADMIN = {"X-Auth-Token": "admin", "X-Roles": "admin,reader", "OpenStack-System-Scope": "all"}


def test_tenants_see_their_own_machines(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("conductor-of-operators")
        bert = service.add_node("bert", owner="b", resource_class="secret-class", power=False)
        service.set_columns(bert, conductor_group="secret-group")
        service.add_node("leased", owner="b", lessee="a")
        service.add_node("nobody", resource_class="secret-class")
        everything = look(service, **ADMIN)
        assert figures(everything)["Nodes"] == "3"
        assert everything.rows(UNSERVED) == [["secret-group", "fake-hardware", "1", "1"]]
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        own = look(service, **anna)
        assert figures(own) == {
            "Nodes": "1",
            "Free": "1",
            "Allocated": "0",
            "Unavailable": "0",
            "Without a conductor": "0",
        }
        assert own.rows(CLASSES) == [["gold", "1", "1", "0", "0", ""]]
        assert "secret" not in own.text
        assert "conductor-of" not in own.text
        # An administrator of a project is no administrator of the system: as in the lists of nodes.
        boss = look(service, **{"X-Auth-Token": "boss:c", "X-Roles": "admin,reader"})
        assert figures(boss)["Nodes"] == "0"
        assert "secret" not in boss.text
        refused = look(service, "/", 403, **{"X-Auth-Token": "u:a", "X-Roles": "other"})
        assert "baremetal:node:list" in refused.text
        look(service, "/", 401)
