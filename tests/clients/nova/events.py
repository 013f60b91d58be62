"""Events of machines: each does something to one, and returns a function that undoes it, if it cannot stay."""

from collections.abc import Callable
from uuid import uuid4

from tests.clients.nova.rig import Machine, claim_of, let_reconciliation_run

PLACE = "/resource_providers"
Event = Callable[[Machine], Callable[[], None] | None]


def fields_changed(machine: Machine) -> None:
    """Fields of the node that Placement does not show: it is not as if its provider had changed."""
    before = machine.site.placement("GET", f"{PLACE}/{machine.uuid}")["generation"]
    machine.patch("extra/note", "x")
    machine.patch("driver_info/address", "192.0.2.1")
    machine.patch("properties/memory_mb", 4096)
    machine.patch("name", "machine")
    assert machine.site.placement("GET", f"{PLACE}/{machine.uuid}")["generation"] == before


def trait_added(machine: Machine) -> None:
    machine.site.baremetal("PUT", f"/nodes/{machine.uuid}/traits/CUSTOM_RAID", status=204)
    machine.traits.add("CUSTOM_RAID")


def trait_removed(machine: Machine) -> None:
    machine.site.baremetal("DELETE", f"/nodes/{machine.uuid}/traits/CUSTOM_NVME", status=204)
    machine.traits.remove("CUSTOM_NVME")


def traits_replaced(machine: Machine) -> None:
    machine.traits = {"HW_CPU_X86_VMX", "CUSTOM_GPU"}
    machine.site.baremetal("PUT", f"/nodes/{machine.uuid}/traits", {"traits": sorted(machine.traits)}, status=204)


def class_changed(machine: Machine) -> None:
    name = f"bm-{uuid4().hex[:8]}"
    machine.patch("resource_class", name)
    machine.resource_class = name


def class_kept(machine: Machine) -> None:
    """Of a machine that is allocated it cannot be changed."""
    machine.patch("resource_class", "other", status=409)


def noticed_late(machine: Machine) -> Callable[[], None]:
    """Its traits change when nova-compute is about to write others: it is told that it must read them first."""
    trait_added(machine)
    return _disabled(machine, hears=False)


def maintenance(machine: Machine) -> Callable[[], None]:
    machine.site.baremetal("PUT", f"/nodes/{machine.uuid}/maintenance", {"reason": "fan"}, status=202)
    machine.is_offered = False

    def over() -> None:
        machine.site.baremetal("DELETE", f"/nodes/{machine.uuid}/maintenance", status=202)
        machine.is_offered = True

    return over


def short_maintenance(machine: Machine) -> None:
    """Over before Nova has seen it."""
    maintenance(machine)()


def power(machine: Machine) -> Callable[[], None]:
    machine.power("power on")
    return lambda: machine.power("power off")


def power_off(machine: Machine) -> Callable[[], None]:
    machine.power("power off")
    return lambda: machine.power("power on")


def managed(machine: Machine) -> Callable[[], None]:
    machine.provision("manage", "manageable")
    machine.is_offered = False

    def provided() -> None:
        machine.provision("provide", "available")
        machine.is_offered = True

    return provided


def nova_restarted(machine: Machine) -> None:
    machine.site.nova.ask("start")


def nova_forgets(machine: Machine) -> None:
    machine.site.nova.ask("age")


def service_restarted(machine: Machine) -> None:
    machine.site.restart()


def reconciled(machine: Machine) -> None:
    let_reconciliation_run()


def compute_disabled(machine: Machine) -> Callable[[], None]:
    return _disabled(machine, hears=True)


def _disabled(machine: Machine, *, hears: bool) -> Callable[[], None]:
    machine.site.nova.ask("enable", enabled=False, hears=hears)
    machine.is_offered = False
    machine.update(may_conflict=not hears)

    def enabled() -> None:
        machine.site.nova.ask("enable", enabled=True)
        machine.is_offered = True

    return enabled


def aggregate(machine: Machine) -> None:
    machine.site.nova.ask("aggregate", node=machine.uuid, aggregate=str(uuid4()))


def traits_deleted(machine: Machine) -> None:
    """Another client deletes the traits of the provider: the node's stay, and Nova's come back when it looks again."""
    machine.site.client.placement("DELETE", f"{PLACE}/{machine.uuid}/traits")
    machine.site.nova.ask("age")


def claimed_by_other(machine: Machine) -> Callable[[], None]:
    """Another client than Nova claims it in Placement."""
    path = f"/allocations/{uuid4()}"
    machine.site.placement("PUT", path, claim_of(machine.uuid, machine.standard_class), 204)
    machine.is_offered = False

    def released() -> None:
        machine.site.placement("DELETE", path, status=204)
        machine.is_offered = True

    return released


def child(machine: Machine) -> Callable[[], None]:
    """Another client puts a provider below it."""
    uuid = str(uuid4())
    machine.site.placement("POST", PLACE, {"name": uuid, "uuid": uuid, "parent_provider_uuid": machine.uuid})
    machine.site.placement("PUT", "/resource_classes/CUSTOM_CARD", status=201)
    amounts = {"CUSTOM_CARD": {"total": 4}}
    body = {"resource_provider_generation": 0, "inventories": amounts}
    machine.site.placement("PUT", f"{PLACE}/{uuid}/inventories", body)
    machine.others = [uuid]

    def removed() -> None:
        machine.site.placement("DELETE", f"{PLACE}/{uuid}", status=204)
        machine.site.placement("DELETE", "/resource_classes/CUSTOM_CARD", status=204)
        machine.others = []

    return removed


def rebuilt(machine: Machine) -> None:
    assert machine.site.nova.ask("rebuild", server=machine.server) == "active"


def stopped(machine: Machine) -> Callable[[], None]:
    assert machine.site.nova.ask("stop", server=machine.server) == "stopped"

    def resumed() -> None:
        assert machine.site.nova.ask("resume", server=machine.server) == "active"

    return resumed
