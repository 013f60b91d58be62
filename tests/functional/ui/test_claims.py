# tier: first
"""The page of claims that have machines, and giving them back."""

from pathlib import Path
from urllib.parse import urlencode

from baremetal_sched.scheduling import claims
from tests.functional.compute import world
from tests.functional.scheduling.test_claims import UUID, listed, post
from tests.functional.scheduling.test_several import claim, fill
from tests.functional.ui.logging_in import BROWSER, file_settings, get, log_in
from tests.functional.ui.pages import Document, look, read
from tests.functional.ui.test_actions import form_of
from tests.functional.ui.test_servers import change
from tests.functional.ui.test_waiting import wait
from tests.service import Service

CLAIMS = "Claims"


def names(document: Document) -> list[str]:
    """Return the first column, without the machines that unfold."""
    return [row[0] for row in document.rows(CLAIMS)] if CLAIMS in document.tables else []


def get_claim(service: Service, uuid: str) -> str:
    """The state of a claim, whoever may see it."""
    state: str = service.database.read(lambda session: claims.show(session, uuid).state)
    return state


def test_nothing_is_claimed(service: Service) -> None:
    wait(service, UUID)  # one that waits has no machine
    assert "No claim has a machine." in look(service, "/claims").text


def test_one_row_a_claim(service: Service) -> None:
    """With its machines and their domains; what was given back is not there."""
    service.add_conductor("c1")
    fill(service, a=2, b=1)
    service.add_node("alone", resource_class="silver")
    several = claim(service, 2, spread={"by": "rack", "at_most": 1})
    post(service, {"resource_class": "silver"}, status=201)
    with service.statements() as statements:
        document = look(service, "/claims")
    assert len(statements) <= 12
    rows = document.rows(CLAIMS)
    assert [row[1] for row in rows] == ["CUSTOM_SILVER", "CUSTOM_GOLD"]
    assert rows[0][0] == "alone"
    assert rows[1][0].startswith("2 machines")
    assert "b-0 b" in rows[1][0]
    assert [row[2] for row in rows] == ["none", "a, b"]
    assert not [each for each in document.all("details") if "open" in each]
    one = look(service, f"/claims?uuid={several['uuid']}")
    assert len(one.rows(CLAIMS)) == 1
    assert f"/ui/events?subject={several['uuid']}" in one.links()
    assert [each["class"] for each in one.all("details") if "open" in each] == ["unfolds"]
    assert names(look(service, "/claims?project=nobody")) == []
    assert names(look(service, "/claims?resource_class=silver")) == ["alone"]
    first = look(service, "/claims?limit=1")
    (after,) = [each["href"] or "" for each in first.all("a") if each.get("rel") == "next"]
    assert names(look(service, after.removeprefix("/ui")))[0].startswith("2 machines")
    exported = service.http.get("/ui/claims?format=json").json["claims"]
    assert [each["uuid"] for each in exported] == listed(service)[::-1]


def test_a_claim_is_given_back_on_its_page_and_on_that_of_a_node(service: Service) -> None:
    service.add_conductor("c1")
    fill(service, a=2)
    service.add_node("alone", resource_class="silver")
    several = claim(service, 2)["uuid"]
    post(service, {"resource_class": "silver"}, status=201)
    page = service.http.get(f"/ui/claims?uuid={several}").click("Give back …")
    assert "a-0; a-1" in read(page).text.replace(" ;", ";")
    assert "2 machines." in read(page).text.replace(" .", ".")
    done = form_of(page).submit(status=303)
    assert f"claim {several}: It has ended" in read(done.follow()).text
    (single,) = listed(service)
    document = look(service, "/nodes/alone")
    assert f"/ui/claims?uuid={single}" in document.links()
    assert "Give it back when it is no longer needed." in document.text
    assert "resource provider allocation delete" not in document.text
    form_of(service.http.get("/ui/nodes/alone").click("Give back …")).submit(status=303)
    assert listed(service) == []


def test_the_machine_of_a_claim_of_several_leads_to_that_claim(service: Service) -> None:
    service.add_conductor("c1")
    fill(service, a=2)
    several = claim(service, 2)["uuid"]
    assert f"/ui/claims?uuid={several}" in look(service, "/nodes/a-1").links()
    remedy = service.http.get("/scheduling/v1/nodes/a-1/availability").json["reasons"][0]["remedy"]
    assert remedy.endswith(f"give it back:\nopenstack scheduling claim cancel {several}")


def test_others_do_not_see_it(database_url: str, tmp_path: Path) -> None:
    """Nor learn from the confirmation what it has."""
    with Service(database_url, **file_settings(tmp_path)) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        log_in(service, "root")
        item = "class=gold"
        page = form_of(get(service, f"/confirm?{urlencode({'action': 'claim', 'item': item})}"))
        place = page.submit(headers=BROWSER, status=303).headers["Location"]
        uuid = place.partition("=")[2]
        assert names(read(get(service, f"/claims?uuid={uuid}"))) != []
        service.add_node("n2", owner="p1")
        service.http.reset()
        log_in(service, "ann")
        assert names(read(get(service, "/claims"))) == []
        shown = read(get(service, f"/confirm?action=give+back&item={uuid}")).text
        refused = form_of(get(service, f"/confirm?action=give+back&item={uuid}")).submit(headers=BROWSER, status=404)
        assert "There is no claim" in read(refused).text
        assert "n1" not in shown
        assert "n2" not in shown
        assert get_claim(service, uuid) == "claimed"
        # A member claims for their own project, and gives it back.
        page = form_of(get(service, f"/confirm?{urlencode({'action': 'claim', 'item': item})}"))
        page.submit(headers=BROWSER, status=303)
        assert names(read(get(service, "/claims"))) == ["n2"]
        page = form_of(get(service, "/claims").click("Give back …"))
        page.submit(headers=BROWSER, status=303)
        assert names(read(get(service, "/claims"))) == []


def test_undeploying_names_the_servers(service: Service) -> None:
    """Those that the caller sees in compute, and the number of the others."""
    service.add_conductor("c1")
    for name in ("n1", "n2"):
        service.add_node(name)
    for name in ("web-1", "web-2"):
        world.boot(service, name=name)
    uuids = [service.node(name)["uuid"] for name in ("n1", "n2")]
    query = urlencode({"action": "deleted", "item": uuids}, doseq=True)
    shown = look(service, f"/confirm?{query}").text
    assert "Undeploy: 2 machines" in shown
    for name in ("web-1", "web-2"):
        assert f"server {name} of project" in shown
    assert "2 machines with 2 servers" in shown


def test_servers_of_others_are_counted(database_url: str, tmp_path: Path) -> None:
    with Service(database_url, **file_settings(tmp_path)) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", owner="p1")
        change(service, world.boot(service, name="secret-name")["uuid"], project_id="p2")
        for user, named in (("ann", False), ("root", True)):
            log_in(service, user)
            shown = read(get(service, f"/confirm?action=deleted&item={uuid}")).text
            assert ("server secret-name of project p2" in shown) == named, user
            assert ("1 machine with 1 server, 1 of which you may not see" in shown) == (not named), user
            service.http.reset()
