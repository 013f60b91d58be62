# tier: first
"""The page of holds by time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.functional.ui.logging_in import BEHIND, BROWSER, file_settings, get, line_of, log_in
from tests.functional.ui.pages import look, read
from tests.functional.ui.test_actions import form_of
from tests.functional.ui.test_fleet import HOSTILE
from tests.service import Service
from tests.unchanged import unchanged

ACTIVE, TO_COME = "Active holds", "Holds to come"


def hold(service: Service, node: str, **values: Any) -> str:
    body = {"type": "window", **values}
    uuid: str = service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", body, status=201).json["uuid"]
    return uuid


def in_hours(hours: int) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds")


def test_nothing_is_held(service: Service) -> None:
    text = look(service, "/holds").text
    assert "No hold is active" in text
    assert "No hold is planned" in text


def test_holds_are_listed_by_time(service: Service) -> None:
    first, second = service.add_node("n1"), service.add_node("n2")
    later = hold(service, second, starts_at=in_hours(9), reason=HOSTILE)
    sooner = hold(service, first, starts_at=in_hours(5), ends_at=in_hours(6))
    now = hold(service, first, type="operator_hold", reason="Fan 3")
    with service.statements() as statements:
        shown = look(service, "/holds")
    (active,) = shown.rows(ACTIVE)
    assert active[:4] == ["n1", "operator_hold", "Fan 3", "system"]
    assert active[5] == "until it is released"
    assert active[6].startswith("Release … ⋯ Reason Fan 3 Since ")
    assert active[6].endswith(f"openstack baremetal node hold remove n1 {now}")
    planned = shown.rows(TO_COME)
    assert [(row[0], row[1], row[2]) for row in planned] == [
        ("n1", "window", "no reason given"),
        ("n2", "window", HOSTILE),
    ]
    assert [row[6].split()[-1] for row in planned] == [sooner, later]
    assert f"/ui/nodes/{first}" in shown.links()
    assert len(statements) <= 12


@pytest.fixture
def teams(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """Two administrators of the system, ann and bob, and a member of the nodes' owner, olga."""
    settings = file_settings(tmp_path)
    (tmp_path / "users").write_text("".join(map(line_of, ("ann", "bob", "olga"))))
    system = "{roles: [admin], system_scope: all}"
    (tmp_path / "roles").write_text(f"ann: {system}\nbob: {system}\nolga: {{roles: [member], project_id: p1}}\n")
    with Service(database_url, **settings) as service:
        service.add_conductor("c1")
        for name in ("n1", "n2"):
            uuid = service.add_node(name, owner="p1")
            for person in ("ann", "bob"):
                service.http.authorization = ("Basic", (person, person + BEHIND))
                hold(service, uuid, reason=f"{person} moves {name}")
        service.http.authorization = None
        yield service


def held(service: Service) -> list[str]:
    """The reasons of all holds."""
    return sorted(each["reason"] for each in get(service, "/holds?format=json").json["holds"])


def test_who_holds_it_is_named_where_one_may_see_it(teams: Service) -> None:
    for person, named in (("bob", True), ("olga", False)):
        log_in(teams, person)
        node = read(get(teams, "/nodes/n1")).text
        assert ("It is held by ann (system) from" in node) == named
        assert ("It is held by the system from" in node) == (not named)
        rows = read(get(teams, "/holds")).rows(ACTIVE)
        assert {row[3] for row in rows} == ({"system: ann", "system: bob"} if named else {"system"})
        teams.http.reset()


def test_ticked_holds_are_ones_own_unless_all_are_chosen(teams: Service) -> None:
    log_in(teams, "ann")

    def tick_all() -> Any:
        form = form_of(get(teams, "/holds"), "/confirm")
        for number in range(len(form.fields["item"])):
            form.set("item", True, index=number)
        return form.submit(headers=BROWSER)

    page = tick_all()
    assert "2 of the ticked rows are held by others: bob 2." in read(page).text
    done = form_of(page).submit(headers=BROWSER, status=303)
    said = read(done.follow(headers=BROWSER)).text
    assert "2 holds: The hold is released." in said
    assert "Left as they are: 2 of the ticked rows are held by others: bob 2." in said
    assert held(teams) == ["bob moves n1", "bob moves n2"]
    with unchanged(teams):
        refused = form_of(tick_all()).submit(headers=BROWSER, status=409)
        assert "all the ticked rows are held by others" in read(refused).text
    form = form_of(refused)
    form["whose"] = "all"
    form.submit(headers=BROWSER, status=303)
    assert held(teams) == []


def test_one_hold_of_another_is_released_as_it_is_named(teams: Service) -> None:
    log_in(teams, "ann")
    page = get(teams, "/nodes/n1").click("bob moves n1")
    form = form_of(page)
    assert "n1, window (bob moves n1) of bob" in read(page).text
    assert "whose" not in form.fields
    form.submit(headers=BROWSER, status=303)
    assert held(teams) == ["ann moves n1", "ann moves n2", "bob moves n2"]


def test_the_maintenance_of_several_nodes_ends_where_nobody_else_holds_them(teams: Service) -> None:
    log_in(teams, "ann")
    page = get(teams, "/nodes/n1").click("bob moves n1")
    form_of(page).submit(headers=BROWSER, status=303)
    form = form_of(get(teams, "/nodes"), "/confirm")
    form["action"] = "maintenance off"
    for number in range(2):
        form.set("item", True, index=number)
    page = form.submit(headers=BROWSER)
    assert "1 of the ticked rows is held by others: bob 1." in read(page).text
    form_of(page).submit(headers=BROWSER, status=303)
    assert held(teams) == ["ann moves n2", "bob moves n2"]
