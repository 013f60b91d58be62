# tier: first
"""Teams at work: another person or another reason is another hold, and lists and releases choose by both."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from baremetal_sched.baremetal.holds.rules import MOST_OF_PROJECT
from baremetal_sched.db import schema_state
from baremetal_sched.db.models import Hold
from tests.fake_keystone import fake_keystone
from tests.functional.scheduling import test_holds
from tests.functional.scheduling.test_holds import LESSEE, NEXT_LESSEE, OWNER, SYSTEM, ask, hold, listed, message
from tests.functional.ui.logging_in import BEHIND, file_settings, line_of
from tests.service import Service
from tests.unchanged import unchanged

#: A service where owners and lessees may assert holds.
service = test_holds.service

_ALL = {"X-Roles": "admin,manager,member,reader", "OpenStack-System-Scope": "all"}
ANN, BOB = ({"X-Auth-Token": f"{name}:", **_ALL} for name in ("ann", "bob"))
#: Another member of the owner's project.
OSCAR = {**OWNER, "X-Auth-Token": "oscar:owners"}
SOON = {"starts_at": "2050-01-01T00:00:00Z", "ends_at": "2050-01-02T00:00:00Z"}


def chosen(service: Service, by: Any = SYSTEM, **query: str) -> list[str]:
    """The reasons of the holds that these filters find."""
    found = service.http.get("/scheduling/v1/holds", query, headers=by).json["maintenance"]
    return sorted(each["reason"] or "" for each in found)


def test_another_person_or_another_reason_is_another_hold(service: Service) -> None:
    first = hold(service, by=ANN, reason="PSU recall")
    for by, reason in ((BOB, "PSU recall"), (ANN, "move"), (ANN, None), (OWNER, "move"), (OSCAR, "move")):
        hold(service, by=by, reason=reason)
    with unchanged(service):
        refused = ask(service, "POST", body={"type": "operator_hold", "reason": "PSU recall"}, by=ANN, status=409)
        assert refused.json["error"]["code"] == "scheduling.hold_exists"
        assert f"has hold {first['uuid']} of type operator_hold by you for the same reason" in message(refused)
        ask(service, "POST", body={"type": "operator_hold"}, by=ANN, status=409)
        ask(service, "POST", body={"type": "operator_hold", "reason": ""}, by=ANN, status=409)
    assert len(listed(service)) == 6
    ask(service, "DELETE", f"/nodes/n1/holds/{first['uuid']}", by=BOB, status=204)
    hold(service, by=ANN, reason="PSU recall")


def test_the_same_again_may_be_accepted(service: Service) -> None:
    """It is answered as it is: nothing changes."""
    service.add_node("n2")
    first = hold(service, by=ANN, reason="move", extra={"ticket": "T-1"})
    again = {"type": "operator_hold", "reason": "move", "or_existing": True, "extra": {"ticket": "T-2"}}
    with unchanged(service):
        assert ask(service, "POST", body=again, by=ANN, status=200).json == first
        many = ask(service, "POST", "/holds", {**again, "filter": {"nodes": ["n1"]}}, by=ANN, status=200).json
        assert many["maintenance"] == []
    made = ask(service, "POST", "/holds", {**again, "filter": {"nodes": ["n1", "n2"]}}, by=ANN, status=201).json
    assert [each["node_name"] for each in made["maintenance"]] == ["n2"]
    assert [(each["hold"], each["existing"], each["refusal"]) for each in made["nodes"]] == [
        (first["uuid"], True, None),
        (made["maintenance"][0]["uuid"], False, None),
    ]
    ask(service, "POST", body=again, by=BOB, status=201)


def test_a_change_does_not_make_two_the_same(service: Service) -> None:
    """Also if another person changes it: whose it is stays."""
    first = hold(service, by=ANN, reason="move")
    second = hold(service, by=ANN, reason="recall")
    hold(service, by=BOB, reason="disk")
    path = f"/nodes/n1/holds/{second['uuid']}"
    with unchanged(service):
        refused = message(ask(service, "PATCH", path, {"reason": "move"}, by=BOB, status=409))
        assert f"has hold {first['uuid']} of type operator_hold by ann" in refused
    assert ask(service, "PATCH", path, {"reason": "disk"}, by=BOB, status=200).json["asserted_by"] == "ann"


def test_a_project_has_twenty_holds_of_a_node(service: Service) -> None:
    """Those of the service and of other projects do not count."""
    service.add_node("n2")
    service.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"}, status=202)
    hold(service, by=OWNER)
    for number in range(MOST_OF_PROJECT):
        hold(service, by=(ANN, BOB)[number % 2], reason=f"reason {number}", **(SOON if number % 3 else {}))
    with unchanged(service):
        refused = ask(service, "POST", body={"type": "window", "reason": "one more"}, by=ANN, status=409)
        assert "has 20 holds of your project" in message(refused)
        many = {"type": "window", "filter": {"nodes": ["n1", "n2"]}}
        ask(service, "POST", "/holds", many, by=ANN, status=409)
    hold(service, by=OSCAR)
    made = ask(service, "POST", "/holds", {**many, "skip_refused": True}, by=ANN, status=201).json
    assert ["has 20 holds" in (each["refusal"] or "") for each in made["nodes"]] == [True, False]
    ask(service, "DELETE", f"/nodes/n1/holds/{listed(service)[-2]['uuid']}", by=BOB, status=204)
    hold(service, "window", by=ANN)


def test_one_of_a_project_while_an_earlier_release_serves(service: Service) -> None:
    """That release would refuse the second one, and so does this one: the message names who holds it."""
    service.database.write(lambda session: schema_state.finish(session.connection(), "0034"))
    first = hold(service, by=ANN, reason="move", ends_at="2050-01-01T00:00:00Z")
    later = hold(service, by=BOB, reason="move", **{**SOON, "starts_at": "2050-01-01T00:00:00Z"})
    with unchanged(service):
        refused = message(ask(service, "POST", body={"type": "operator_hold", "reason": "x"}, by=BOB, status=409))
        assert f"has hold {first['uuid']} of type operator_hold by ann at that time" in refused
        assert "db upgrade --finish" in refused
        path = f"/nodes/n1/holds/{first['uuid']}"
        refused = message(ask(service, "PATCH", path, {"ends_at": None}, by=ANN, status=409))
        assert f"{later['uuid']} of type operator_hold by bob" in refused
    service.database.write(lambda session: schema_state.finish(session.connection(), "0036"))
    hold(service, by=BOB, reason="x")
    ask(service, "PATCH", path, {"ends_at": None}, by=ANN, status=200)


def test_lists_by_person_reason_and_extra(service: Service) -> None:
    hold(service, by=ANN, reason="PSU recall", extra={"ticket": "T-1", "count": 3, "urgent": True, 'a"b\\é': "ü"})
    hold(service, by=BOB, reason="PSU recall ", extra={"ticket": "t-1", "in": {"ticket": "T-1"}})
    hold(service, by=BOB)
    hold(service, by=LESSEE, reason="leased")
    assert chosen(service, reason="PSU recall") == ["PSU recall"]
    assert chosen(service, reason="PSU") == chosen(service, reason="psu recall") == []
    assert chosen(service, reason="", asserted_by="bob") == [""]
    assert chosen(service, BOB, asserted_by="me") == ["", "PSU recall "]
    assert chosen(service, BOB, asserted_by="me", reason="PSU recall") == []
    assert chosen(service, BOB, asserted_by="lea") == chosen(service, LESSEE, asserted_by="me") == ["leased"]
    assert chosen(service, asserted_by="nobody") == []
    for extra in ("ticket=T-1", "count=3", "urgent=true", 'a"b\\é=ü'):
        assert chosen(service, extra=extra) == ["PSU recall"], extra
    for extra in ("ticket=T", "ticket=", "no=T-1", "in=T-1", "$.in.ticket=T-1", "a=b=c"):
        assert chosen(service, extra=extra) == [], extra
    for wrong in ("extra=ticket", "extra==x", "extra=", "asserted_by=", "reason=a&reason=b", "person=ann"):
        ask(service, "GET", f"/holds?{wrong}", status=400)


def test_nobody_who_is_hidden_is_found(service: Service) -> None:
    """The filter by person sees what the answers show, page by page."""
    for by in (ANN, OWNER, OSCAR, LESSEE):
        hold(service, by=by, reason=by["X-Auth-Token"].partition(":")[0])
    people = ("ann", "olga", "oscar", "lea")
    reader = {"X-Auth-Token": "rita:", "X-Roles": "reader", "OpenStack-System-Scope": "all"}
    admin = {"X-Auth-Token": "paula:owners", "X-Roles": "admin,manager,member,reader"}
    callers = {"system": BOB, "reader": reader, "owner": OSCAR, "admin": admin, "lessee": LESSEE}
    found = {
        name: [each for each in people if chosen(service, by, asserted_by=each, limit="1")]
        for name, by in callers.items()
    }
    as_owner = ["olga", "oscar", "lea"]
    expected = {"system": [*people], "reader": [*people], "owner": as_owner, "admin": as_owner, "lessee": ["lea"]}
    assert found == expected
    page = ask(service, "GET", "/holds?asserted_by=olga&limit=1", by=LESSEE, status=200).json
    assert page == {"maintenance": []}
    service.patch("n1", ("replace", "/lessee", "others"))
    assert chosen(service, NEXT_LESSEE, asserted_by="lea") == []
    shown = listed(service, NEXT_LESSEE)
    assert {each["asserted_by"] for each in shown} == {each["asserted_by_name"] for each in shown} == {None}


def test_without_authentication_all_are_ones_own(database_url: str) -> None:
    with Service(database_url) as service:
        service.add_conductor("c1")
        service.add_node("n1")
        holds = "/scheduling/v1/nodes/n1/holds"
        service.http.post_json(holds, {"type": "window", "reason": "move"})
        refused = service.http.post_json(holds, {"type": "window", "reason": "move"}, status=409)
        assert " by you " in message(refused)
        service.http.post_json(holds, {"type": "window", "reason": "fan"})
        service.database.write(
            lambda session: session.execute(update(Hold).where(Hold.reason == "fan").values(asserted_by="ann")) and None
        )
        service.set_columns(service.node("n1")["uuid"], fault="power failure", maintenance_reason="broken")
        service.http.post_json(holds, {"type": "lockout"})
        assert [each["type"] for each in service.http.get(holds).json["maintenance"]].count("fault") == 1
        assert chosen(service, asserted_by="me") == ["", "fan", "move"]


@pytest.fixture(params=["http_basic", "keystone"])
def people(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> Iterator[tuple[Service, Any, Any]]:
    """A service with a log-in, and the headers of two administrators of the system, ann and bob."""
    if request.param == "keystone":
        with fake_keystone() as keystone, Service(database_url, **keystone.settings()) as service:
            tokens = (keystone.issue(name, "admin", "member", "reader", system=True) for name in ("ann", "bob"))
            yield service, *({"X-Auth-Token": token} for token in tokens)
        return
    names, settings = ("ann", "bob"), file_settings(tmp_path)
    (tmp_path / "users").write_text("".join(map(line_of, names)))
    roles = "{roles: [admin, member, reader], system_scope: all}"
    (tmp_path / "roles").write_text("".join(f"{name}: {roles}\n" for name in names))
    with Service(database_url, **settings) as service:
        words = (b64encode(f"{name}:{name}{BEHIND}".encode()).decode() for name in names)
        yield service, *({"Authorization": f"Basic {each}"} for each in words)


def test_operators_hold_beside_each_other_with_each_log_in(people: tuple[Service, Any, Any]) -> None:
    """They are found by name, also where a user has an id beside it."""
    service, ann, bob = people
    service.add_conductor("c1")
    service.add_node("n1")
    mine = hold(service, by=ann, reason="move")
    assert (mine["asserted_by_name"], mine["asserted_by_project"]) == ("ann", "")
    why = ask(service, "GET", "/nodes/n1/availability", by=bob, status=200).json["reasons"]
    assert [each["reason"] for each in why if each["reason"].startswith("It is held by ann (system) from ")]
    hold(service, by=bob, reason="move")
    assert chosen(service, ann, asserted_by="ann") == chosen(service, bob, asserted_by="me") == ["move"]
    assert chosen(service, bob, asserted_by=mine["asserted_by"]) == ["move"]
    refused = message(ask(service, "POST", body={"type": "operator_hold", "reason": "move"}, by=bob, status=409))
    assert "by you" in refused
    ask(service, "DELETE", f"/nodes/n1/holds/{mine['uuid']}", by=bob, status=204)
    assert service.database.read(lambda session: session.scalars(select(Hold.asserted_by_name)).all()) == ["bob"]
