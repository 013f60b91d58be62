"""A node whose documents cannot be decrypted disturbs no other, and no request about it is a defect."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from baremetal_sched.baremetal.conductors import work_queue
from baremetal_sched.baremetal.nodes import nodes
from baremetal_sched.conductor.periodic_tasks import PERIODIC_TASKS
from baremetal_sched.db.keyring import generate_key
from baremetal_sched.db.models import Node, NodeWork
from baremetal_sched.drivers.fake.hardware import FakePower
from tests.service import Service, fault

pytestmark = pytest.mark.shows_secrets

SECRET = {"ipmi_address": "192.0.2.9", "ipmi_password": "hunter2hunter2"}
STEP = {"interface": "deploy", "step": "x", "args": SECRET}
DOCUMENTS = {
    **dict.fromkeys(("driver_info", "instance_info", "driver_internal_info"), SECRET),
    **dict.fromkeys(("clean_step", "deploy_step", "service_step"), STEP),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with a key."""
    path = tmp_path / "keys"
    path.touch(mode=0o600)
    path.write_text(generate_key())
    return path


@pytest.fixture
def service(database_url: str, path: Path) -> Iterator[Service]:
    """Without the key of the node "lost"; the node "other" is as it should be."""
    with Service(database_url, database={"secrets_key_file": str(path)}) as before:
        before.add_conductor("c1")
        before.set_columns(before.add_node("lost"), **DOCUMENTS)
    del before._overrides["database"]["secrets_key_file"]
    options = {"sync_power_state_interval": 60, "power_state_sync_max_retries": 1}
    with Service(database_url, conductor=options) as running:
        running.add_conductor("c1")
        running.add_node("other", driver_info=SECRET)
        yield running


#: Most of what can be asked of a node, with a body that is good.
REQUESTS: tuple[tuple[str, str, Any], ...] = (
    *(("GET", path, None) for path in ("", "/states", "/validate", "/ports", "/traits", "/history", "/inventory")),
    *(("GET", path, None) for path in ("/bios", "/firmware", "/volume/targets", "/states/console", "/management")),
    *(("GET", path, None) for path in ("/management/boot_device", "/management/boot_device/supported", "/vifs")),
    *(("GET", path, None) for path in ("/allocation", "/management/indicators", "/vendor_passthru/methods")),
    ("PUT", "/states/power", {"target": "rebooting"}),
    ("PUT", "/states/power", {"target": "power off"}),
    ("PUT", "/states/boot_mode", {"target": "uefi"}),
    ("PUT", "/states/secure_boot", {"target": True}),
    ("PUT", "/states/console", {"enabled": True}),
    ("PUT", "/states/raid", {"logical_disks": [{"size_gb": 1, "raid_level": "1"}]}),
    ("PUT", "/management/boot_device", {"boot_device": "pxe"}),
    ("PUT", "/management/inject_nmi", {}),
    ("POST", "/vifs", {"id": "11111111-1111-1111-1111-111111111111"}),
    ("POST", "/vendor_passthru/second_method", {"bar": "kazoo"}),
    ("POST", "/vmedia", {"device_type": "cdrom", "image_url": "http://192.0.2.1/x"}),
    ("DELETE", "/vmedia", None),
    ("PUT", "/maintenance", {"reason": "x"}),
    ("DELETE", "/maintenance", None),
    ("PUT", "/traits", {"traits": ["CUSTOM_A"]}),
    ("PATCH", "", [{"op": "add", "path": "/extra/a", "value": 1}]),
    ("PATCH", "", [{"op": "remove", "path": "/driver_info"}]),
    ("PATCH", "", [{"op": "replace", "path": "/driver_info/ipmi_password", "value": "x"}]),
)

VERBS = (
    *("active", "deleted", "rebuild", "manage", "provide", "inspect", "abort", "adopt", "rescue", "unrescue", "unhold"),
    *("clean", "service", "undeploy"),
)
STATES = (
    "enroll",
    "manageable",
    "available",
    "active",
    "deploy failed",
    "clean wait",
    "clean failed",
    "rescue",
    "error",
)


def test_no_request_is_a_defect(service: Service, lines: io.StringIO) -> None:
    for method, path, body in REQUESTS:
        answer = service.baremetal(method, f"/nodes/lost{path}", body, status="*")
        assert answer.status_int not in (500, 502), (method, path, answer.text)
        service.work()
        service.set_columns(uuid_of(service), reservation=None)
    assert service.baremetal("GET", "/nodes/detail").json["nodes"][0]["driver_info"]["ipmi_password"] == "******"
    agents = ("/lookup?node_uuid={0}", "/lookup?addresses=52:54:00:00:00:01")
    for path in agents:
        assert service.baremetal("GET", path.format(uuid_of(service)), status="*").status_int != 500
    beat = {"callback_url": "http://192.0.2.1:9999", "agent_token": "x", "agent_version": "11.0"}
    assert service.baremetal("POST", "/heartbeat/lost", beat, status="*").status_int == 503


def test_no_verb_leaves_it_reserved(service: Service, subtests: pytest.Subtests) -> None:
    for state in STATES:
        with subtests.test(state=state):
            steps = {name: [STEP] for name in ("clean_steps", "service_steps")}
            for verb in VERBS:
                service.set_columns(
                    uuid_of(service), provision_state=state, target_provision_state=None, maintenance=False
                )
                more = {
                    "clean": {"clean_steps": steps["clean_steps"]},
                    "service": {"service_steps": steps["service_steps"]},
                }
                more["rescue"] = {"rescue_password": "x"}
                body = {"target": verb, **more.get(verb, {})}
                answer = service.baremetal("PUT", "/nodes/lost/states/provision", body, status="*")
                assert answer.status_int in (202, 400, 409, 503), (verb, answer.text)
                service.work()
                assert service.node("lost")["reservation"] is None, verb


def uuid_of(service: Service) -> str:
    return str(service.node("lost")["uuid"])


def test_chores_go_on(service: Service, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests) -> None:
    """With the other node, whose machine is not as the node says."""
    for state in ["available", "clean wait", "wait call-back", "rescue wait", "inspect wait", "deleting"]:
        with subtests.test(state=state):
            monkeypatch.setattr(FakePower, "get_power_state", lambda self, machine: "power on")
            monkeypatch.setattr(FakePower, "only_remembers", False)
            settings = service.conductors["c1"]._settings
            settings.set_override("force_power_state_during_sync", False, "conductor")
            for name in ("clean_callback_timeout", "deploy_callback_timeout", "rescue_callback_timeout"):
                settings.set_override(name, 1, "conductor")
            long_ago = service.database.read(lambda session: session.query(Node.created_at).first())[0].replace(
                year=2020
            )
            columns = {"provision_state": state, "provision_updated_at": long_ago}
            service.set_columns(uuid_of(service), **columns, inspection_started_at=long_ago, power_state="power on")
            service.set_columns(service.node("other")["uuid"], power_state="power off")
            for _ in range(4):
                for task in PERIODIC_TASKS:
                    service.conductors["c1"].run_periodic_task(task)
                service.work()
            assert service.node("other")["power_state"] == "power on"
            lost = service.node("lost")
            assert lost["reservation"] is None
            assert state not in ("clean wait", "wait call-back", "rescue wait") or lost["provision_state"] != state


@pytest.fixture
def mixed(database_url: str, path: Path, request: pytest.FixtureRequest) -> Iterator[Service]:
    """Either the API or its conductor has the key."""
    api_has_key = request.param
    keys = {"database": {"secrets_key_file": str(path)}}
    with Service(database_url, **(keys if api_has_key else {})) as service:
        conductors = Service(database_url, **({} if api_has_key else keys))
        service.conductors["c1"] = conductors.add_conductor("c1")
        service.add_node("n1", power=False)
        yield service
        conductors.close()


@pytest.mark.parametrize("mixed", [True], indirect=True)
def test_a_conductor_that_cannot_read_what_it_is_asked(mixed: Service) -> None:
    path = "/nodes/n1/vendor_passthru/third_method_sync"
    assert "secrets_key_file" in fault(mixed.baremetal("POST", path, {"bar": "meow"}, status=503))
    mixed.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"}, status="*")
    mixed.work()
    assert mixed.node("n1")["reservation"] is None


@pytest.mark.parametrize("mixed", [False], indirect=True)
def test_an_api_that_cannot_read_the_replies(mixed: Service) -> None:
    """The work has been done, so the answer does not propose to try again."""
    mixed.baremetal("PUT", "/nodes/n1/management/inject_nmi", {}, status=504)
    assert "secrets_key_file" in fault(
        mixed.baremetal("PUT", "/nodes/n1/states/power", {"target": "power on"}, status=503)
    )


def test_work_that_is_handed_over_keeps_its_arguments(database_url: str, path: Path) -> None:
    """By a conductor that cannot read them, to one that can."""
    asked = {"target": "power on", "timeout": 7}
    with Service(database_url, database={"secrets_key_file": str(path)}) as able, Service(database_url) as unable:
        for service, host in ((able, "c1"), (unable, "c2")):
            service.add_conductor(host)
        uuid = able.add_node("n1", power=False)

        def request(session: Session) -> int:
            node = nodes.find_for_change(session, uuid)
            return work_queue.request(session, node, "c1", work_queue.POLL, asked)

        work_id = able.database.write(request)
        able.database.write(lambda session: session.execute(update(NodeWork).values(not_before=1.0)))
        assert unable.database.write(lambda session: work_queue.hand_over(session, work_id, "c2"))
        row = able.database.read(lambda session: session.scalars(select(NodeWork)).one())
        assert (row.arguments, row.conductor, row.id == work_id) == (asked, "c2", False)
