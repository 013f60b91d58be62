# tier: first
"""Ends on the pages: when a machine goes back by itself, to whom that is shown, and the forms that set it."""

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from baremetal_sched.db.clock import epoch
from baremetal_sched.placement.tables import CLAIM_ENDS, CONSUMERS
from tests.functional.compute import world
from tests.functional.scheduling.test_claims import post, show
from tests.functional.ui.logging_in import BEHIND, file_settings, get, log_in
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_actions import form_of
from tests.functional.ui.test_claims import CLAIMS
from tests.service import Service

WEDNESDAY = "2050-11-30T18:30"
SHOWN = "2050-11-30 18:30:00 UTC"
ATTENTION = "What needs attention, the worst first"
IN_FORM = "2050-11-30T18:30"


def end(service: Service, consumer: str, state: str = "set", reason: str | None = None) -> None:
    """Give a consumer an end, or another state of its end."""
    at = datetime.fromisoformat(f"{WEDNESDAY}+00:00").timestamp()
    own = select(CONSUMERS.c.id).where(CONSUMERS.c.uuid == consumer)

    def write(session: Any) -> None:
        values = {"state": state, "ends_at": at, "due_at": at, "reason": reason}
        given = session.execute(update(CLAIM_ENDS).where(CLAIM_ENDS.c.consumer_id.in_(own)).values(values))
        if not given.rowcount:
            times = {name: epoch() for name in ("began_at", "set_at")}
            session.execute(insert(CLAIM_ENDS).values(consumer_id=own.scalar_subquery(), tries=0, **times, **values))

    service.database.write(write)


def test_a_claim_gets_an_end_from_the_form_and_it_is_moved_and_removed(service: Service) -> None:
    service.add_conductor("c1")
    service.add_node("n1")
    form = form_of(service.http.get("/ui/find?class=gold").click("Claim a machine …"))
    form["hours"] = "8"
    claims = form.submit(status=303).follow()
    (row,) = read(claims).rows(CLAIMS)
    uuid = service.http.get("/scheduling/v1/claims").json["claims"][0]["uuid"]
    given = show(service, uuid)
    assert given["end"] == "set"
    assert given["until"][:16].replace("T", " ") in row[4] or given["until"][11:16] in row[4]
    form = form_of(claims.click("Move the end …"))
    assert form["until"].value == given["until"][:16]
    form["until"] = WEDNESDAY
    assert f"claim {uuid}: Its end is changed." in read(form.submit(status=303).follow()).text
    assert show(service, uuid)["until"] == f"{WEDNESDAY}:00.000000+00:00"
    assert f"given back on {SHOWN}" in look(service, "/claims").text
    assert f"given back on {SHOWN}" in look(service, "/nodes/n1").text
    form = form_of(service.http.get("/ui/claims").click("Move the end …"))
    form["until"] = ""
    form.submit(status=303)
    assert show(service, uuid)["until"] is None
    assert "Given back" not in look(service, "/claims").text
    form = form_of(service.http.get("/ui/claims").click("Set an end …"))
    form["until"] = "2020-01-01T00:00"
    assert "is over" in read(form.submit(status=400)).text


def test_what_the_form_that_claims_refuses(service: Service, subtests: pytest.Subtests) -> None:
    service.add_conductor("c1")
    service.add_node("n1")
    for fields, status, said in (
        ({"hours": "8", "until": WEDNESDAY}, 400, "not both"),
        ({"hours": "0"}, 400, "for"),
        ({"hours": "soon"}, 400, "Expected a number of hours: soon"),
        ({"until": "tomorrow"}, 400, "until"),
    ):
        with subtests.test(fields=fields):
            form = form_of(service.http.get("/ui/find?class=gold").click("Claim a machine …"))
            for name, value in fields.items():
                form[name] = value
            assert said in read(form.submit(status=status)).text


def test_from_when_a_machine_could_be_had(service: Service) -> None:
    """By the end of the one that is in use, and the time that it needs to be clean; for claims without end, never."""
    service.add_conductor("c1")
    service.add_node("n1")
    uuid = post(service, status=201).json["uuid"]
    assert "It is not known when" in look(service, "/find?class=gold").text
    end(service, uuid)
    assert "It could be had from 2050-11-30 19:30:00 UTC" in look(service, "/find?class=gold").text
    service.add_node("n2")
    assert "could be had" not in look(service, "/find?class=gold").text


def test_a_server_gets_an_end_on_its_page(service: Service) -> None:
    service.add_conductor("c1")
    service.add_node("n1")
    uuid = world.boot(service, name="web")["uuid"]
    page = service.http.get(f"/ui/servers?uuid={uuid}")
    assert "Given back" not in read(page).text
    page = page.click("Set an end …")
    assert "a server is deleted" in read(page).text
    form = form_of(page)
    form["until"] = WEDNESDAY
    assert f"server {uuid}: Its end is changed." in read(form.submit(status=303).follow()).text
    with service.statements() as statements:
        document = look(service, "/servers")
    assert len(statements) <= 7
    assert "2050-11-30 18:30 UTC" in document.rows("Servers")[0]
    form = form_of(service.http.get("/ui/servers").click("Move the end …"))
    assert form["until"].value == IN_FORM
    form["until"] = ""
    form.submit(status=303)
    assert "Given back" not in look(service, "/servers").text


def test_what_is_late_needs_attention(service: Service) -> None:
    """The fleet page counts it and leads to the list, in which the reason is. Its end can no longer be moved."""
    service.add_conductor("c1")
    service.add_node("n1")
    service.add_node("n2")
    uuid = post(service, status=201).json["uuid"]
    post(service, status=201)
    end(service, uuid, "late", "The node is being cleaned.")
    document = look(service)
    (row,) = [row for row in document.rows(ATTENTION) if "given back" in row[0]]
    assert row[:2] == ["could not be given back at its end", "1"]
    assert "openstack scheduling claim list --late" in row[2]
    assert "/ui/claims?late=true" in document.links()
    late = service.http.get("/ui/claims?late=true")
    assert [row[0] for row in read(late).rows(CLAIMS)] in (["n1"], ["n2"])
    assert "late to be given back on 2050-11-30 18:30:00 UTC : The node is being cleaned." in read(late).text
    assert "the end …" not in late.text
    assert len(look(service, "/claims").rows(CLAIMS)) == 2
    assert len(look(service, "/claims?late=false").rows(CLAIMS)) == 1


def test_what_no_conductor_has_given_back_in_time_is_late(service: Service) -> None:
    """It is on the pages as in the API."""
    service.add_conductor("c1")
    service.add_node("n1")
    uuid = post(service, status=201).json["uuid"]
    end(service, uuid)
    past = datetime.now(UTC) - timedelta(minutes=2)
    values = {"ends_at": past.timestamp()}
    service.database.write(lambda session: session.execute(update(CLAIM_ENDS).values(values)) and None)
    assert show(service, uuid)["end"] == "late"
    assert ["could not be given back at its end", "1"] in [row[:2] for row in look(service).rows(ATTENTION)]
    for page in ("/claims", "/nodes/n1"):
        assert "late to be given back on" in look(service, page).text


def test_a_late_server_is_in_the_list_of_what_is_late(service: Service) -> None:
    service.add_conductor("c1")
    service.add_node("n1")
    uuid = world.boot(service, name="web")["uuid"]
    end(service, uuid, "late", "The node is being cleaned.")
    document = look(service, "/claims?late=true")
    assert [row[0] for row in document.rows(CLAIMS)] == ["n1"]
    assert [each["uuid"] for each in service.http.get("/ui/claims?late=true&format=json").json["claims"]] == [uuid]
    assert look(service, "/claims?late=true&project=nobody").all("table") == []
    assert f"/ui/servers?uuid={uuid}" in document.links()
    assert "Give back …" not in document.text
    assert look(service, "/claims").all("table") == []


def test_the_moment_is_no_secret_and_the_person_is(database_url: str, tmp_path: Path) -> None:
    """Who may use a machine learns when it is given back, and neither by whom nor why it is late."""
    with Service(database_url, **file_settings(tmp_path)) as service:
        service.add_conductor("c1")
        service.add_node("n1", lessee="p1", owner="p2")
        log_in(service, "root")
        login = f"root:root{BEHIND}"
        consumer = {"project_id": "p2", "user_id": "secret-person"}
        uuid = service.http.post_json(
            "/scheduling/v1/claims",
            {"query": "resources=CUSTOM_GOLD:1", "consumer": consumer},
            headers={"Authorization": f"Basic {b64encode(login.encode()).decode()}"},
            status=201,
        ).json["uuid"]
        shown: dict[str, Callable[[str], bool]] = {
            "ann": lambda text: "secret" not in text and "shy" not in text,
            "root": lambda text: "secret-person" in text and "shy-reason" in text,
        }
        end(service, uuid, "late", "shy-reason")
        for user, is_right in shown.items():
            service.http.reset()
            log_in(service, user)
            text = read(get(service, "/nodes/n1")).text
            assert f"late to be given back on {SHOWN}" in text
            assert is_right(text), text
