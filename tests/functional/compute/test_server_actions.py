"""Actions of servers, their history, tags and metadata."""

import time
from types import SimpleNamespace
from typing import Any

import pytest

from baremetal_sched.baremetal.api import waiting
from tests.functional.compute.test_servers import UNKNOWN, add_flavor, add_image, boot, message, show
from tests.service import Service
from tests.unchanged import unchanged


@pytest.fixture
def server(service: Service) -> str:
    """A server that is active."""
    service.add_node("n1", traits=("CUSTOM_A",))
    uuid: str = boot(service, add_flavor(service), add_image(service)).json["server"]["id"]
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"
    return uuid


def act(
    service: Service, server: str, action: str, value: Any = None, status: int = 202, version: str = "2.100"
) -> Any:
    """POST an action; the answer."""
    return service.compute("POST", f"/servers/{server}/action", {action: value}, status=status, version=version)


def status_of(service: Service, server: str) -> str:
    status: str = show(service, server)["status"]
    return status


def actions_of(service: Service, server: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.compute("GET", f"/servers/{server}/os-instance-actions").json[
        "instanceActions"
    ]
    return found


def test_stop_start_and_reboot(service: Service, server: str) -> None:
    act(service, server, "os-stop")
    assert show(service, server)["OS-EXT-STS:task_state"] == "powering-off"
    assert "task_state" in message(act(service, server, "os-stop", status=409))
    service.work()
    assert status_of(service, server) == "SHUTOFF"
    assert "vm_state stopped" in message(act(service, server, "os-stop", status=409))
    act(service, server, "reboot", {"type": "SOFT"}, status=409)
    act(service, server, "os-start")
    service.work()
    assert status_of(service, server) == "ACTIVE"
    for kind, status in (("SOFT", "REBOOT"), ("HARD", "HARD_REBOOT")):
        act(service, server, "reboot", {"type": kind})
        assert status_of(service, server) == status
        service.work()
        assert status_of(service, server) == "ACTIVE"
    assert [entry["action"] for entry in actions_of(service, server)] == ["reboot", "reboot", "start", "stop", "create"]


def test_a_machine_that_a_conductor_works_on(service: Service, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    node = show(service, server)["OS-EXT-SRV-ATTR:hypervisor_hostname"]
    service.set_columns(node, reservation="c1")
    assert "locked by host c1" in message(act(service, server, "os-stop", status=409))
    # Most locks last a moment.
    # Only for this module: other threads of this process sleep, too.
    clock = SimpleNamespace(sleep=lambda _: service.set_columns(node, reservation=None), monotonic=time.monotonic)
    monkeypatch.setattr(waiting, "time", clock)
    act(service, server, "os-stop")


def test_rescue_and_unrescue(service: Service, server: str) -> None:
    node = show(service, server)["OS-EXT-SRV-ATTR:hypervisor_hostname"]
    service.set_columns(node, rescue_interface="fake")
    answer = act(service, server, "rescue", {"adminPass": "swordfish-42"}, status=200)
    assert answer.json == {"adminPass": "swordfish-42"}
    assert show(service, server)["OS-EXT-STS:task_state"] == "rescuing"
    service.work()
    assert status_of(service, server) == "RESCUE"
    act(service, server, "os-stop", status=409)
    act(service, server, "unrescue")
    service.work()
    assert status_of(service, server) == "ACTIVE"
    assert "rescue_image_ref" in message(act(service, server, "rescue", {"rescue_image_ref": UNKNOWN}, status=400))
    assert len(act(service, server, "rescue", status=200).json["adminPass"]) >= 12


def test_a_machine_that_cannot_be_rescued(service: Service, server: str) -> None:
    node = show(service, server)["OS-EXT-SRV-ATTR:hypervisor_hostname"]
    service.set_columns(node, rescue_interface="no-rescue")
    assert "rescue" in message(act(service, server, "rescue", status=409))
    assert status_of(service, server) == "ACTIVE"


def test_rebuild(service: Service, server: str) -> None:
    fitting = add_image(service, "fits", trait__CUSTOM_A="required")
    unfit = add_image(service, "unfit", trait__CUSTOM_B="required")
    before = show(service, server)
    assert "CUSTOM_B" in message(act(service, server, "rebuild", {"imageRef": unfit}, status=409))
    assert show(service, server) == before
    answer = act(service, server, "rebuild", {"imageRef": fitting, "name": "new", "metadata": {"k": "v"}})
    shown = answer.json["server"]
    assert (shown["status"], shown["name"], shown["image"]["id"]) == ("REBUILD", "new", fitting)
    assert (shown["metadata"], shown["user_data"], len(shown["adminPass"]) >= 12) == ({"k": "v"}, None, True)
    assert answer.headers["Location"].endswith(f"/servers/{server}")
    act(service, server, "rebuild", {"imageRef": fitting}, status=409)
    service.work()
    assert status_of(service, server) == "ACTIVE"
    assert message(act(service, server, "rebuild", {"imageRef": UNKNOWN}, status=400))
    assert message(act(service, server, "rebuild", {"imageRef": add_image(service, min_ram=9999)}, status=400))


def test_locks(service: Service, server: str) -> None:
    act(service, server, "lock", {"locked_reason": "because"})
    shown = show(service, server)
    assert (shown["locked"], shown["locked_reason"]) == (True, "because")
    # The caller is an administrator here.
    act(service, server, "os-stop")
    act(service, server, "unlock")
    assert (show(service, server)["locked"], show(service, server)["locked_reason"]) == (False, None)
    act(service, server, "lock", {"locked_reason": "because"}, version="2.72")
    assert show(service, server)["locked_reason"] is None


def test_actions_that_are_refused(service: Service, server: str, subtests: pytest.Subtests) -> None:
    with unchanged(service):
        for body, status, word in [
            ({"resize": {"flavorRef": "1"}}, 400, "resize"),
            ({"pause": None}, 501, "pause"),
            ({"nosuch": None}, 400, "nosuch"),
            ({}, 400, "one member"),
            ({"os-start": None, "os-stop": None}, 400, "one member"),
            ({"reboot": {"type": "WARM"}}, 400, "type"),
            ({"reboot": None}, 400, "reboot"),
            ({"rebuild": {}}, 400, "imageRef"),
        ]:
            with subtests.test(body=body):
                assert word in message(service.compute("POST", f"/servers/{server}/action", body, status=status))


def test_an_action_of_a_server_that_is_not_there(service: Service) -> None:
    act(service, UNKNOWN, "os-start", status=404)
    act(service, "nosuch", "os-start", status=404)


def test_the_history_of_a_server(service: Service, server: str) -> None:
    act(service, server, "os-stop")
    service.work()
    stop, create = actions_of(service, server)
    assert (stop["action"], create["action"], stop["instance_uuid"]) == ("stop", "create", server)
    path = f"/servers/{server}/os-instance-actions"
    shown = service.compute("GET", f"{path}/{stop['request_id']}").json["instanceAction"]
    (event,) = shown["events"]
    assert (event["event"], event["result"], event["details"]) == ("compute_stop_instance", "Success", None)
    assert "details" not in service.compute("GET", f"{path}/{stop['request_id']}", version="2.83").text
    service.compute("GET", f"{path}/req-nosuch", status=404)
    page = service.compute("GET", f"{path}?limit=1").json
    assert [entry["action"] for entry in page["instanceActions"]] == ["stop"]
    rest = service.http.get(page["links"][0]["href"], headers={"OpenStack-API-Version": "compute 2.100"}).json
    assert [entry["action"] for entry in rest["instanceActions"]] == ["create"]
    assert service.compute("GET", f"{path}?changes-since=2100-01-01").json["instanceActions"] == []
    service.compute("GET", f"{path}?marker=nosuch", status=400)
    service.compute("GET", f"{path}?limit=1", version="2.57", status="4*")


# -- tags and metadata -------------------------------------------------------------------------------------------------


def test_tags(service: Service, server: str) -> None:
    path = f"/servers/{server}/tags"
    assert service.compute("PUT", path, {"tags": ["b", "a", "b"]}).json == {"tags": ["a", "b"]}
    service.compute("GET", f"{path}/a", status=204)
    service.compute("GET", f"{path}/c", status=404)
    added = service.compute("PUT", f"{path}/c", status=201)
    assert added.headers["Location"].endswith(f"{path}/c")
    service.compute("PUT", f"{path}/c", status=204)
    service.compute("PUT", f"{path}/x,y", status=400)
    service.compute("DELETE", f"{path}/a", status=204)
    service.compute("DELETE", f"{path}/a", status=404)
    assert service.compute("GET", path).json == {"tags": ["b", "c"]}
    many = [f"t{number}" for number in range(50)]
    service.compute("PUT", path, {"tags": many})
    service.compute("PUT", f"{path}/more", status=400)
    service.compute("PUT", path, {"tags": [*many, "more"]}, status=400)
    service.compute("DELETE", path, status=204)
    assert service.compute("GET", path).json == {"tags": []}
    service.compute("GET", path, version="2.25", status=404)
    assert service.compute("GET", f"/servers/{UNKNOWN}/tags", status=404)


def test_metadata(service: Service, server: str) -> None:
    path = f"/servers/{server}/metadata"
    assert service.compute("POST", path, {"metadata": {"a": "1", "b": "2"}}).json == {"metadata": {"a": "1", "b": "2"}}
    assert service.compute("PUT", f"{path}/a", {"meta": {"a": "3"}}).json == {"meta": {"a": "3"}}
    assert service.compute("GET", f"{path}/a").json == {"meta": {"a": "3"}}
    service.compute("PUT", f"{path}/a", {"meta": {"b": "3"}}, status=400)
    service.compute("PUT", f"{path}/a", {"meta": {"a": "3", "b": "3"}}, status=400)
    assert service.compute("GET", path).json == {"metadata": {"a": "3", "b": "2"}}
    service.compute("DELETE", f"{path}/a", status=204)
    service.compute("DELETE", f"{path}/a", status=404)
    service.compute("GET", f"{path}/a", status=404)
    assert service.compute("PUT", path, {"metadata": {"c": "4"}}).json == {"metadata": {"c": "4"}}
    assert show(service, server)["metadata"] == {"c": "4"}
    many = {f"k{number}": "v" for number in range(129)}
    service.compute("POST", path, {"metadata": many}, status=403)
    service.compute("POST", path, {"metadata": {"a/b": "1"}}, status=400)


def test_a_server_in_error_keeps_its_tags_and_metadata(service: Service, server: str) -> None:
    errored = boot(service, add_flavor(service, "other"), add_image(service)).json["server"]["id"]
    assert status_of(service, errored) == "ERROR"
    service.compute("PUT", f"/servers/{errored}/tags", {"tags": ["a"]}, status=409)
    service.compute("POST", f"/servers/{errored}/metadata", {"metadata": {"a": "b"}}, status=409)
