"""The page of events, the newest first."""

import pytest
from webtest import TestResponse

from baremetal_sched.scheduling.events import reading
from tests.functional.scheduling.happening import CLAIMED, RELEASED, happen
from tests.functional.scheduling.test_domains import make, put
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_fleet import HOSTILE
from tests.numbered import number_all
from tests.service import ADMINISTRATOR, Service

TABLE = "Events, the newest first"
ANNA = {"X-Auth-Token": "anna:a", "X-Roles": "member,reader"}


def ask(service: Service, query: str, status: int = 200) -> TestResponse:
    return service.http.get(f"/ui/events?{query}", status=status)


def test_what_has_happened(service: Service) -> None:
    assert "No event." in look(service, "/events").text
    uuid = service.add_node("n1", owner="a")
    service.patch(uuid, ("add", "/description", HOSTILE))
    number_all(service)
    with service.statements() as statements:
        shown = look(service, "/events")
    assert len(statements) <= 5
    newest, oldest = shown.rows(TABLE)
    assert newest[1:] == ["node.update.end", "n1", f"description: - -> {HOSTILE}", "unknown"]
    assert oldest[1:3] == ["node.create.end", "n1"]
    assert oldest[4] == "the service"
    assert f"/ui/nodes/{uuid}" in shown.links()
    assert f"/ui/events?node={uuid}" in look(service, f"/nodes/{uuid}").links()


def test_filters(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = service.add_node("n1")
    service.add_node("n2")
    put(service, make(service, "r1"), "n1")
    number_all(service)
    happen(service, uuid, type=RELEASED, at=100.0, user_id="anna")
    rows = {
        "node=n1": ["machine.released", "node.domain_set.end", "node.create.end"],
        "domain=rack:r1": ["machine.released", "node.domain_set.end", "node.create.end"],
        f"node={uuid}&type=baremetal.node.*": ["node.domain_set.end", "node.create.end"],
        "user_id=anna": ["machine.released"],
        "user_id=nobody": [],
        "since=hour": ["machine.released", "node.domain_set.end", "node.create.end", "node.create.end"],
        f"subject={uuid}&type={RELEASED}": ["machine.released"],
    }
    for query, expected in rows.items():
        shown = read(ask(service, query))
        assert [row[1] for row in shown.tables.get(TABLE, [[]])[1:]] == expected, query
    for query, words in {
        "node=nosuch": "There is no node nosuch",
        "domain=rack:r9": "There is no",
        "type=nosuch": "There is no type of events",
        "before=x": "is no cursor",
        "since=x": "must be a time",
    }.items():
        assert words in read(ask(service, query, 400)).text
    assert "colour" in read(ask(service, "colour=red", 400)).text
    monkeypatch.setattr(reading, "WINDOW", 1)
    shown = read(ask(service, f"type={CLAIMED}"))
    assert "Older ones may be" in shown.text
    older = next(link for link in shown.links() if "before=" in link)
    assert f"type={CLAIMED}" in older
    assert "The newest" in read(service.http.get(older)).text


def test_pages(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    happen(service, *(f"{number:08}-0000-4000-8000-000000000001" for number in range(70)))
    first = look(service, "/events")
    second = read(service.http.get(next(link for link in first.links() if "before=" in link)))
    assert [len(each.rows(TABLE)) for each in (first, second)] == [50, 20]
    assert not [link for link in second.links() if "before=" in link]


def test_what_a_project_sees(secured: Service) -> None:
    secured.add_node("n1", owner="a")
    secured.add_node("n2", owner="b")
    number_all(secured)
    shown = read(secured.http.get("/ui/events", headers=ANNA))
    assert [row[2] for row in shown.rows(TABLE)] == ["n1"]
    assert "There is no node n2" in read(secured.http.get("/ui/events?node=n2", headers=ANNA, status=400)).text
    assert len(read(secured.http.get("/ui/events", headers=ADMINISTRATOR)).rows(TABLE)) == 2


def test_switched_off(database_url: str) -> None:
    with Service(database_url, events={"enabled": False}) as service:
        assert "[events] enabled" in look(service, "/events").text


def test_links_lead_to_nodes_that_the_reader_sees(secured: Service) -> None:
    """A machine that a project had, and does not see, is not linked, nor is a deleted one."""
    own, other = secured.add_node("n1", owner="a"), secured.add_node("n2", owner="b")
    happen(secured, other, projects=("a",))
    number_all(secured)
    shown = read(secured.http.get("/ui/events", headers=ANNA))
    assert {each for each in shown.links() if each.startswith("/ui/nodes/")} == {f"/ui/nodes/{own}"}
    assert other[:8] in shown.text
    everything = read(secured.http.get("/ui/events", headers=ADMINISTRATOR)).links()
    assert f"/ui/nodes/{other}" in everything
    secured.http.delete(f"/baremetal/v1/nodes/{other}", headers=ADMINISTRATOR)
    assert f"/ui/nodes/{other}" not in read(secured.http.get("/ui/events", headers=ADMINISTRATOR)).links()
