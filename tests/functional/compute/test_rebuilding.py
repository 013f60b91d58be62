"""Rebuilds: which images fit, the effect on the machine, and that a refused request changes nothing."""

from typing import Any

import pytest

from baremetal_sched.compute.servers import server_operations, servers
from baremetal_sched.compute.servers.server_operations import Rebuild
from baremetal_sched.errors import InvalidValue
from baremetal_sched.errors.compute import FlavorForbidsTraits, MachineLacksTraits, MachineRefuses, ServerStateRefused
from tests.functional.compute.test_booting import add_child
from tests.functional.compute.world import REQUESTER, boot, flavor, held, image, show, within
from tests.restored import restored
from tests.service import Service

OTHER = "22222222-2222-4222-8222-222222222222"


def other(**properties: str) -> dict[str, Any]:
    """Another image than servers are booted with."""
    return {**image(**properties), "id": OTHER, "name": "i2"}


def rebuild(service: Service, uuid: str, with_image: dict[str, Any], **changes: Any) -> None:
    """Rebuild a server."""
    asked = Rebuild(with_image, admin_password="secret-2", changes=changes)
    within(
        service,
        lambda context: server_operations.rebuild(
            context, servers.find_for_change(context.session, uuid, None), asked, REQUESTER
        ),
    )


def active(service: Service, **asked: Any) -> tuple[str, str]:
    """A server that is active, and its node."""
    server = boot(service, **asked)
    service.work()
    assert show(service, server["uuid"])["status"] == "ACTIVE"
    return server["uuid"], server["node"]


def image_of(service: Service, uuid: str) -> Any:
    return service.database.read(lambda session: servers.find(session, uuid, None).image)["id"]


def test_a_fitting_image_on_a_full_fleet(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_A", "CUSTOM_B"))
    uuid, node = active(service, image=image(trait__CUSTOM_A="required", image_checksum="abc"))
    assert service.node(node)["instance_info"]["image_checksum"] == "abc"
    rebuild(service, uuid, other(trait__CUSTOM_B="required"), name="new")
    server = show(service, uuid)
    assert (server["status"], server["name"]) == ("REBUILD", "new")
    info = service.node(node)["instance_info"]
    assert (info["image_source"], info["traits"], info["preserve_ephemeral"]) == (OTHER, ["CUSTOM_B"], "False")
    assert (info["display_name"], "image_checksum" in info) == ("new", False)
    service.work()
    server = show(service, uuid)
    assert (server["status"], server["node"]) == ("ACTIVE", node)
    assert server["actions"][0] == ("rebuild", [("Success", None)])
    rebuild(service, uuid, image())
    assert "traits" not in service.node(node)["instance_info"]


def test_an_image_that_the_machine_cannot_serve_changes_nothing(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_A",))
    uuid, node = active(service)
    before = service.node(node)
    with pytest.raises(MachineLacksTraits, match="CUSTOM_B"):
        rebuild(service, uuid, other(trait__CUSTOM_A="required", trait__CUSTOM_B="required"))
    assert (show(service, uuid)["status"], image_of(service, uuid)) == ("ACTIVE", image()["id"])
    assert service.node(node) == before
    # Not compared: the image that the server has. The node's own check stays.
    with pytest.raises(MachineRefuses, match="CUSTOM_B"):
        rebuild(service, uuid, image(trait__CUSTOM_B="required"))


def test_an_image_that_the_servers_own_flavor_forbids(service: Service) -> None:
    service.add_node("n1", traits=("CUSTOM_A",))
    service.add_node("n2", traits=("CUSTOM_B",), resource_class="silver")
    uuid, _ = active(service, flavor=flavor(trait__CUSTOM_B="forbidden"))
    with pytest.raises(FlavorForbidsTraits, match="CUSTOM_B"):
        rebuild(service, uuid, other(trait__CUSTOM_B="required"))


def test_an_image_that_is_too_big(service: Service, subtests: pytest.Subtests) -> None:
    for size in [{"min_ram": 4096}, {"min_disk": 30}]:
        with subtests.test(size=size), restored(service):
            service.add_node("n1")
            uuid, _ = active(service)
            with pytest.raises(InvalidValue):
                rebuild(service, uuid, other() | size)
            assert image_of(service, uuid) == image()["id"]


def test_only_providers_that_the_server_holds_count(service: Service) -> None:
    node = service.add_node("n1")
    fast = add_child(service, node, "nic1", "CUSTOM_NIC", "CUSTOM_FAST")
    add_child(service, node, "nic2", "CUSTOM_NIC", "CUSTOM_SLOW")
    uuid, _ = active(service, flavor=flavor(resources1__CUSTOM_NIC="1", trait1__CUSTOM_FAST="required"))
    assert set(held(service, uuid)) == {node, fast}
    with pytest.raises(MachineLacksTraits, match="CUSTOM_SLOW"):
        rebuild(service, uuid, other(trait__CUSTOM_SLOW="required"))
    rebuild(service, uuid, other(trait__CUSTOM_FAST="required"))
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"
    service.placement("DELETE", f"/allocations/{uuid}", status=204)
    with pytest.raises(MachineLacksTraits, match="CUSTOM_FAST"):
        rebuild(service, uuid, {**other(trait__CUSTOM_FAST="required"), "id": "3" * 8})


def test_a_server_that_was_off_is_off_again(service: Service) -> None:
    service.add_node("n1")
    uuid, node = active(service)
    service.compute("POST", f"/servers/{uuid}/action", {"os-stop": None}, status=202)
    assert show(service, uuid)["task_state"] == "powering-off"
    service.work()
    assert show(service, uuid)["status"] == "SHUTOFF"
    assert show(service, uuid)["actions"][0] == ("stop", [("Success", None)])
    rebuild(service, uuid, other())
    assert show(service, uuid)["status"] == "REBUILD"
    service.work()
    assert (show(service, uuid)["status"], service.node(node)["power_state"]) == ("SHUTOFF", "power off")


def test_a_rebuild_that_fails_is_an_error_and_keeps_the_machine(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from baremetal_sched.drivers import registry

    node = service.add_node("n1")
    uuid, _ = active(service)
    rebuild(service, uuid, other())

    def fail(machine: Any) -> None:
        raise InvalidValue(message="It does not boot.")

    monkeypatch.setattr(registry.interface("boot", "fake"), "prepare_instance", fail)
    service.work()
    server = show(service, uuid)
    assert (server["status"], server["node"], server["details"]) == ("ERROR", node, "It does not boot.")
    assert server["fault"] == "The deployment of the server failed. An administrator can see why."
    assert server["actions"][0] == ("rebuild", [("Error", "It does not boot.")])
    assert held(service, uuid) == {node: {"CUSTOM_GOLD": 1}}
    monkeypatch.undo()
    rebuild(service, uuid, other())
    service.work()
    assert show(service, uuid)["status"] == "ACTIVE"


def test_a_server_that_is_being_built_or_has_no_machine_is_not_rebuilt(service: Service) -> None:
    service.add_node("n1")
    for uuid in (boot(service)["uuid"], boot(service)["uuid"]):
        with pytest.raises(ServerStateRefused):
            rebuild(service, uuid, other())
