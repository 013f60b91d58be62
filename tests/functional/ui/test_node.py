# tier: first
"""The page of one node."""

import re

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.history import Severity, record
from baremetal_sched.db.models import Node
from tests.functional.ui.pages import Document, look
from tests.functional.ui.test_fleet import ADMIN, HOSTILE
from tests.functional.ui.test_nodes import UNKNOWN
from tests.numbered import number_all
from tests.service import Service

EVENTS = "Events, the newest first"
CONSUMER = "cccccccc-0000-4000-8000-000000000001"


def facts(document: Document) -> dict[str, str]:
    """The facts of the node, by their labels."""
    texts = [(where, text) for where, text in document.texts]
    start = texts.index(("h2", "Facts"))
    end = next(place for place in range(start + 1, len(texts)) if texts[place][0] == "h2")
    labels = [text for where, text in texts[start:end] if where == "dt"]
    return {label: document.terms[label] for label in labels}


def test_a_machine_on_offer(service: Service) -> None:
    uuid = service.add_node("n1", traits=("CUSTOM_A",), properties={"cpus": 8}, extra={"shelf": HOSTILE})
    service.baremetal("POST", "/ports", {"node_uuid": uuid, "address": "52:54:00:00:00:01"})
    for ident in ("n1", uuid, uuid.upper()):
        document = look(service, f"/nodes/{ident}")
        assert document.texts[0][1] == "n1 · baremetal-sched"
        assert "Placement offers it as one unit of CUSTOM_GOLD" in document.text
        found = facts(document)
        assert found["UUID"] == uuid
        assert found["Ports"] == "1: 52:54:00:00:00:01"
        assert found["Conductor group"] == "(default)"
        assert found["Instance"] == "none"
        assert "/ui/nodes?traits=CUSTOM_A" in document.links()
        assert '"cpus": 8' in document.text
        assert HOSTILE in document.text


def test_why_not_and_what_to_do(service: Service) -> None:
    uuid = service.add_node("n1", power=False)
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "disk"})
    service.set_columns(uuid, reservation="c9", last_error=HOSTILE)
    document = look(service, "/nodes/n1")
    said = [text for where, text in document.texts if where in ("dt", "dd")]
    assert "Maintenance: disk" in document.text
    assert document.texts[[text for _, text in document.texts].index("Last error:") + 1] == ("bdi", HOSTILE)
    assert said[:2] == ["It is in maintenance.", "Unset maintenance when the machine is fit for use."]
    assert "Conductor c9 is working on it: allocations of the bare metal API pass it over." in said


def test_one_that_is_claimed(service: Service) -> None:
    uuid = service.add_node("n1")
    service.claim(CONSUMER, uuid)
    document = look(service, "/nodes/n1")
    assert "for this reason" in document.text
    assert CONSUMER in document.text


def test_who_had_it(database_url: str) -> None:
    caption = "Claims and releases, the newest first"
    with Service(database_url) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", owner="a")
        assert caption not in look(service, "/nodes/n1").tables
        service.claim(CONSUMER, uuid)
        service.placement("DELETE", f"/allocations/{CONSUMER}")
        number_all(service)
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        rows = look(service, "/nodes/n1", **ADMIN).rows(caption)
        assert [row[1:] for row in rows] == [["released", CONSUMER, "p"], ["claimed", CONSUMER, "p"]]
        owner = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}
        assert caption not in look(service, "/nodes/n1", **owner).tables


def test_what_is_possible_now_and_where_the_facts_lead(service: Service) -> None:
    info = {"ipmi_address": "10.1.2.3", "ipmi_password": "hunter-two-66"}
    uuid = service.add_node("n1", owner="anna", driver_info=info)
    document = look(service, "/nodes/n1")
    assert "openstack baremetal node manage n1" in document.text
    assert "openstack baremetal node power off n1" in document.text
    assert document.terms["Controller"] == "10.1.2.3"
    assert "hunter" not in document.text
    for link in ("/ui/nodes?owner=anna", "/ui/nodes?resource_class=gold", "/ui/groups/%28default%29"):
        assert link in document.links()
        look(service, link.removeprefix("/ui"))
    service.set_columns(uuid, reservation="c1", maintenance=True)
    document = look(service, "/nodes/n1")
    assert "openstack baremetal node maintenance unset n1" in document.text
    assert "manage" not in document.terms
    assert "other commands are refused" in document.text


def test_each_hold_is_released_by_itself(service: Service) -> None:
    service.add_node("n1")
    made = [
        service.http.post_json("/scheduling/v1/nodes/n1/holds", {"type": kind, "reason": "fan"}, status=201).json[
            "uuid"
        ]
        for kind in ("operator_hold", "hardware_failure")
    ]
    document = look(service, "/nodes/n1")
    for kind, uuid in zip(("operator_hold", "hardware_failure"), made, strict=True):
        said = document.terms[f"release {kind} (fan)"]
        assert said == f"openstack baremetal node hold remove n1 {uuid}"
        assert f"Release {kind} … : fan" in document.text
    assert "maintenance unset" not in document.text  # that releases both


def add_events(service: Service, number: int) -> None:
    """Add events to the history of every node."""

    def add(session: Session) -> None:
        for node in session.scalars(select(Node)).all():
            for place in range(number):
                severity: Severity = "ERROR" if place % 2 else "INFO"
                record(
                    session, node, f"event {place} {HOSTILE}", event_type="power", severity=severity, conductor="host-7"
                )

    service.database.write(add)


def test_its_history(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baremetal_sched.ui.node.MOST_EVENTS", 2)
    service.add_node("n1", power=False)
    assert "Nothing has happened to it yet." in look(service, "/nodes/n1").text
    add_events(service, 3)
    document = look(service, "/nodes/n1")
    rows = [row[2:] for row in document.rows(EVENTS)]
    assert rows == [
        ["INFO", "power", f"event 2 {HOSTILE}", "available", "host-7", "none"],
        ["ERROR", "power", f"event 1 {HOSTILE}", "available", "host-7", "none"],
    ]
    assert "These are the newest 2." in document.text


@pytest.mark.shows_secrets
def test_secrets_are_not_shown(service: Service) -> None:
    service.add_node(
        "n1",
        power=False,
        driver_info={"ipmi_password": "hunter-two-22"},
        instance_info={"configdrive": "hunter-two-33"},
        extra={"password": "hunter-two-44"},
        properties={"api_token": "hunter-two-55"},
    )
    assert "hunter" not in look(service, "/nodes/n1").text


def test_the_number_of_statements_is_the_same_for_every_node(service: Service) -> None:
    few = service.add_node("few", power=False)
    many = service.add_node("many", traits=("CUSTOM_A", "CUSTOM_B"))
    for port in range(5):
        service.baremetal("POST", "/ports", {"node_uuid": many, "address": f"52:54:00:00:00:{port:02}"})
    add_events(service, 9)
    numbers = []
    for ident in (few, many, "few"):
        with service.statements() as statements:
            look(service, f"/nodes/{ident}")
        numbers.append(len(statements))
    assert numbers[0] == numbers[1] == numbers[2]
    assert numbers[0] <= 14


ODD = [
    ("n1", 404, "Node n1 could not be found"),
    (UNKNOWN, 404, UNKNOWN),
    ("a%20b", 400, "Expected UUID or name for node: a b"),
    ("%3Cscript%3E", 400, "<script>"),
    ("%E2%80%AE", 400, "\u202e"),
    ("a" * 3000, 400, "Expected UUID or name"),
    ("n1?x=1", 400, "Unexpected arguments: x"),
    ("n1/", 404, "could not be found"),
    ("n1/history", 404, "could not be found"),
]


def test_what_is_not_there(service: Service) -> None:
    for path, status, said in ODD:
        assert said in look(service, f"/nodes/{path}", status).text, path


def test_hostile_texts(service: Service) -> None:
    uuid = service.add_node(None, power=False, owner=HOSTILE, description=HOSTILE)
    service.set_columns(uuid, resource_class=HOSTILE, conductor_group=HOSTILE, driver=HOSTILE, instance_name=HOSTILE)
    found = facts(look(service, f"/nodes/{uuid}"))
    labels = ("Description", "Owner", "Resource class", "Conductor group", "Driver", "Instance name")
    assert {found[label] for label in labels} == {HOSTILE}
    service.set_columns(uuid, description="x" * 60_000, last_error="y" * 60_000)
    assert len(look(service, f"/nodes/{uuid}").text) < 10_000


def test_tenants_see_their_own_and_no_conductors(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("conductor-of-operators")
        bert = service.add_node("bert", owner="b", power=False)
        leased = service.add_node("leased", owner="b", lessee="a")
        service.set_columns(leased, reservation="conductor-of-operators", last_error="secret trouble")
        add_events(service, 1)
        anna = {"X-Auth-Token": "anna:a", "X-Roles": "reader"}

        def refusal(ident: str) -> str:  # without the second in which the page was made
            return re.sub(r"[0-9:]{8} UTC", "", look(service, f"/nodes/{ident}", 404, **anna).text)

        unknown = refusal("unheard-of")
        for ident in ("bert", bert):
            assert refusal(ident) == unknown.replace("unheard-of", ident)
        document = look(service, "/nodes/leased", **anna)
        assert facts(document)["Last error"] == "not shown to you"
        assert facts(document)["Ports"] == "0"
        assert "conductor-of" not in document.text
        assert "secret trouble" not in document.text
        assert EVENTS not in document.tables
        # Who works on it is hidden; that somebody does is why a command is refused.
        assert "other commands are refused" in document.text
        service.set_columns(leased, reservation=None)
        assert "other commands are refused" not in look(service, "/nodes/leased", **anna).text
        owner = look(service, "/nodes/leased", **{"X-Auth-Token": "bert:b", "X-Roles": "reader"})
        assert "Last error: secret trouble" in owner.text
        assert EVENTS in owner.tables
        assert "conductor-of" not in owner.text
        assert "host-7" not in owner.text
        operator = look(service, "/nodes/leased", **ADMIN)
        assert facts(operator)["Conductor"] == "conductor-of-operators"
        look(service, "/nodes/leased", 401)
