"""Network interfaces: how the ports of a machine get onto virtual networks."""

from collections.abc import Mapping
from typing import Any, Protocol

from baremetal_sched.baremetal.drivers.machine import NOTHING, Effect, Machine


class NetworkInterface(Protocol):
    """Called in requests: it must not take long."""

    def validate(self, machine: Machine) -> None:
        """Raise a SchedulerError unless the ports can be connected."""

    def vif_list(self, machine: Machine) -> list[dict[str, str]]:
        """The virtual interfaces that are attached, each ``{"id": …}``."""
        raise machine.unsupported("vif_list")

    def vif_attach(self, machine: Machine, vif: Mapping[str, Any]) -> Effect:
        """Attach a virtual interface to a free port."""
        raise machine.unsupported("vif_attach")

    def vif_detach(self, machine: Machine, vif_id: str) -> Effect:
        """Detach a virtual interface."""
        raise machine.unsupported("vif_detach")


class NoopNetwork(NetworkInterface):
    """The network is none of our business: whatever is attached, nothing is noted."""

    def validate(self, machine: Machine) -> None:
        pass

    def vif_list(self, machine: Machine) -> list[dict[str, str]]:
        return []

    def vif_attach(self, machine: Machine, vif: Mapping[str, Any]) -> Effect:
        return NOTHING

    def vif_detach(self, machine: Machine, vif_id: str) -> Effect:
        return NOTHING


NETWORK_INTERFACES: dict[str, NetworkInterface] = {"noop": NoopNetwork()}
