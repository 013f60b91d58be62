"""Tenants are not told which machine their servers are on, or were to be on: not in faults, refusals and histories."""

from collections.abc import Iterator
from typing import Any

import pytest

from baremetal_sched.drivers import registry
from baremetal_sched.drivers.fake.provisioning import FakeDeploy
from baremetal_sched.errors import InvalidValue
from tests.functional.compute.test_servers import add_image
from tests.functional.compute.test_tenants import ADMIN, ANNA, BERT, add_flavor, create, show
from tests.restored import restored
from tests.service import Service

SECRET = "192.0.2.77 does not answer"


@pytest.fixture
def service(database_url: str) -> Iterator[Service]:
    with Service(database_url, api={"auth_strategy": "noauth2"}) as service:
        service.add_conductor("conductor-of-rack-7")
        add_flavor(service, "f")
        yield service


@pytest.fixture
def image(service: Service) -> str:
    return add_image(service)


@pytest.fixture
def node(service: Service) -> str:
    return service.add_node("machine-7")


def told(service: Service, node: str, server: str) -> tuple[str, str]:
    """A server and its actions as the tenant and an administrator see them: the tenant sees nothing of the node."""
    texts = []
    for headers in (ANNA, ADMIN):
        answers = [service.compute("GET", f"/servers/{server}", headers=headers)]
        path = f"/servers/{server}/os-instance-actions"
        answers.append(service.compute("GET", path, headers=headers))
        for action in answers[-1].json["instanceActions"]:
            answers.append(service.compute("GET", f"{path}/{action['request_id']}", headers=headers))
        answers.append(
            service.compute("GET", f"/servers/detail?uuid={server}&all_tenants={headers is ADMIN}", headers=headers)
        )
        texts.append("".join(answer.text for answer in answers))
    mine, whole = texts
    unsaid(node, mine)
    assert node in whole
    return mine, whole


def unsaid(node: str, text: str) -> None:
    for word in (node, "machine-7", "conductor-of-rack-7", "192.0.2.77"):
        assert word not in text


def test_deployments_that_fail(service: Service, image: str, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(machine: Any) -> None:
        raise InvalidValue(message=f"{SECRET}: {node}")

    monkeypatch.setattr(registry.interface("boot", "fake"), "prepare_instance", fail)
    server = create(service, image)["id"]
    for _ in range(4):
        service.work()
    _, whole = told(service, node, server)
    assert show(service, server, ANNA)["fault"]["message"].endswith("The deployment failed on 1 node.")
    assert SECRET in whole


def test_deployments_that_cannot_begin(
    service: Service, image: str, node: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> None:
        raise InvalidValue(message=f"{SECRET}: {node}")

    monkeypatch.setattr(FakeDeploy, "validate", fail)
    server = create(service, image)
    assert server["status"] == "ERROR"
    told(service, node, server["id"])


def test_rebuilds_that_fail(service: Service, image: str, node: str, monkeypatch: pytest.MonkeyPatch) -> None:
    server = create(service, image)["id"]

    def fail(machine: Any) -> None:
        raise InvalidValue(message=f"{SECRET}: {node}")

    monkeypatch.setattr(registry.interface("boot", "fake"), "prepare_instance", fail)
    rebuild = {"rebuild": {"imageRef": image}}
    service.compute("POST", f"/servers/{server}/action", rebuild, headers=ANNA, status=202)
    service.work()
    mine, whole = told(service, node, server)
    assert show(service, server, ANNA)["status"] == "ERROR"
    assert "An administrator can see why." in mine
    assert SECRET in whole


def test_machines_that_are_taken_away(service: Service, image: str, node: str, subtests: pytest.Subtests) -> None:
    for verb, word in [("deleted", "undeployed"), ("gone", "deleted")]:
        with subtests.test(verb=verb):
            server = create(service, image)["id"]
            system = {
                "headers": {"X-Auth-Token": "s", "X-Roles": "admin,member,reader", "OpenStack-System-Scope": "all"}
            }
            if verb == "deleted":
                service.baremetal("PUT", f"/nodes/{node}/states/provision", {"target": verb}, status=202, **system)
                service.work()
            else:
                service.baremetal("PUT", f"/nodes/{node}/maintenance", {}, status=202, **system)
                service.baremetal("DELETE", f"/nodes/{node}", status=204, **system)
            told(service, node, server)
            assert show(service, server, ANNA)["fault"]["message"].startswith(f"The server's machine was {word}")


ACTIONS: dict[str, Any] = {
    "os-stop": None, "reboot": {"type": "HARD"}, "rescue": None, "rebuild": {"imageRef": ""}, "delete": None,
}  # fmt: skip
HINDRANCES = {
    "maintenance": {"maintenance": True},
    "lock": {"reservation": "conductor-of-rack-7"},
    "protection": {"protected": True},
    "retirement": {"retired": True},
    "state": {"provision_state": "service wait"},
    "conductor group": {"conductor_group": "nobody-serves-it"},
}


def test_what_the_machine_refuses(service: Service, image: str, node: str, subtests: pytest.Subtests) -> None:
    for hindrance in HINDRANCES:
        for action in ACTIONS:
            with subtests.test(hindrance=hindrance, action=action), restored(service):
                server = create(service, image)["id"]
                service.set_columns(node, **HINDRANCES[hindrance])
                answers = {}
                for name, headers in (("anna", ANNA), ("bert", BERT), ("admin", ADMIN)):
                    if action == "delete":
                        answer = service.http.delete(
                            f"/compute/v2.1/servers/{server}", headers=dict(headers), expect_errors=True
                        )
                    else:
                        body = {action: {"imageRef": image} if action == "rebuild" else ACTIONS[action]}
                        path = f"/compute/v2.1/servers/{server}/action"
                        answer = service.http.post_json(path, body, headers=dict(headers), expect_errors=True)
                    answers[name] = answer
                    if answers["anna"].status_int < 300:
                        break  # it is done, or waits until it can be
                else:
                    assert answers["anna"].status_int == answers["admin"].status_int
                    unsaid(node, answers["anna"].text)
                    assert answers["anna"].text != answers["admin"].text or node not in answers["admin"].text
                    assert answers["bert"].json == {
                        "itemNotFound": {"code": 404, "message": f"Instance {server} could not be found."}
                    }


def test_a_refusal_still_says_what_is_wrong(service: Service, image: str, node: str) -> None:
    server = create(service, image)["id"]
    path = f"/servers/{server}/action"

    def refused(columns: dict[str, Any], body: Any = None) -> tuple[str, str]:
        service.set_columns(node, **columns)
        answers = [service.compute("POST", path, body, headers=headers, status=409) for headers in (ANNA, ADMIN)]
        mine, whole = (answer.json["conflictingRequest"]["message"] for answer in answers)
        return mine, whole

    mine, whole = refused({"maintenance": True}, {"rescue": None})
    assert mine == f"Cannot 'rescue' instance {server}: its machine is in maintenance."
    assert node in whole
    mine, whole = refused({"maintenance": False, "reservation": "conductor-of-rack-7"}, {"os-stop": None})
    assert mine == "The server cannot be changed: its machine is being worked on. Try again when that is done."
    assert node in whole
    assert "conductor-of-rack-7" in whole
