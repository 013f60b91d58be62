"""The page of servers: which there are, on which machines, and what went wrong."""

from typing import Any

import pytest

from baremetal_sched.db.models import Server
from tests.functional.compute import world
from tests.functional.ui.pages import Document, look
from tests.functional.ui.test_fleet import HOSTILE
from tests.service import Service

FAILED = {"code": 500, "message": "No valid host was found.", "details": "n9 is in maintenance.", "created": "2026"}
TENANT = {"X-Auth-Token": "ann", "X-Project-Id": "p1", "X-User-Id": "ann", "X-Roles": "member,reader"}
ROOT = {"X-Auth-Token": "root", "X-Project-Id": "p0", "X-User-Id": "root", "X-Roles": "admin,member,reader"}


def names(document: Document) -> list[str]:
    return [row[0] for row in document.rows("Servers")] if "Servers" in document.tables else []


def change(service: Service, uuid: str, **values: Any) -> None:
    """Change columns of a server behind the API's back."""

    def set_all(session: Any) -> None:
        server = session.query(Server).filter_by(uuid=uuid).one()
        for name, value in values.items():
            setattr(server, name, value)

    service.database.write(set_all)


@pytest.fixture
def servers(service: Service) -> Service:
    """Three servers: one runs, one has failed, and one of another project is being deleted."""
    nodes = [service.add_node(name) for name in ("n1", "n2", "n3")]
    uuids = [world.boot(service, name=name)["uuid"] for name in ("one", "two", HOSTILE)]
    for node in nodes:
        service.set_columns(node, provision_state="active", power_state="power on")
    service.set_columns(_node_of(service, uuids[1]), provision_state="error")
    change(service, uuids[1], fault=FAILED)
    change(service, uuids[2], project_id="p2", task="deleting")
    return service


def _node_of(service: Service, server: str) -> str:
    node: str = world.show(service, server)["node"]
    return node


def test_what_there_is(servers: Service) -> None:
    document = look(servers, "/servers")
    rows = {row[0]: row[1:] for row in document.rows("Servers")}
    assert set(rows) == {"one", "two", HOSTILE}
    assert rows["one"][0] == "ACTIVE"
    assert rows["one"][1] in ("n1", "n2", "n3")
    assert rows["one"][2:-1] == ["bm.gold", "i1", "p1", "now"]
    assert rows["two"][0] == "ERROR"
    assert rows[HOSTILE][0] == "ACTIVE deleting"
    assert {"ACTIVE: 2", "ERROR: 1"} <= {text for _, text in document.texts}


def test_the_node_of_a_server_leads_to_it(servers: Service) -> None:
    (node,) = [link for link in look(servers, "/servers?name=one").links() if link.startswith("/ui/nodes/")]
    (server,) = {link for link in look(servers, node.removeprefix("/ui")).links() if "/ui/servers?" in link}
    assert names(look(servers, server.removeprefix("/ui"))) == ["one"]


def test_which_are_in_error_and_why_is_one_link_away(servers: Service) -> None:
    assert "/ui/servers?status=ERROR" in look(servers, "/servers").links()
    document = look(servers, "/servers?status=error")
    (row,) = document.rows("Servers")
    assert (row[0], row[-2]) == ("two", "No valid host was found.")


def test_filters(servers: Service, subtests: pytest.Subtests) -> None:
    for query, found in [
        ("status=ACTIVE&sort_key=name", {"one", HOSTILE}),
        ("status=BUILD", set()),
        ("name=TW", {"two"}),
        ("project=p2", {HOSTILE}),
        ("flavor=f1&image=11111111-1111-4111-8111-111111111111", {"one", "two", HOSTILE}),
        ("flavor=other", set()),
    ]:
        with subtests.test(query=query):
            document = look(servers, f"/servers?{query}")
            assert set(names(document)) == found
            assert ("No server matches" in document.text) == (not found)


@pytest.mark.sqlite_only
def test_what_is_refused(servers: Service, subtests: pytest.Subtests) -> None:
    for query, status, said in [
        ("status=eror", 400, "No server has the status 'eror'. Did you mean 'ERROR'?"),
        ("sort_key=nam", 400, "Did you mean 'name'?"),
        ("marker=x", 400, "Expected UUID for marker: x"),
        ("marker=99999999-9999-4999-8999-999999999999", 404, "no longer exists"),
        ("colour=red", 400, "Unexpected arguments: colour"),
    ]:
        with subtests.test(query=query):
            assert said in look(servers, f"/servers?{query}", status).text


def test_pages_both_ways(servers: Service) -> None:
    first = look(servers, "/servers?limit=1&sort_key=name")
    (second,) = [link for link in first.links() if "marker=" in link]
    document = look(servers, second.removeprefix("/ui"))
    assert len(names(document)) == 1
    assert names(document) != names(first)
    (back,) = [link for link in document.links() if "before=" in link]
    assert names(look(servers, back.removeprefix("/ui"))) == names(first)


def test_a_page_takes_few_statements(servers: Service) -> None:
    look(servers, "/servers")
    with servers.statements() as statements:
        look(servers, "/servers?status=ERROR&sort_key=name")
    assert len(statements) <= 6


@pytest.mark.sqlite_only
def test_projects_see_their_own_without_machines(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        service.add_node("n2")
        uuids = {project: world.boot(service, name=f"of-{project}")["uuid"] for project in ("p1", "p2")}
        for project, uuid in uuids.items():
            change(service, uuid, project_id=project)
        # That another project has a server is not told by where a page may begin.
        look(service, f"/servers?marker={uuids['p2']}", 404, **TENANT)
        look(service, f"/servers?marker={uuids['p1']}", **TENANT)
        document = look(service, "/servers", **TENANT)
        assert names(document) == ["of-p1"]
        assert "You see the servers of your project." in document.text
        assert "Node" not in document.tables["Servers"][0]
        assert sorted(names(look(service, "/servers?project=p2", **ROOT))) == ["of-p2"]
        assert names(look(service, "/servers?project=p2", **TENANT)) == []
        # A project leases a machine on which a server of another one runs: it sees no link that leads to nothing.
        node = _node_of(service, uuids["p2"])
        service.set_columns(node, owner="p0", lessee="p1")
        link = f"/ui/servers?uuid={uuids['p2']}"
        assert [link in look(service, f"/nodes/{node}", **who).links() for who in (TENANT, ROOT)] == [False, True]
