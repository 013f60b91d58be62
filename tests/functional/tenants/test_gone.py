"""What acts later for a user who was removed meanwhile: the table of the guide, row by row."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from baremetal_sched.db.clock import epoch
from baremetal_sched.db.models import Hold
from tests import passing_time
from tests.functional.compute.world import ZEROS
from tests.functional.scheduling.happening import happen
from tests.functional.scheduling.test_planned_holds import sweep
from tests.functional.scheduling.test_webhook_deliveries import deliver
from tests.functional.tenants.cloud import Cloud
from tests.functional.ui.logging_in import BEHIND, file_settings, get, line_of, log_in
from tests.receiver import Receiver
from tests.service import Service

GUIDE = (Path(__file__).parents[3] / "api-ref/guides/tenants.rst").read_text()
#: The names of the rows.
ROWS = re.findall(r"^   \* - (.+)$", GUIDE.split("5. When a person leaves")[1], re.MULTILINE)[1:]
ROOT = "root: {roles: [admin], system_scope: all}\n"
ROLES = f"{ROOT}ann: {{roles: [admin], project_id: a}}\nsam: {{roles: [member], system_scope: all}}\n"
SCHEDULING, NODES = "/scheduling/v1", "/baremetal/v1/nodes"
CLAIM = {"query": "resources=CUSTOM_GOLD:1"}
WAIT = {"Prefer": "allocation-wait=600"}

#: Looks whether what the row says has happened.
Check = Callable[[], None]


@pytest.fixture
def cloud(database_url: str, tmp_path: Path) -> Iterator[Cloud]:
    """An administrator of the system, root; and two who leave: ann, of the project a, and sam, of the system."""
    options = {**file_settings(tmp_path), "events": {"allowed_hosts": "127.0.0.1"}}
    (tmp_path / "users").write_text("".join(line_of(name) for name in ("root", "ann", "sam")))
    (tmp_path / "roles").write_text(ROLES)
    with Service(database_url, **options) as service:
        service.add_conductor("c1")
        yield Cloud(service, {name: name + BEHIND for name in ("root", "ann", "sam")})


def ok(cloud: Cloud, name: str, method: str, path: str, body: Any = None, **more: str) -> Any:
    """What the request of a user is answered with; it succeeds."""
    answer = cloud.ask(name, method, path, body, **more)
    assert answer.status_int < 400, answer.text
    return answer.json if answer.body else None


def _take(cloud: Cloud) -> str:
    """Claim the only machine; return the UUID of its consumer."""
    uuid: str = ok(cloud, "root", "POST", f"{SCHEDULING}/claims", CLAIM)["uuid"]
    return uuid


def webhook(cloud: Cloud, url: str) -> Check:
    hook = ok(cloud, "ann", "POST", f"{SCHEDULING}/webhooks", {"url": url})

    def check() -> None:
        happen(cloud.service, "n1", projects=("a",))
        deliver(cloud.service)
        shown = ok(cloud, "root", "GET", f"{SCHEDULING}/webhooks/{hook['uuid']}")
        assert (shown["state"], shown["behind"], shown["last_status"]) == ("parked", None, None)

    return check


def session(cloud: Cloud, url: str) -> Check:
    log_in(cloud.service, "ann")
    get(cloud.service)

    def check() -> None:
        assert get(cloud.service, status=303).location.startswith("/ui/login?")

    return check


def waiting_claim(cloud: Cloud, url: str) -> Check:
    taken = _take(cloud)
    claim = ok(cloud, "ann", "POST", f"{SCHEDULING}/claims", {**CLAIM, "wait": 600})

    def check() -> None:
        ok(cloud, "root", "DELETE", f"{SCHEDULING}/claims/{taken}")
        found = ok(cloud, "root", "GET", f"{SCHEDULING}/claims/{claim['uuid']}")
        assert (found["state"], found["consumer"]["project_id"]) == ("claimed", "a")

    return check


def waiting_allocation(cloud: Cloud, url: str) -> Check:
    taken = _take(cloud)
    allocation = ok(cloud, "ann", "POST", "/baremetal/v1/allocations", {"resource_class": "gold"}, **WAIT)

    def check() -> None:
        assert ok(cloud, "root", "GET", f"/baremetal/v1/allocations/{allocation['uuid']}")["state"] == "allocating"
        ok(cloud, "root", "DELETE", f"{SCHEDULING}/claims/{taken}")
        assert ok(cloud, "root", "GET", f"/baremetal/v1/allocations/{allocation['uuid']}")["state"] == "active"

    return check


def waiting_server(cloud: Cloud, url: str) -> Check:
    with cloud.by("root") as service:
        service.add_flavor("f", specs={"resources:CUSTOM_GOLD": "1", **ZEROS})
        flavor = service.compute("GET", "/flavors").json["flavors"][0]["id"]
    image = {"name": "i", "visibility": "public", "disk_format": "raw", "container_format": "bare"}
    ok(cloud, "root", "POST", "/image/v2/images", image)
    taken = _take(cloud)
    image_id = ok(cloud, "ann", "GET", "/image/v2/images")["images"][0]["id"]
    server = {"name": "s1", "flavorRef": flavor, "imageRef": image_id, "networks": "none"}
    body = {"server": server, "os:scheduler_hints": {"wait": "600"}}
    made = ok(cloud, "ann", "POST", "/compute/v2.1/servers", body)["server"]

    def check() -> None:
        ok(cloud, "root", "DELETE", f"{SCHEDULING}/claims/{taken}")
        cloud.service.work()
        assert ok(cloud, "root", "GET", f"/compute/v2.1/servers/{made['id']}")["server"]["status"] == "ACTIVE"

    return check


def claim(cloud: Cloud, url: str) -> Check:
    made = ok(cloud, "ann", "POST", f"{SCHEDULING}/claims", CLAIM)

    def check() -> None:
        ok(cloud, "root", "GET", f"{SCHEDULING}/claims/{made['uuid']}")
        assert len(ok(cloud, "root", "GET", f"/placement/allocations/{made['uuid']}")["allocations"]) == 1
        assert cloud.status("root", "POST", f"{SCHEDULING}/claims", CLAIM) == 409

    return check


def planned_hold(cloud: Cloud, url: str) -> Check:
    times = {"starts_at": "2050-01-01T00:00:00Z", "ends_at": "2050-01-02T00:00:00Z"}
    ok(cloud, "sam", "POST", f"{SCHEDULING}/nodes/n1/holds", {"type": "window", **times})

    def check() -> None:
        until = _seconds_until(cloud)
        passing_time.go_by(cloud.service, until + 1)
        assert cloud.status("root", "POST", f"{SCHEDULING}/claims", CLAIM) == 409
        sweep(cloud.service)
        passing_time.go_by(cloud.service, 86_400)
        sweep(cloud.service)
        ok(cloud, "root", "POST", f"{SCHEDULING}/claims", CLAIM)

    return check


def _seconds_until(cloud: Cloud) -> float:
    """Until the hold begins, by the clock of the database."""
    query = select(Hold.starts_at - epoch())
    return float(cloud.service.database.select(lambda connection: connection.execute(query).scalar_one()))


def work(cloud: Cloud, url: str) -> Check:
    ok(cloud, "ann", "PUT", f"{NODES}/n1/states/provision", {"target": "manage"})

    def check() -> None:
        cloud.service.work()
        assert ok(cloud, "root", "GET", f"{NODES}/n1")["provision_state"] == "manageable"

    return check


CHECKS: dict[str, Callable[[Cloud, str], Check]] = {
    "Webhook": webhook,
    "Session of the pages": session,
    "Claim that waits": waiting_claim,
    "Allocation that waits": waiting_allocation,
    "Server that waits": waiting_server,
    "Claim that has a machine": claim,
    "Hold with planned times": planned_hold,
    "Work on a node": work,
}


def test_the_table_has_these_rows() -> None:
    assert list(CHECKS) == ROWS


@pytest.mark.parametrize("row", ROWS)
def test_what_happens_to_it(row: str, cloud: Cloud, tmp_path: Path) -> None:
    with Receiver() as receiver:
        cloud.service.add_node("n1", owner="a")
        check = CHECKS[row](cloud, receiver.url)
        (tmp_path / "users").write_text(line_of("root"))
        (tmp_path / "roles").write_text(ROOT)
        assert cloud.status("ann", "GET", NODES) == 401
        check()
        assert receiver.received == []
