"""Changing a hold: who may, what is refused, and that the machine is held all the time."""

from typing import Any

import pytest
from sqlalchemy import update
from webtest import TestResponse

from baremetal_sched.db.models import Hold
from tests.functional.scheduling import test_holds, test_planned_holds
from tests.functional.scheduling.test_handover import state, wait
from tests.functional.scheduling.test_holds import LESSEE, NEXT_LESSEE, OWNER, PLACEMENT, SYSTEM, ask, flag, message
from tests.functional.scheduling.test_holds import hold as assert_hold
from tests.functional.scheduling.test_holds import listed as holds_of
from tests.functional.scheduling.test_planned_holds import HOLDS, events, hold, listed, plan, sweep
from tests.passing_time import HOUR, go_by
from tests.service import Service
from tests.unchanged import unchanged

LATER = "2050-01-01T06:00:00+00:00"
UNKNOWN = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"

#: A service where owners and lessees may assert holds.
opened = test_holds.service
served = test_planned_holds.served


def change(service: Service, uuid: str, body: Any, *, status: int = 200) -> TestResponse:
    return service.http.patch_json(f"{HOLDS}/{uuid}", body, status=status)


def test_end_reason_and_extra(served: Service) -> None:
    made = hold(served, "operator_hold", reason="fan", extra={"ticket": "T-1"}, ends_at="2049-01-01T00:00:00Z")
    revision = served.node("n1")["updated_at"]
    assert served.node("n1")["maintenance_reason"] == "operator_hold: fan"
    changed = change(served, made["uuid"], {"ends_at": LATER, "reason": "disk", "extra": {"ticket": "T-2"}}).json
    assert changed == {
        **made,
        "ends_at": "2050-01-01T06:00:00.000000+00:00",
        "reason": "disk",
        "extra": {"ticket": "T-2"},
    }
    assert served.node("n1")["maintenance_reason"] == "operator_hold: disk"
    assert served.node("n1")["updated_at"] >= revision
    assert listed(served) == [changed]
    assert events(served)[-1] == "was changed (ends_at, extra, reason): disk"
    change(served, made["uuid"], {"extra": {"ticket": "T-3"}})
    emptied = change(served, made["uuid"], {"ends_at": None, "reason": None, "extra": None}).json
    assert [emptied[name] for name in ("ends_at", "reason", "extra")] == [None, None, {}]
    assert emptied["begun_at"] == made["begun_at"]
    assert served.node("n1")["maintenance_reason"] == "operator_hold"


def test_a_window_lasts_longer_and_the_machine_is_not_free_in_between(served: Service) -> None:
    made = plan(served)
    go_by(served, HOUR + 1)
    sweep(served)
    claim = wait(served, seconds=9 * HOUR)
    change(served, made["uuid"], {"ends_at": None})
    go_by(served, HOUR)
    sweep(served)
    assert (served.node("n1")["maintenance"], state(served, claim)) == (True, "waiting")
    served.http.delete(f"{HOLDS}/{made['uuid']}", status=204)
    assert state(served, claim) == "claimed"


def test_a_window_ends_sooner(served: Service) -> None:
    made = plan(served)
    change(served, made["uuid"], {"ends_at": "2051-01-01T00:00:00Z"})
    go_by(served, HOUR + 1)
    sweep(served)
    soon = plan(served, "operator_hold")["starts_at"]
    change(served, made["uuid"], {"ends_at": soon})
    go_by(served, HOUR + 1)
    sweep(served)
    assert [each["type"] for each in listed(served)] == ["operator_hold"]


def test_invalid_changes(served: Service, subtests: pytest.Subtests) -> None:
    later = hold(served, starts_at="2050-01-01T00:00:00Z")
    drains = hold(
        served,
        "operator_hold",
        drain=True,
        starts_at="2050-01-01T00:00:00Z",
        drain_deadline="2050-01-01T06:00:00Z",
        ends_at="2051-01-01T00:00:00Z",
    )
    with unchanged(served):
        for uuid, body in [
            (later["uuid"], {}),
            (later["uuid"], []),
            (later["uuid"], {"type": "lockout"}),
            (later["uuid"], {"starts_at": None}),
            (later["uuid"], {"extra": []}),
            (later["uuid"], {"reason": "x" * 4001}),
            (later["uuid"], {"ends_at": "soon"}),
            (later["uuid"], {"ends_at": "2050-01-01T00:00:00"}),
            (later["uuid"], {"ends_at": "2020-01-01T00:00:00Z"}),
            (later["uuid"], {"ends_at": "2050-01-01T00:00:00Z"}),
            (drains["uuid"], {"ends_at": "2050-01-01T06:00:00Z"}),
        ]:
            with subtests.test(body=body):
                change(served, uuid, body, status=400)
        refused = change(served, later["uuid"], {"ends_at": "tomorrow"}, status=400)
        assert "ends_at must be a time with a zone in the years 1970 to 9998" in refused.text
        for uuid in (UNKNOWN, "none"):
            change(served, uuid, {"reason": "x"}, status=404)


def test_an_overlap_with_another_of_the_same_source(served: Service) -> None:
    first = hold(served, ends_at="2049-01-01T00:00:00Z")
    second = hold(served, starts_at="2050-01-01T00:00:00Z")
    hold(served, "operator_hold")
    with unchanged(served):
        for end in (None, "2050-01-01T00:00:01Z"):
            refused = change(served, first["uuid"], {"ends_at": end}, status=409)
            assert second["uuid"] in message(refused)
    change(served, first["uuid"], {"ends_at": "2050-01-01T00:00:00Z"})


def test_what_the_service_asserts_cannot_be_changed(served: Service) -> None:
    served.baremetal("PUT", "/nodes/n1/maintenance", {"reason": "fan"})
    (legacy,) = listed(served)
    with unchanged(served):
        assert "legacy" in message(change(served, legacy["uuid"], {"reason": "mine"}, status=409))
    kind = update(Hold).values(type="fault")
    served.set_columns(served.node("n1")["uuid"], fault="power failure")
    served.database.write(lambda session: session.execute(kind) and None)
    change(served, legacy["uuid"], {"ends_at": LATER}, status=409)


def test_a_hold_that_has_ended(served: Service) -> None:
    """It is shown until a conductor removes it; then it is not there."""
    made = plan(served)
    go_by(served, HOUR + 1)
    sweep(served)
    go_by(served, HOUR)
    with unchanged(served):
        assert "has ended" in message(change(served, made["uuid"], {"ends_at": None}, status=409))
    sweep(served)
    change(served, made["uuid"], {"ends_at": None}, status=404)


def test_who_may_release_it_may_change_it(opened: Service) -> None:
    by_system = assert_hold(opened)
    own = assert_hold(opened, by=LESSEE)

    def path(made: dict[str, Any]) -> str:
        return f"/nodes/n1/holds/{made['uuid']}"

    body = {"reason": "mine"}
    with unchanged(opened):
        for by in (OWNER, LESSEE):
            refused = ask(opened, "PATCH", path(by_system), body, by=by, status=403)
            assert message(refused).startswith(f"Cannot change hold {by_system['uuid']}")
        ask(opened, "PATCH", path(own), body, by=NEXT_LESSEE, status=404)
    for by in (LESSEE, OWNER, SYSTEM):
        ask(opened, "PATCH", path(own), body, by=by, status=200)
    assert flag(opened)[1] == "operator_hold; operator_hold: mine"
    assert len(holds_of(opened)) == 2
    opened.patch("n1", ("replace", "/lessee", "others"))
    text = message(ask(opened, "PATCH", path(own), body, by=NEXT_LESSEE, status=403))
    assert text.endswith("not asserted by your project")
    ask(opened, "PATCH", path(own), body, by=PLACEMENT, status=404)


def test_the_policy_of_the_entry(database_url: str, tmp_path: Any) -> None:
    rules = tmp_path / "policy.yaml"
    rules.write_text(
        f"{test_holds.OPEN}"
        '"baremetal:node:maintenance:update": "role:admin or not \'window\':%(maintenance.type)s"\n'
        '"baremetal:node:maintenance:get": "role:admin or not \'lockout\':%(maintenance.type)s"\n'
    )
    options = {"api": {"auth_strategy": "noauth2"}, "oslo_policy": {"policy_file": str(rules)}}
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        service.add_node("n1", owner="owners")
        window, lockout = (assert_hold(service, kind, by=OWNER) for kind in ("window", "lockout"))
        with unchanged(service):
            refused = ask(service, "PATCH", f"/nodes/n1/holds/{window['uuid']}", {"reason": "x"}, by=OWNER, status=403)
            assert message(refused).endswith("not permitted by policy")
            # The caller may change it, but not see it.
            ask(service, "PATCH", f"/nodes/n1/holds/{lockout['uuid']}", {"reason": "x"}, by=OWNER, status=404)
