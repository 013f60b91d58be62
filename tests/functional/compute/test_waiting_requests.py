"""The requests of clients whose servers wait until a machine is free, and what they see meanwhile."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from baremetal_sched.baremetal.provider.audit import audit
from baremetal_sched.db.models import WaitingRequest
from tests.functional.compute.test_servers import add_flavor, add_image, boot, message, show
from tests.functional.secrets_at_rest.story import new_key, write_keys
from tests.service import Service
from tests.unchanged import unchanged

PASSWORD = "swordfish-42"
WHOLE_SECONDS = (
    "The scheduler hint wait must be a whole number of seconds, such as 3600, for which the server may wait until a "
    "machine is free; 0: not at all."
)


class Waiting:
    """A service whose only machine has a server, and a server that waits for it."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.flavor, self.image = add_flavor(service), add_image(service)
        self.node = service.add_node("n1")
        self.before = boot(service, self.flavor, self.image).json["server"]["id"]
        service.work()
        answer = self.boot(hints={"wait": "600"}, name="web", adminPass=PASSWORD, tags=["t"], metadata={"a": "b"})
        self.uuid: str = answer.json["server"]["id"]

    def boot(self, **more: Any) -> Any:
        return boot(self.service, self.flavor, self.image, **more)

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        return self.service.compute(method, f"/servers/{self.uuid}{path}", body, **more)


@pytest.fixture
def waiting(service: Service) -> Waiting:
    return Waiting(service)


def test_a_waiting_server_is_shown_as_one_that_is_built(waiting: Waiting) -> None:
    server = show(waiting.service, waiting.uuid)
    expected = {
        "status": "BUILD", "OS-EXT-STS:vm_state": "building", "OS-EXT-STS:task_state": "scheduling",
        "OS-EXT-STS:power_state": 0, "OS-EXT-SRV-ATTR:host": None, "OS-EXT-SRV-ATTR:hypervisor_hostname": None,
        "hostId": "", "OS-EXT-AZ:availability_zone": "", "addresses": {}, "progress": 0, "host_status": "",
        "OS-SRV-USG:launched_at": None, "scheduler_hints": {"wait": "600"}, "tags": ["t"], "metadata": {"a": "b"},
    }  # fmt: skip
    assert {name: server.get(name) for name in expected} == expected
    assert "fault" not in server
    details = waiting.service.compute("GET", "/servers/detail?status=BUILD&task_state=scheduling").json["servers"]
    assert [found["id"] for found in details] == [waiting.uuid]
    assert details[0]["OS-EXT-STS:task_state"] == "scheduling"
    for query in ("status=ERROR", "task_state=spawning", f"node={waiting.node}&status=BUILD", "host=c1&status=BUILD"):
        assert waiting.service.compute("GET", f"/servers?{query}").json["servers"] == [], query
    project = server["tenant_id"]
    quotas = waiting.service.compute("GET", f"/os-quota-sets/{project}/detail").json["quota_set"]
    assert quotas["instances"]["in_use"] == 2


def test_actions_are_refused(waiting: Waiting, subtests: pytest.Subtests) -> None:
    with unchanged(waiting.service):
        for action, name in [
            ({"os-start": None}, "start"),
            ({"os-stop": None}, "stop"),
            ({"reboot": {"type": "SOFT"}}, "reboot"),
            ({"reboot": {"type": "HARD"}}, "reboot"),
            ({"rescue": None}, "rescue"),
            ({"unrescue": None}, "unrescue"),
        ]:
            with subtests.test(action=action):
                answer = waiting.ask("POST", "/action", action, status=409)
                assert message(answer) == f"Cannot '{name}' instance {waiting.uuid} while it is in vm_state building"


def test_what_may_be_changed_is_that_of_a_server_that_is_built(waiting: Waiting) -> None:
    rebuild = {"rebuild": {"imageRef": waiting.image}}
    assert "Cannot 'rebuild'" in message(waiting.ask("POST", "/action", rebuild, status=409))
    for method, path, body in (
        ("POST", "/metadata", {"metadata": {"a": "c"}}),
        ("PUT", "/tags", {"tags": ["u"]}),
        ("DELETE", "/tags/t", None),
    ):
        assert "while it is in vm_state building" in message(waiting.ask(method, path, body, status=409))
    renamed = waiting.ask("PUT", "", {"server": {"name": "other", "description": "d"}}).json["server"]
    assert (renamed["name"], renamed["OS-EXT-STS:task_state"]) == ("other", "scheduling")
    waiting.ask("POST", "/action", {"lock": None}, status=202)
    waiting.service.compute("DELETE", f"/servers/{waiting.before}", status=204)
    waiting.service.work()
    server = show(waiting.service, waiting.uuid)
    assert (server["status"], server["name"], server["locked"]) == ("ACTIVE", "other", True)
    assert waiting.service.node(waiting.node)["instance_name"] == "other"


def test_it_is_deleted_at_once(waiting: Waiting) -> None:
    waiting.ask("DELETE", "", status=204)
    waiting.ask("GET", "", status=404)
    again = waiting.boot(hints={"wait": 600}).json["server"]["id"]
    waiting.service.compute("POST", f"/servers/{again}/action", {"forceDelete": None}, status=202)
    waiting.service.compute("GET", f"/servers/{again}", status=404)
    waiting.service.compute("DELETE", f"/servers/{waiting.before}", status=204)
    waiting.service.work()
    assert waiting.service.node(waiting.node)["provision_state"] == "available"
    assert waiting.service.database.snapshot(audit) == []


def test_a_server_with_a_machine_is_deleted_by_force_like_by_delete(waiting: Waiting) -> None:
    path = f"/servers/{waiting.before}"
    waiting.service.compute("POST", f"{path}/action", {"forceDelete": None}, status=202)
    assert show(waiting.service, waiting.before)["OS-EXT-STS:task_state"] == "deleting"
    waiting.service.work()
    waiting.service.compute("GET", path, status=404)
    assert show(waiting.service, waiting.uuid)["status"] == "ACTIVE"


def test_its_history_says_that_it_waits_and_for_administrators_why(waiting: Waiting) -> None:
    (action,) = waiting.ask("GET", "/os-instance-actions").json["instanceActions"]
    assert (action["action"], action["message"]) == ("create", None)
    found = waiting.ask("GET", f"/os-instance-actions/{action['request_id']}").json["instanceAction"]["events"]
    (event,) = found
    assert (event["event"], event["result"], event["finish_time"]) == ("wait_for_machine", None, None)
    assert event["details"].startswith("No valid host was found. No node that matches is free.")


def test_malformed_hints_are_refused(waiting: Waiting, subtests: pytest.Subtests) -> None:
    with unchanged(waiting.service):
        for hint in [
            "",
            "-1",
            -1,
            "1.5",
            1.5,
            "1e3",
            " 60",
            "60 s",
            "soon",
            "\u0663",
            True,
            None,
            ["60", "61"],
            {},
            "9" * 19,
        ]:
            with subtests.test(hint=hint):
                assert message(waiting.boot(hints={"wait": hint}, status=400)) == WHOLE_SECONDS


def test_what_cannot_wait_is_refused(waiting: Waiting, subtests: pytest.Subtests) -> None:
    with unchanged(waiting.service):
        for hint, more, said in [
            ("604801", {}, "A server may wait for 604800 seconds at most; 604801 were requested."),
            (10**17, {}, "A server may wait for 604800 seconds at most; 100000000000000000 were requested."),
            (
                "60",
                {"min_count": 2},
                "Only a single server can wait for a machine: request one server, or do not wait.",
            ),
            (60, {"max_count": 2}, "Only a single server can wait for a machine: request one server, or do not wait."),
        ]:
            with subtests.test(hint=hint):
                assert message(waiting.boot(hints={"wait": hint}, status=400, **more)) == said


def test_a_flavor_that_names_no_machine_cannot_wait(waiting: Waiting) -> None:
    service = waiting.service
    plain = service.add_flavor("plain")
    several = add_flavor(service, "several", resources__CUSTOM_GOLD="2")
    for flavor in (plain, several):
        assert "one unit of a node's custom class" in message(
            boot(service, flavor, waiting.image, hints={"wait": "60"}, status=400)
        )
        boot(service, flavor, waiting.image, hints={"wait": "0"}, status=202)


def test_the_number_of_waiting_servers_is_a_quota(database_url: str) -> None:
    with Service(database_url, scheduling={"most_waiting": 1}) as service:
        service.add_conductor("c1")
        waiting = Waiting(service)
        assert message(waiting.boot(hints={"wait": "60"}, status=403)) == (
            "Quota exceeded for waiting servers: Requested 1, but already used 1 of 1 waiting servers "
            "([scheduling] most_waiting). No machine is free now."
        )
        waiting.ask("DELETE", "", status=204)
        waiting.boot(hints={"wait": "60"}, status=202)


# -- secrets -----------------------------------------------------------------------------------------------------------


def everything(service: Service) -> str:
    """The text of all rows of claims and servers."""
    return service.database.select(
        lambda connection: str(
            [connection.execute(text(f"SELECT * FROM {table}")).all() for table in ("pending_claims", "servers")]
        )
    )


def test_the_password_is_with_the_claim_until_its_end(waiting: Waiting) -> None:
    service = waiting.service
    assert PASSWORD in everything(service)
    assert PASSWORD not in waiting.ask("GET", "").text
    waiting.ask("DELETE", "", status=204)
    assert PASSWORD not in everything(service)
    again = waiting.boot(hints={"wait": 600}, adminPass=PASSWORD).json["server"]["id"]
    service.compute("DELETE", f"/servers/{waiting.before}", status=204)
    service.work()
    assert show(service, again)["status"] == "ACTIVE"
    assert PASSWORD not in everything(service)


def test_with_a_key_the_password_is_encrypted(database_url: str, tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", new_key())
    with Service(database_url, database={"secrets_key_file": str(tmp_path / "keys")}) as service:
        service.add_conductor("c1")
        waiting = Waiting(service)
        assert PASSWORD not in everything(service)
        service.compute("DELETE", f"/servers/{waiting.before}", status=204)
        service.work()
        assert show(service, waiting.uuid)["status"] == "ACTIVE"


def test_a_password_that_cannot_be_decrypted_ends_the_waiting(database_url: str, tmp_path: Path) -> None:
    write_keys(tmp_path / "keys", new_key())
    with Service(database_url, database={"secrets_key_file": str(tmp_path / "keys")}) as service:
        service.add_conductor("c1")
        waiting = Waiting(service)
        service.database.write(
            lambda session: (
                session.execute(
                    text("UPDATE pending_claims SET secret = '~00000000~x~{}'")  # of a key that is not there
                )
                and None
            )
        )
        service.compute("DELETE", f"/servers/{waiting.before}", status=204)
        service.work()
        server = show(service, waiting.uuid)
        assert server["status"] == "ERROR"
        assert service.node(waiting.node)["provision_state"] == "available"
        assert service.database.read(lambda session: session.query(WaitingRequest).count()) == 0
