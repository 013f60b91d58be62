"""What pages propose, they do: by one request of the API, for the same caller."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from sqlalchemy import select
from webtest import Form, TestResponse

from baremetal_sched.db.models import Hold, Node, WaitingRequest
from baremetal_sched.db.models.base import table_of
from baremetal_sched.ui.actions import ACTIONS
from tests.functional.scheduling.test_claims import UUID, listed
from tests.functional.scheduling.test_several import fill
from tests.functional.ui.logging_in import BROWSER, ROLES, file_settings, get, log_in
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_fleet import HOSTILE
from tests.functional.ui.test_waiting import wait
from tests.service import Service
from tests.unchanged import unchanged

pytestmark = pytest.mark.sqlite_only


def form_of(answer: TestResponse, path: str = "/act") -> Form:
    """The form of a page that is sent to this path."""
    read(answer)
    (found,) = {id(form): form for form in answer.forms.values() if form.action.endswith(f"/ui{path}")}.values()
    return found


def confirmed(service: Service, action: str, item: str, **fields: Any) -> TestResponse:
    """Confirm an action on an item, and return the answer."""
    query = urlencode({"action": action, "item": item, "back": "/ui/nodes?owner=x"})
    form = form_of(service.http.get(f"/ui/confirm?{query}"))
    for name, value in fields.items():
        form[name] = value
    return form.submit(expect_errors=True)


def post(
    service: Service, path: str, fields: dict[str, Any], status: int | str | None = None, **more: Any
) -> TestResponse:
    """Send fields that no form of a page has, with the token that it has."""
    token = form_of(service.http.get("/ui/confirm?action=release&item=x"))["csrf_token"].value
    body = urlencode({**fields, "csrf_token": token}, doseq=True)
    return service.http.post(f"/ui/{path}", body, status=status, **more)


def holds(service: Service, node: str = "n1") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.http.get(f"/scheduling/v1/nodes/{node}/holds").json["maintenance"]
    return found


def test_a_machine_is_held_and_one_hold_is_released(service: Service) -> None:
    uuid = service.add_node("n1")
    other = service.http.post_json("/scheduling/v1/nodes/n1/holds", {"type": "window"}, status=201).json["uuid"]
    page = service.http.get("/ui/nodes/n1").click("Hold …")
    assert "the machine is not given out" in read(page).text
    form = form_of(page)
    assert form["reason"].attrs.get("required") is not None
    form["reason"], form["until"], form["drain"] = HOSTILE, "2050-12-31T18:30", True
    form["deadline"], form["ticket"] = "2050-12-30T18:30", "T-4711"
    done = form.submit(status=303)
    assert done.headers["Location"] == "/ui/nodes/n1"
    assert "n1: It is held." in read(done.follow()).text
    assert "It is held." not in look(service, "/nodes/n1").text  # it is said once
    (mine,) = [each for each in holds(service) if each["uuid"] != other]
    assert (mine["type"], mine["reason"], mine["drain"]) == ("operator_hold", HOSTILE, True)
    assert mine["ends_at"] == "2050-12-31T18:30:00.000000+00:00"
    assert (mine["drain_deadline"], mine["extra"]) == ("2050-12-30T18:30:00.000000+00:00", {"ticket": "T-4711"})
    again = confirmed(service, "hold", uuid, reason=HOSTILE)
    assert again.status_int == 409
    assert f"has hold {mine['uuid']} of type operator_hold by you for the same reason" in read(again).text
    assert form_of(again)["type"].value == "operator_hold"
    released = form_of(service.http.get("/ui/nodes/n1").click("Release operator_hold …")).submit(status=303)
    assert "n1, operator_hold" in read(released.follow()).text
    assert [each["uuid"] for each in holds(service)] == [other]
    assert confirmed(service, "release", f"{uuid}/{mine['uuid']}").status_int == 404


def test_an_end_in_the_past_is_refused_by_the_api(service: Service) -> None:
    uuid = service.add_node("n1")
    with unchanged(service):
        refused = confirmed(service, "hold", uuid, reason="move", until="2020-01-01T00:00")
    assert refused.status_int == 400
    assert "ends_at must be later than now" in read(refused).text
    assert form_of(refused)["until"].value == "2020-01-01T00:00"


def test_a_hold_has_a_reason_and_a_window_a_start(service: Service) -> None:
    uuid = service.add_node("n1")
    with unchanged(service):
        refused = confirmed(service, "hold", uuid, type="window", start="2050-01-01T00:00")
    assert refused.status_int == 400
    assert "Give a reason" in read(refused).text
    form = form_of(refused)
    form["reason"] = "move"
    form.submit(status=303)
    (planned,) = holds(service)
    assert (planned["state"], planned["starts_at"]) == ("planned", "2050-01-01T00:00:00.000000+00:00")


def test_maintenance(service: Service) -> None:
    service.add_node("n1")
    form = form_of(service.http.get("/ui/nodes/n1").click("Maintenance on …"))
    form["reason"] = "fan"
    form.submit(status=303)
    assert service.node("n1")["maintenance_reason"] == "fan"
    form_of(service.http.get("/ui/nodes/n1").click("Maintenance off …")).submit(status=303)
    assert service.node("n1")["maintenance"] is False
    for action in ("maintenance on", "maintenance off"):
        assert confirmed(service, action, str(uuid4())).status_int == 404


VERBS = [
    ("active", "available", {}, "manageable"),
    ("deleted", "active", {}, "available"),
    ("rebuild", "active", {}, "available"),
    ("manage", "available", {}, "active"),
    ("provide", "manageable", {}, "active"),
    ("inspect", "manageable", {}, "active"),
    ("abort", "clean wait", {}, "active"),
    ("clean", "manageable", {"steps": '[{"interface": "power", "step": "power_off"}]'}, "active"),
    ("adopt", "manageable", {}, "active"),
    ("rescue", "active", {"password": "secret-77"}, "available"),
    ("unrescue", "rescue", {}, "active"),
    ("unhold", "clean hold", {}, "active"),
    ("service", "active", {"steps": '[{"interface": "power", "step": "power_off"}]'}, "available"),
    ("power on", "available", {}, None),
    ("power off", "available", {}, None),
]


def test_what_is_possible_now(service: Service, subtests: pytest.Subtests) -> None:
    """Each verb once where it is possible, and once where it is refused in the API's own sentence."""
    service.add_conductor("c1")
    for number, (action, state, fields, wrong) in enumerate(VERBS):
        with subtests.test(action=action):
            uuid = service.add_node(f"n{number}")
            power = "power off" if action == "power on" else "power on"
            service.set_columns(uuid, provision_state=state, power_state=power, instance_uuid=None)
            label = {"active": "Deploy", "deleted": "Undeploy"}.get(action, action.capitalize())
            form = form_of(service.http.get(f"/ui/nodes/{uuid}").click(f"^{label} …$"))
            for name, value in fields.items():
                form[name] = value
            assert "location" in form.submit(status=303).headers
            assert service.node(uuid)["reservation"] is not None or service.node(uuid)["provision_state"] != state
            other = service.add_node(f"other-{number}")
            service.set_columns(other, provision_state=wrong or state, reservation=None if wrong else "c1")
            refused = confirmed(service, action, other, **fields)
            said = "can not be performed" if wrong else "is locked by host c1"
            assert refused.status_int in (400, 409), refused
            assert said in read(refused).text


def test_what_is_typed_is_checked(service: Service) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, provision_state="manageable")
    with unchanged(service):
        steps = '[{"interface": "deploy", "step": "x", "args": {"a": %s}}]'
        for text, said in [
            *[(each, "a list in JSON") for each in ("{", "[" * 20_000, steps % ("[" * 300 + "]" * 300), steps % "NaN")],
            ('"x"', ""),
            (steps % '"\\ud800"', "unpaired surrogates"),
        ]:
            refused = confirmed(service, "clean", uuid, steps=text)
            assert refused.status_int == 400
            assert said in read(refused).text
    service.set_columns(uuid, provision_state="active")
    with unchanged(service):
        refused = confirmed(service, "rescue", uuid, password=" ")
        assert 'A non-empty "rescue_password"' in read(refused).text
    service.set_columns(uuid, provision_state="manageable")
    assert confirmed(service, "clean", uuid, steps=steps % ("9" * 30)).status_int == 303


def test_a_password_is_sent_as_it_is(service: Service) -> None:
    uuid = service.add_node("n1")
    service.set_columns(uuid, provision_state="active")
    confirmed(service, "rescue", uuid, password=" secret 77 ")
    (stored,) = service.database.read(lambda session: session.scalars(select(Node.instance_info)).all())
    assert stored["rescue_password"] == " secret 77 "


def test_a_waiting_request_is_cancelled(service: Service) -> None:
    wait(service, UUID)
    done = form_of(service.http.get("/ui/waiting").click("Cancel …")).submit(status=303)
    assert f"claim, {UUID}: It waits no longer." in read(done.follow()).text
    service.http.get(f"/scheduling/v1/claims/{UUID}", status=404)
    assert confirmed(service, "cancel", f"allocation/{UUID}").status_int == 404
    assert confirmed(service, "cancel", f"server/{UUID}").status_int == 404


def test_a_machine_is_claimed_from_the_form_or_waited_for(service: Service) -> None:
    uuid = service.add_node("n1")
    page = service.http.get("/ui/find?class=gold")
    assert "openstack scheduling claim --query" in read(page).text
    done = form_of(page.click("Claim a machine …")).submit(status=303)
    claim = listed(service)[0]
    assert done.headers["Location"] == f"/ui/claims?uuid={claim}"
    shown = read(done.follow())
    assert "1 machine of the class CUSTOM_GOLD: Claimed." in shown.text
    assert f"/ui/nodes/{uuid}" in shown.links()
    page = service.http.get("/ui/find?class=gold").click("Claim a machine, or wait …")
    refused = form_of(page).submit(expect_errors=True)
    assert refused.status_int == 409
    form = form_of(refused)
    form["minutes"] = "soon"
    form = form_of(form.submit(status=400))
    form["minutes"] = "60"
    waits = form.submit(status=303)
    assert "It waits for a machine." in read(waits.follow()).text
    assert waits.headers["Location"].endswith("/ui/waiting")
    assert "CUSTOM_GOLD" in read(waits.follow()).text


def test_several_are_claimed_from_the_form(service: Service) -> None:
    service.add_conductor("c1")
    fill(service, a=2, b=1)
    page = service.http.get("/ui/find?class=gold&wanted=2&spread=rack").click("Claim 2 machines …")
    assert "2 machines of the class CUSTOM_GOLD, at most 1 in each rack" in read(page).text
    shown = form_of(page).submit(status=303).follow()
    ((machines, *_),) = read(shown).rows("Claims")
    assert {"a-0" in machines, "a-1" in machines} == {True, False}
    assert "b-0" in machines


def test_rows_that_are_ticked(service: Service) -> None:
    """Each row is a request of its own: the others are held, although one refuses."""
    uuids = [service.add_node(f"n{number}") for number in range(3)]
    for uuid in uuids:
        service.set_columns(uuid, conductor_group="rack-c")
    body = {"type": "operator_hold", "reason": "move"}
    service.http.post_json("/scheduling/v1/nodes/n1/holds", body, status=201)
    page = service.http.get("/ui/nodes?conductor_group=rack-c")
    form = form_of(page, "/confirm")
    form["action"] = "hold"
    for number in range(3):
        form.set("item", True, index=number)
    form = form_of(form.submit())
    form["drain"], form["reason"] = True, "move"
    result = form.submit()
    rows = read(result).rows("What has become of each")
    assert [row[:2] for row in rows] == [["n0", "done"], ["n1", "refused"], ["n2", "done"]]
    assert "by you for the same reason" in rows[1][2]
    assert not rows[1][2].startswith("Node ")  # the row has its name
    assert [len(holds(service, uuid)) for uuid in uuids] == [1, 1, 1]
    form = form_of(service.http.get("/ui/holds"), "/confirm")
    for number in range(3):
        form.set("item", True, index=number)
    done = form_of(form.submit()).submit(status=303)
    assert "3 holds: The hold is released." in read(done.follow()).text
    assert holds(service, "n1") == []


def test_a_row_with_a_box_is_known_by_its_item(service: Service, subtests: pytest.Subtests) -> None:
    """So that an open page knows it when it refreshes."""
    for name in ("n1", "n2"):
        service.add_node(name)
        for kind in ("operator_hold", "lockout"):
            service.http.post_json(f"/scheduling/v1/nodes/{name}/holds", {"type": kind}, status=201)
    wait(service, UUID)
    for path, number in (("/nodes", 2), ("/holds", 4), ("/waiting", 1)):
        with subtests.test(path=path):
            elements, item, items = look(service, path).elements, None, []
            for tag, attributes in elements:
                item = attributes.get("data-item") if tag == "tr" else item
                if attributes.get("name") == "item":
                    assert attributes["value"] == item
                    items.append(item)
            assert len({*items}) == len(items) == number


def test_too_many_ticked_rows_can_be_chosen_from(service: Service) -> None:
    """With their names; the first 100 are ticked as before."""
    uuids = [service.add_node(f"n{number}", power=False) for number in range(101)]
    page = service.http.get("/ui/nodes?limit=200")
    assert "With the ticked rows (at most 100)" in read(page).text
    form = form_of(page, "/confirm")
    for number in range(101):
        form.set("item", True, index=number)
    refused = form.submit(status=400)
    assert "101 rows are ticked. Tick at most 100." in read(refused).text
    rest = form_of(refused, "/confirm")
    ticked = [each.value for each in rest.fields["item"] if each.value]
    assert len(ticked) == 100
    assert set(ticked) < set(uuids)
    assert "Hold: 100 machines" in read(rest.submit()).text


def test_machines_that_a_search_finds_are_ticked(service: Service) -> None:
    for name in ("n1", "n2"):
        service.add_node(name)
    form = form_of(service.http.get("/ui/search?q=n"), "/confirm")
    for number in range(2):
        form.set("item", True, index=number)
    form = form_of(form.submit())
    form["reason"] = "move"
    assert form.submit(status=303).headers["Location"] == "/ui/search?q=n"
    assert [len(holds(service, name)) for name in ("n1", "n2")] == [1, 1]


def test_rows_that_the_deadline_does_not_reach(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    uuids = [service.add_node(f"n{number}") for number in range(3)]
    # The first row takes all the time that there is.
    clock = iter([0.0, 10**9, 10**9])
    monkeypatch.setattr("baremetal_sched.ui.act.monotonic", lambda: next(clock))
    query = urlencode({"action": "hold", "item": uuids, "back": "/ui/nodes"}, doseq=True)
    form = form_of(service.http.get(f"/ui/confirm?{query}"))
    form["reason"] = "move"
    result = form.submit()
    document = read(result)
    assert [row[1] for row in document.rows("What has become of each")] == ["done", "not tried", "not tried"]
    assert "The time limit of the page was reached" in document.text
    monkeypatch.undo()
    rest = form_of(form_of(result, "/confirm").submit())
    rest["reason"] = "move"
    assert [each.value for each in rest.fields["item"]] == uuids[1:]
    rest.submit(status=303)
    assert all(len(holds(service, uuid)) == 1 for uuid in uuids)


def test_what_cannot_be_confirmed(service: Service) -> None:
    uuid = service.add_node("n1")
    with unchanged(service):
        for query, said in [
            ({"action": "hold"}, "Tick at least one row"),
            ({"action": "hold", "item": [str(each) for each in range(101)]}, "101 rows are ticked. Tick at most 100."),
            ({"action": "explode", "item": uuid}, "Choose an action."),
            ({}, "Choose an action."),
            ({"action": "release", "item": uuid, "colour": "red"}, "Unexpected fields: colour"),
        ]:
            for path in ("confirm", "act"):
                answer = post(service, path, query, 400)
                assert said in read(answer).text
        for item in ("..", "../../placement", "a/b/c", HOSTILE, uuid, "", f"{uuid}/x", f"{uuid}%2fx", f"{uuid}?x", "/"):
            for action in ("release", "cancel", "hold", "power on", "claim"):
                if (action, item) == ("hold", uuid) or (action, item) == ("power on", uuid):
                    continue
                answer = post(service, "act", {"action": action, "item": item}, "*")
                assert 400 <= answer.status_int < 500, (action, item)


def test_it_leads_back_to_a_page_of_this_service_only(service: Service) -> None:
    elsewhere = ("https://evil.example/", "//evil.example", "/baremetal/v1", "/ui/\\evil", "/ui/\r\nX: y", "")
    elsewhere += ("/ui/../baremetal", "/ui/%2e%2e/baremetal", "/ui/logout", "/ui/act", "/ui/confirm")
    for number, back in enumerate(elsewhere):
        uuid = service.add_node(f"n{number}")
        form = {"action": "maintenance on", "item": uuid, "back": back}
        assert post(service, "act", form, 303).headers["Location"] == "/ui/"


def test_the_request_is_one_of_the_api(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """It is in the audit log, with the address that the page was asked from and a request id of its own."""
    uuid = service.add_node("n1")
    place = {"REMOTE_ADDR": "127.0.0.9"}
    answer = post(service, "act", {"action": "maintenance on", "item": uuid}, extra_environ=place)
    lines = [each.msg for each in caplog.records if isinstance(each.msg, dict) and each.msg.get("event") == "audit"]
    (line,) = [each for each in lines if each["api"] == "baremetal" and each["method"] == "PUT"]
    assert line["route"] == "/v1/nodes/<ident>/maintenance"
    assert line["remote_address"] == "127.0.0.9"
    (page,) = [each for each in lines if each["api"] == "ui"]
    assert page["request_id"] == answer.headers["X-OpenStack-Request-Id"] != line["request_id"]


def test_others_are_offered_nothing(database_url: str, tmp_path: Path) -> None:
    """Policy decides who is offered an action and its command, and the API whether it is done."""
    with Service(database_url, **file_settings(tmp_path)) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", owner="p1")
        for name, offered in (("ann", False), ("root", True)):
            log_in(service, name)
            page = get(service, "/nodes/n1")
            assert ("Hold …" in page.text) == offered
            assert ("openstack baremetal node hold add --type operator_hold --reason REASON n1" in page.text) == offered
            assert ('value="hold"' in get(service, "/nodes").text) == offered
            form = form_of(get(service, f"/confirm?action=hold&item={uuid}"))
            form["reason"] = "move"
            answer = form.submit(headers=BROWSER, status=303 if offered else 403)
            assert offered or "baremetal:node:maintenance:add" in read(answer).text
            if offered:  # now it is held, and how the hold is released is a remedy
                assert "Release it: openstack baremetal node hold remove n1" in read(get(service, "/nodes/n1")).text
            service.http.reset()


READERS = "root: {roles: [admin], system_scope: all}\nann: {roles: [reader], project_id: p1}\n"


def test_readers_are_offered_nothing_on_any_page(database_url: str, tmp_path: Path) -> None:
    settings = file_settings(tmp_path)
    (tmp_path / "roles").write_text(READERS)
    with Service(database_url, **settings) as service:
        service.add_conductor("c1")
        log_in(service, "ann")
        for path in ("/", "/servers", "/allocations", "/images", "/flavors"):
            assert "openstack" not in read(get(service, path)).text, path
        service.http.reset()
        uuid = service.add_node("n1", owner="p1")
        service.set_columns(uuid, resource_class=None)
        log_in(service, "root")
        for path in ("/", "/servers", "/allocations", "/images", "/flavors"):
            assert ("openstack" in read(get(service, path)).text) == (path != "/"), path
        form = form_of(get(service, f"/confirm?action=hold&item={uuid}"))
        form["reason"] = "move"
        form.submit(headers=BROWSER, status=303)
        assert "Set one: openstack baremetal node set" in read(get(service, "/nodes/n1")).text
        service.http.reset()
        log_in(service, "ann")
        shown = read(get(service, "/nodes/n1")).text
        assert "openstack" not in shown
        assert "Set one: ask an operator, as policy does not let you do it." in shown
        assert "Policy allows you none of what is possible with the machine now." in shown
        for path in ("/holds", "/find?class=gold"):
            assert "openstack" not in read(get(service, path)).text, path


def test_policy_refuses_each_action(database_url: str, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """In the API's words, and nothing changes: the caller may see the machine and the request, and no more."""
    settings = file_settings(tmp_path)
    (tmp_path / "roles").write_text(ROLES.replace("[member]", "[reader]"))
    with Service(database_url, **settings) as service:
        service.add_conductor("c1")
        uuid = service.add_node("n1", owner="p1")
        log_in(service, "root")
        query = "class=gold"
        for name, item, fields in (("hold", uuid, {"reason": "move"}), ("claim", query, {"minutes": "60"})):
            form = form_of(get(service, f"/confirm?{urlencode({'action': name, 'item': item})}"))
            for field, value in fields.items():
                form[field] = value
            form.submit(headers=BROWSER, status=303)
        hold, claim = service.database.select(
            lambda connection: [connection.scalar(select(table_of(each).c.uuid)) for each in (Hold, WaitingRequest)]
        )
        service.http.reset()
        log_in(service, "ann")
        items = {"release": f"{uuid}/{hold}", "cancel": f"claim/{claim}", "claim": query, "book": query}
        items |= dict.fromkeys(("test webhook", "resume webhook"), f"webhook/{uuid}")
        # The caller has no claim that has a machine, and no booking.
        others = {"give back", "set end", "change booking", "cancel booking", "end booking"}
        for name in set(ACTIONS) - others:
            form = form_of(get(service, f"/confirm?{urlencode({'action': name, 'item': items.get(name, uuid)})}"))
            if "steps" in form.fields:
                form["steps"] = "[]"
            if name == "book":
                form["hours"] = "1"
            if name.startswith("hold"):
                form["reason"] = "move"
            with subtests.test(name), unchanged(service):
                refused = form.submit(headers=BROWSER, status=403)
                assert f"{ACTIONS[name].rule}" in read(refused).text
