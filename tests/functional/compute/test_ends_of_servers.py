# tier: first
"""Ends of servers: the scheduler hints ``until`` and ``for``."""

import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bcrypt
import pytest
from sqlalchemy import select

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db import schema_state
from baremetal_sched.db.clock import in_words
from baremetal_sched.db.models import WaitingRequest
from tests.database_clock import settable
from tests.functional.compute.grouped import Cloud, fleet, make
from tests.functional.compute.test_servers import add_flavor, add_image, boot, message, show
from tests.functional.compute.test_waiting_servers import FOLLOW_UP, SWEEP
from tests.functional.compute.world import ZEROS
from tests.functional.scheduling.test_ends import row_of
from tests.interleaving import just_before
from tests.service import Service
from tests.unchanged import unchanged

HOUR = 3600
ENDS = next(task for task in PERIODIC_TASKS if task.name == "ends")


def at(seconds: float) -> tuple[str, float]:
    """Return a moment so many seconds from now on, in words and in seconds since 1970."""
    moment = int(time.time() + seconds)
    return in_words(moment), float(moment)


class Site:
    """A service with a flavor and an image."""

    def __init__(self, service: Service) -> None:
        self.service, self.flavor, self.image = service, add_flavor(service), add_image(service)

    def boot(self, *, status: int = 202, **more: Any) -> str:
        """POST a server; return its UUID, or the message of the error."""
        answer = boot(self.service, self.flavor, self.image, status=status, **more)
        uuid: str = answer.json["server"]["id"] if status == 202 else message(answer)
        return uuid

    def ends_at(self, uuid: str) -> float | None:
        row = row_of(self.service, uuid)
        return None if row is None else row.ends_at

    def lasts(self, uuid: str) -> float:
        row = row_of(self.service, uuid)
        assert row is not None
        return row.ends_at - row.began_at

    def waiting(self) -> list[WaitingRequest]:
        query = select(WaitingRequest).order_by(WaitingRequest.id)
        return self.service.database.read(lambda session: [*session.scalars(query)])

    def delete(self, uuid: str) -> None:
        self.service.compute("DELETE", f"/servers/{uuid}")
        self.service.work()

    def sweep(self) -> None:
        self.service.conductors["c1"].run_periodic_task(SWEEP)


@pytest.fixture
def site(service: Service) -> Iterator[Site]:
    yield Site(service)
    assert service.database.snapshot(audit) == []


@pytest.fixture
def busy(site: Site) -> tuple[Site, str]:
    """A site whose only machine has a server, without an end."""
    site.service.add_node("n1")
    uuid = site.boot()
    site.service.work()
    return site, uuid


def test_hints_give_a_server_its_end_and_stay_as_they_are(site: Site) -> None:
    service, (text, moment) = site.service, at(HOUR)
    for number in range(5):
        service.add_node(f"n{number}")
    until = site.boot(hints={"until": text})
    assert site.ends_at(until) == moment
    assert site.ends_at(site.boot(hints={"until": [text.replace("Z", "+00:00")]})) == moment
    for seconds in ("7200", 7200, 0.5):
        assert site.lasts(site.boot(hints={"for": seconds})) == pytest.approx(float(seconds), abs=1e-3)
    assert show(service, until)["scheduler_hints"] == {"until": text}
    assert "scheduler_hints" not in show(service, until, "2.99")


def test_a_server_without_hints_has_no_end(site: Site) -> None:
    site.service.add_node("n1")
    assert row_of(site.service, site.boot(hints={"for": None})) is None


BAD_TIME = (
    "until must be a time with a zone in the years 1970 to 9998, such as 2026-11-26T18:30:00+01:00, and not {!r}."
)
BAD_SECONDS = "for must be a number of seconds above 0, at most 3162240000, and not {!r}."
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"until": ""}, BAD_TIME.format("")),
    ({"until": "2099-12-01T18:00:00"}, BAD_TIME.format("2099-12-01T18:00:00")),
    ({"until": "2099-12-01 18:00:00 01:00"}, BAD_TIME.format("2099-12-01 18:00:00 01:00")),
    ({"until": "9999-12-01T18:00:00Z"}, BAD_TIME.format("9999-12-01T18:00:00Z")),
    ({"until": 4083004800}, BAD_TIME.format("4083004800")),
    ({"until": {}}, BAD_TIME.format("{}")),
    ({"until": True}, BAD_TIME.format("True")),
    ({"until": "2020-12-01T18:00:00Z"}, "The end must be later than now: 2020-12-01T18:00:00Z is over."),
    ({"until": "2099-12-01T18:00:00Z", "for": "60"}, "Give until or for, not both."),
    ({"until": ["2099-12-01T18:00:00Z"] * 2}, "The scheduler hint until must have one value, and not 2."),
    ({"until": []}, "The scheduler hint until must have one value, and not 0."),
    ({"for": ["60", "90"]}, "The scheduler hint for must have one value, and not 2."),
    *(({"for": value}, BAD_SECONDS.format(str(value)[:64])) for value in ("", "0", 0, -1, "nan", "inf", "1h", 1e300)),
    *(
        ({"for": value}, BAD_SECONDS.format(value))
        for value in ("1_000", " 600", "600\n", "+600", "1e3", "\u0661\u0662")
    ),
    *(({"for": value}, BAD_SECONDS.format(str(value)[:64])) for value in (True, {}, {"a": 1}, 10**400)),
]


def test_what_is_no_end_is_refused_and_changes_nothing(site: Site, subtests: pytest.Subtests) -> None:
    site.service.add_node("n1")
    with unchanged(site.service):
        for hints, expected in REFUSED:
            with subtests.test(hints=hints):
                assert site.boot(hints=hints, status=400) == expected


def test_servers_that_are_requested_together_end_together(site: Site) -> None:
    service = site.service
    for number in range(3):
        service.add_node(f"n{number}")
    body = {"name": "g", "policy": "anti-affinity"}
    group = service.compute("POST", "/os-server-groups", {"server_group": body}).json["server_group"]["id"]
    site.boot(hints={"for": "7200", "group": group}, max_count=3)
    found = service.compute("GET", "/servers").json["servers"]
    assert len(found) == 3
    (moment,) = {site.ends_at(server["id"]) for server in found}
    assert moment is not None
    assert all(0 < site.lasts(server["id"]) <= 7200 for server in found)


def hold(service: Service, node: str) -> None:
    """Plan a hold of the node from in half an hour on."""
    times = {"starts_at": at(HOUR / 2)[0], "ends_at": at(2 * HOUR)[0]}
    service.http.post_json(f"/scheduling/v1/nodes/{node}/holds", {"type": "window", **times}, status=201)


def test_a_machine_whose_hold_begins_after_the_end_is_preferred(site: Site) -> None:
    nodes = [site.service.add_node(f"n{number}") for number in range(2)]
    hold(site.service, nodes[0])
    chosen = [
        show(site.service, site.boot(hints={"until": at(HOUR)[0]}))["OS-EXT-SRV-ATTR:hypervisor_hostname"]
        for _ in range(2)
    ]
    assert chosen == nodes[::-1]


def test_a_server_group_may_be_where_holds_are_planned(cloud: Cloud) -> None:
    for nodes in fleet(cloud.service, r1=2).values():
        for node in nodes:
            hold(cloud.service, node)
    assert cloud.boot(make(cloud.service, "affinity"), 2, hints={"until": at(HOUR)[0]}) == "BUILD"


# -- waiting -----------------------------------------------------------------------------------------------------------


def test_a_server_that_waits_gets_its_end_with_its_machine(busy: tuple[Site, str]) -> None:
    site, before = busy
    text, moment = at(HOUR)
    first = site.boot(hints={"wait": "600", "for": "7200"})
    second = site.boot(hints={"wait": "600", "until": text})
    assert [(each.ends_at, each.lasts) for each in site.waiting()] == [(None, 7200), (moment, None)]
    assert len({each.request_key for each in site.waiting()}) == 1  # one entry of the queue
    assert row_of(site.service, first) is None
    site.delete(before)
    assert site.lasts(first) == pytest.approx(7200, abs=1e-3)
    site.delete(first)
    assert (site.ends_at(second), site.waiting()) == (moment, [])


def test_it_stops_waiting_when_its_end_is_near(busy: tuple[Site, str]) -> None:
    site, before = busy
    text, moment = at(10 * HOUR)
    waiting = site.boot(hints={"wait": "50000", "until": text})
    (row,) = site.waiting()
    assert row.deadline == moment - 60
    with settable(site.service.database) as clock:
        clock.step(10 * HOUR - 30)
        site.sweep()
    shown = show(site.service, waiting)
    waited = round(row.deadline - row.asked_at)
    assert shown["status"] == "ERROR"
    assert shown["fault"]["message"].startswith(
        f"No valid host was found, and the server has waited for {waited} seconds."
    )
    assert site.waiting() == []
    site.delete(before)


def test_the_next_machine_of_a_server_has_the_same_end(site: Site, broken: set[str]) -> None:
    service = site.service
    first, second = service.add_node("n1"), service.add_node("n2")
    service.set_columns(second, maintenance=True)
    broken.add(first)
    uuid = site.boot(hints={"wait": "600", "for": "7200"})
    moment = site.ends_at(uuid)
    service.work()
    (row,) = site.waiting()
    assert (row.uuid, row.ends_at, row.lasts) == (uuid, moment, None)
    service.baremetal("DELETE", f"/nodes/{second}/maintenance")
    service.work()
    shown = show(service, uuid)
    assert (shown["status"], shown["OS-EXT-SRV-ATTR:hypervisor_hostname"]) == ("ACTIVE", second)
    assert (site.ends_at(uuid), site.waiting()) == (moment, [])


def test_an_end_that_is_moved_meanwhile_is_that_of_the_next_machine(site: Site, broken: set[str]) -> None:
    service, moment = site.service, at(9 * HOUR)[1]
    first, second = (service.add_node(name) for name in ("n1", "n2"))
    broken.add(first)
    service.set_columns(second, maintenance=True)
    uuid = site.boot(hints={"for": "7200"})
    service.set_columns(second, maintenance=False)
    with just_before(service.database, "SELECT consumers.id", f"UPDATE claim_ends SET ends_at = {moment}"):
        service.work()
    shown = show(service, uuid)
    assert (shown["status"], shown["OS-EXT-SRV-ATTR:hypervisor_hostname"]) == ("ACTIVE", second)
    assert site.ends_at(uuid) == moment


def test_a_server_whose_end_has_come_gets_no_other_machine(site: Site, broken: set[str]) -> None:
    service = site.service
    first, second = service.add_node("n1"), service.add_node("n2")
    broken.add(first)
    service.set_columns(second, maintenance=True)
    uuid = site.boot(hints={"for": "1800"})
    service.set_columns(second, maintenance=False)
    with settable(service.database) as clock:
        clock.step(1801)
        service.work()
        service.conductors["c1"].run_periodic_task(FOLLOW_UP)
        assert service.node(first)["provision_state"] == "deploy failed"
        assert show(service, uuid)["OS-EXT-SRV-ATTR:hypervisor_hostname"] == first
        service.conductors["c1"].run_periodic_task(ENDS)
        service.work()
    service.compute("GET", f"/servers/{uuid}", status=404)
    assert [service.node(node)["provision_state"] for node in (first, second)] == ["available"] * 2


# -- what becomes of it ------------------------------------------------------------------------------------------------


def test_a_rebuild_and_a_write_through_placement_keep_the_end(site: Site) -> None:
    service = site.service
    service.add_node("n1")
    uuid = site.boot(hints={"for": "7200"})
    service.work()
    moment = site.ends_at(uuid)
    service.compute("POST", f"/servers/{uuid}/action", {"rebuild": {"imageRef": site.image}})
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"
    assert site.ends_at(uuid) == moment
    held = service.placement("GET", f"/allocations/{uuid}").json
    service.placement("PUT", f"/allocations/{uuid}", {**held, "user_id": "another"})
    assert site.ends_at(uuid) == moment
    site.delete(uuid)
    assert row_of(service, uuid) is None


# -- who may, and how long ---------------------------------------------------------------------------------------------

LIMITS = {"default_claim": 7200, "longest_claim": 3 * HOUR}
USERS = {
    "root": "{roles: [admin], system_scope: all}",
    "chief": "{roles: [admin, member], project_id: p}",
    "ann": "{roles: [member], project_id: p}",
    "nova": "{roles: [service, member], project_id: p}",
}


@pytest.fixture
def limited(database_url: str, tmp_path: Path) -> Iterator[Service]:
    """A service with limits, four machines, and users with passwords."""
    users, roles = tmp_path / "users", tmp_path / "roles.yaml"
    word = bcrypt.hashpw(b"word", bcrypt.gensalt(4)).decode()
    users.write_text("".join(f"{name}:{word}\n" for name in USERS))
    roles.write_text("".join(f"{name}: {given}\n" for name, given in USERS.items()))
    options = {"http_basic_auth_user_file": str(users), "http_basic_auth_roles_file": str(roles)}
    with Service(database_url, DEFAULT=options, api={"auth_strategy": "http_basic"}, scheduling=LIMITS) as service:
        service.add_conductor("c1")
        for number in range(4):
            service.add_node(f"n{number}")
        yield service


def ask(service: Service, user: str, image: str, hints: dict[str, Any] | None = None, status: int = 202) -> str:
    """POST a server as this user; return its UUID, or the message."""
    body: dict[str, Any] = {"server": {"name": "s", "flavorRef": "f", "imageRef": image, "networks": "none"}}
    body |= {} if hints is None else {"os:scheduler_hints": hints}
    answer = service.compute("POST", "/servers", body, headers=basic(user), status=status)
    uuid: str = answer.json["server"]["id"] if status == 202 else message(answer)
    return uuid


def basic(user: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:word'.encode()).decode()}"}


def test_limits_and_the_default_bind_all_but_administrators_of_the_system(limited: Service) -> None:
    image = add_image(limited)
    root = basic("root")
    fields = {"name": "f", "id": "f", "ram": 1024, "vcpus": 1, "disk": 10}
    limited.compute("POST", "/flavors", {"flavor": fields}, headers=root)
    specs = {"extra_specs": {"resources:CUSTOM_GOLD": "1", **ZEROS}}
    limited.compute("POST", "/flavors/f/os-extra_specs", specs, headers=root)

    def lasts(*asked: Any) -> float | None:
        row = row_of(limited, ask(limited, asked[0], image, *asked[1:]))
        return None if row is None else round(row.ends_at - row.began_at)

    assert lasts("ann") == 7200
    too_long = {"for": 4 * HOUR}
    for user in ("ann", "chief"):
        assert ask(limited, user, image, too_long, 400).startswith("The end is too late: ")
        assert "scheduling:claims:set_end_all" in ask(limited, user, image, {"until": None}, 403)
    assert [lasts("root", too_long), lasts("nova", too_long)] == [4 * HOUR] * 2
    assert lasts("root", {"until": None}) is None


def test_while_an_older_release_may_serve_ends_are_refused(site: Site) -> None:
    site.service.add_node("n1")
    site.service.database.change(lambda connection: schema_state.finish(connection, "0037"))
    with unchanged(site.service):
        refused = site.boot(hints={"for": "60"}, status=503)
    assert refused.startswith("Nothing can have an end while a release before this one may serve the database")
    assert row_of(site.service, site.boot()) is None
    site.service.database.change(lambda connection: schema_state.finish(connection, "0038"))
