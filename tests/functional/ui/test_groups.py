"""The pages of conductor groups."""

import pytest
from sqlalchemy import update

from baremetal_sched.db.models import Conductor
from tests.functional.ui.pages import look
from tests.functional.ui.test_fleet import ADMIN, HOSTILE, figures
from tests.service import Service

GROUPS = "Conductor groups"
RING = "Conductors of the ring of fake-hardware"


def kill(service: Service, host: str) -> None:
    service.database.write(
        lambda session: session.execute(update(Conductor).where(Conductor.hostname == host).values(heartbeat_at=0))
    )


def add(service: Service, name: str, group: str = "", **fields: str) -> str:
    """A node of the group, whether or not a conductor serves that; returns its UUID."""
    uuid = service.add_node(name, power=False, **fields)  # type: ignore[arg-type]
    service.set_columns(uuid, conductor_group=group)
    return uuid


def test_without_conductors(database_url: str) -> None:
    with Service(database_url) as service:
        assert "no conductor group yet" in look(service, "/groups").text
        refused = look(service, "/groups/rack1", 404)
        assert "There is no conductor group 'rack1'" in refused.text


def test_groups_and_their_rings(service: Service) -> None:
    for host in ("r1a", "r1b", "r1c"):
        service.add_conductor(host, "rack1")
    uuids = [add(service, f"n{place}", "rack1") for place in range(4)]
    service.add_node("alone", power=False)
    kill(service, "r1c")
    document = look(service, "/groups")
    assert document.rows(GROUPS) == [
        ["(default)", "1 of 1", "c1", "1", "0", "served"],
        ["rack1", "2 of 3", "r1a , r1b , r1c (dead)", "4", "0", "a conductor is dead"],
    ]
    assert [link for link in document.links() if "/groups/" in link] == ["/ui/groups/%28default%29", "/ui/groups/rack1"]
    document = look(service, "/groups/rack1")
    assert figures(document) == {"Nodes": "4", "Not served": "0", "Conductors alive": "2 of 3"}
    rows = document.rows(RING)
    owners = [service.node(uuid)["conductor"] for uuid in uuids]
    assert [(row[1], row[2], row[3]) for row in rows] == [
        ("r1a", "alive", str(owners.count("r1a"))),
        ("r1b", "alive", str(owners.count("r1b"))),
        ("r1c", "dead", "0"),
    ]
    assert rows[2][4:6] == ["0.0 %", "0.0 %"]
    assert float(rows[2][6].removesuffix(" %")) > 0
    picture = document.all("svg")[0]
    assert picture["role"] == "img"
    told = {each["id"] for tag in ("title", "desc") for each in document.all(tag) if "id" in each}
    assert {picture["aria-labelledby"], picture["aria-describedby"]} <= told
    # The name of the group does not depend on letter case; in none are those of the default group.
    assert look(service, "/groups/RACK1").rows(RING) == rows
    assert look(service, "/groups/(default)").rows(RING)[0][1:5] == ["c1", "alive", "1", "100.0 %"]


def test_a_group_that_nothing_serves(service: Service) -> None:
    add(service, "n1", "rack9")
    document = look(service, "/groups/rack9")
    assert "1 node has no live conductor" in document.text
    assert document.rows(RING) == [["No conductor is registered that serves these nodes."]]
    assert look(service, "/groups").rows(GROUPS)[1] == ["rack9", "0 of 0", "none", "1", "1", "nodes are not served"]


def test_hostile_names_are_texts(service: Service) -> None:
    service.add_conductor("c2", "rack1")
    service.add_node("n1", power=False)
    service.set_columns(service.node("n1")["uuid"], conductor_group=HOSTILE, driver=HOSTILE)
    service.database.write(
        lambda session: session.execute(update(Conductor).where(Conductor.hostname == "c2").values(hostname=HOSTILE))
    )
    assert look(service, "/groups").rows(GROUPS)[1][0] == HOSTILE
    assert look(service, "/groups/rack1").rows(RING)[0][1] == HOSTILE
    (link,) = [link for link in look(service, "/groups").links() if "script" in link and "/groups/" in link]
    document = look(service, link.removeprefix("/ui"))
    assert ("bdi", HOSTILE) in document.texts
    assert document.rows(f"Conductors of the ring of {HOSTILE}") == [
        ["No conductor is registered that serves these nodes."]
    ]
    assert "<script>" in look(service, "/groups/%3Cscript%3E", 404).text


def test_parameters_are_refused(service: Service, subtests: pytest.Subtests) -> None:
    for path in ["/groups?a=1", "/groups/rack1?limit=1"]:
        with subtests.test(path=path):
            assert "Unexpected arguments" in look(service, path, 400).text


def test_the_number_of_statements_does_not_depend_on_the_fleet(service: Service, subtests: pytest.Subtests) -> None:
    for nodes in [0, 9]:
        with subtests.test(nodes=nodes):
            for host in ("c2", "c3"):
                service.add_conductor(host)
            for place in range(nodes):
                add(service, f"n{place}", "" if place % 2 else f"rack{place}")
            with service.statements() as statements:
                look(service, "/groups")
            assert len(statements) == 2
            with service.statements() as statements:
                look(service, "/groups/(default)")
            assert len(statements) == (3 if nodes else 2)


def test_more_than_is_shown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_GROUPS", "MOST_RINGS", "MOST_CONDUCTORS"):
        monkeypatch.setattr(f"baremetal_sched.ui.groups.{limit}", 1)
    service.add_conductor("c2")
    for place in range(3):
        add(service, f"n{place}", f"rack{place}")
    document = look(service, "/groups")
    assert len(document.rows(GROUPS)) == 1
    assert "And 3 more groups." in document.text
    document = look(service, "/groups/(default)")
    assert len(document.rows(RING)) == 1
    assert "And 1 more conductor." in document.text
    service.set_columns(service.node("n1")["uuid"], conductor_group="rack0", driver="ipmi")
    assert "And 1 more driver, with fewer nodes." in look(service, "/groups/rack0").text


def test_tenants_see_groups_of_their_own_nodes_and_no_conductor(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("conductor-of-operators")
        add(service, "bert", "secret-group", owner="b")
        service.add_node("anna", owner="a", power=False)
        service.add_node("leased", owner="b", lessee="a", power=False)
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        own = look(service, "/groups", **anna)
        assert own.rows(GROUPS) == [["(default)", "1", "2", "0", "served"]]
        assert "secret" not in own.text
        assert "conductor-of" not in own.text
        shown = look(service, "/groups/(default)", **anna)
        assert figures(shown) == {"Nodes": "2", "Not served": "0", "Conductors alive": "1"}
        assert "conductor-of" not in shown.text
        assert not shown.all("svg")
        look(service, "/groups/secret-group", 404, **anna)
        assert len(look(service, "/groups", **ADMIN).rows(GROUPS)) == 2
        look(service, "/groups", 403, **{"X-Auth-Token": "u:a", "X-Roles": "other"})
