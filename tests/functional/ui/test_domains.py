# tier: first
"""The page of domains: a box for each, with its machines by state; what tenants see; and the hold of a rack."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.functional.scheduling.test_domains import OWNER, OWNERS_ADMIN, ask, make, put
from tests.functional.ui.pages import Document, look
from tests.service import ADMINISTRATOR, Service

MARKUP = "<script>alert(1)</script>&amp;"


def boxes(document: Document) -> list[str]:
    """The domains, as their headings lead to their machines."""
    queries = (dict(parse_qsl(urlsplit(link).query)) for link in document.links() if link.startswith("/ui/nodes?"))
    return [query["domain"] for query in queries if "offer" not in query]


def counts(document: Document, domain: str) -> dict[str, str]:
    """The table of a box: machines by state."""
    return dict(document.rows(f"Machines of {domain}"))


def test_an_empty_service(service: Service) -> None:
    document = look(service, "/domains")
    assert "There are no domains yet." in document.text
    assert not document.all("svg")


def test_each_domain_has_a_box_with_its_machines_by_state(service: Service) -> None:
    for name in ("n1", "n2", "n3", "n4"):
        service.add_node(name)
    make(service, "a", "row")
    put(service, make(service, "r1", parent="row:a"), "n1", "n2")
    put(service, make(service, "r <2>", parent="row:a"), "n3")
    make(service, "empty")
    query = f"resources=CUSTOM_GOLD:1&in_tree={service.node('n2')['uuid']}"
    service.http.post_json("/scheduling/v1/claims", {"query": query})
    service.baremetal("PUT", "/nodes/n3/maintenance", {"reason": "fan"})
    document = look(service, "/domains")
    assert boxes(document) == ["rack:empty", "rack:r <2>", "rack:r1", "row:a"]
    assert counts(document, "rack:r1") == {"free": "1", "allocated": "1"}
    assert counts(document, "rack:r <2>") == {"maintenance": "1"}
    assert counts(document, "row:a") == {"free": "1", "allocated": "1", "maintenance": "1"}
    assert len(document.all("svg")) == 4
    for link in [each for each in document.links() if "offer=" in each]:
        assert len(look(service, link.removeprefix("/ui")).rows("Nodes")) == 1
    below = next(each for each in document.links() if each.startswith("/ui/domains?parent="))
    assert boxes(look(service, below.removeprefix("/ui"))) == ["rack:r <2>", "rack:r1"]
    assert boxes(look(service, "/domains?level=row")) == ["row:a"]


def test_pages_of_fifty(service: Service) -> None:
    for number in range(53):
        make(service, f"r{number:02}")
    first = look(service, "/domains")
    assert (len(boxes(first)), "53 domains" in first.text) == (50, True)
    rest = look(service, next(each for each in first.links() if "marker=" in each).removeprefix("/ui"))
    assert boxes(rest) == ["rack:r50", "rack:r51", "rack:r52"]
    back = look(service, next(each for each in rest.links() if "before=" in each).removeprefix("/ui"))
    assert boxes(back) == boxes(first)
    assert len(boxes(look(service, "/domains?limit=60"))) == 50


def test_a_rack_is_held(service: Service) -> None:
    for name in ("n1", "n2", "n3"):
        service.add_node(name)
    rack = make(service, "r1")
    put(service, rack, "n1", "n2")
    document = look(service, "/domains")
    link = next(each for each in document.links() if each.startswith("/ui/confirm?action=hold+domain"))
    asked = service.http.get(link)
    assert "rack:r1" in asked.text
    form = asked.forms[1]
    form["reason"] = "power works"
    done = form.submit().follow()
    assert "rack:r1: Its machines are held." in done.text
    held = service.http.get("/scheduling/v1/holds").json["maintenance"]
    assert [(each["node_name"], each["reason"]) for each in held] == [("n1", "power works"), ("n2", "power works")]
    assert counts(look(service, "/domains"), "rack:r1") == {"maintenance": "2"}


@pytest.mark.sqlite_only
def test_what_is_refused(service: Service, subtests: pytest.Subtests) -> None:
    make(service, MARKUP)
    for query, said in [
        ("level=rak", "There is no level rak. Levels: rack."),
        ("parent=rack:x", "There is no domain rack:x."),
        ("colour=red", "Unexpected arguments: colour"),
        ("marker=dddddddd-0000-4000-8000-000000000001", "There is nothing with the UUID"),
        ("limit=0", "at least 1"),
    ]:
        with subtests.test(query=query):
            assert said in look(service, f"/domains?{query}", 400).text
    assert MARKUP in look(service, "/domains").text


def test_statements_do_not_depend_on_the_fleet(service: Service) -> None:
    numbers = []
    for rack in ("r1", "r2", "r3"):
        for place in range(3):
            service.add_node(f"{rack}-{place}")
        put(service, make(service, rack, parent=make(service, rack, "row")), *(f"{rack}-{place}" for place in range(3)))
        with service.statements() as statements:
            look(service, "/domains?level=rack")
        numbers.append(len(statements))
    assert max(numbers) <= 10
    assert len(set(numbers)) == 1


def test_what_tenants_see(database_url: str) -> None:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("c1")
        for node, owner, rack in (("n1", "owners", "r1"), ("n2", "others", "r1"), ("n3", "others", "r2")):
            service.add_node(node, owner=owner)
            if not ask(service, "GET", f"?name={rack}", by=ADMINISTRATOR)["domains"]:
                ask(service, "POST", body={"name": rack, "level": "rack"}, status=201, by=ADMINISTRATOR)
            ask(service, "PUT", f"/rack:{rack}/nodes/{node}", status=204, by=ADMINISTRATOR)
        document = look(service, "/domains", **OWNER)
        assert (boxes(document), counts(document, "rack:r1")) == (["rack:r1"], {"free": "1"})
        assert not re.search("Hold r1|r2", document.text)
        assert "Hold r1" not in look(service, "/domains", **ADMINISTRATOR).text  # nobody logs in here
        foreign, missing = (
            look(service, f"/domains?parent=rack:{name}", 400, **OWNER).text.partition("There is no domain")[2]
            for name in ("r2", "r3")
        )
        assert foreign.replace("r2", "r3") == missing != ""
        look(service, "/domains", 403, **{"X-Auth-Token": "u:a", "X-Roles": "other"})
        # The list of nodes has no other machines for administrators of a project: no number leads to an error.
        for address in ("/domains", "/capacity?level=rack"):
            document = look(service, address, **OWNERS_ADMIN)
            links = [each.removeprefix("/ui") for each in document.links() if each.startswith("/ui/nodes?domain=")]
            assert {len(look(service, link, **OWNERS_ADMIN).rows("Nodes")) for link in links} == {1}
