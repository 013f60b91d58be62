"""Network interfaces: how the ports of a machine get onto virtual networks."""

from collections.abc import Mapping
from typing import Any, Protocol

from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class NetworkInterface(Protocol):
    """Called while requests wait, with the node reserved unless it is only asked something."""

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

    def port_changed(self, machine: Machine, port: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Effect:
        """Follow a change of a port (a UUID), which is written if this succeeds; what it raises refuses the change.

        ``before`` and ``after`` are the fields that a PATCH may touch. The same change may come again. Never called of
        the interface "noop".
        """
        return NOTHING

    def portgroup_changed(
        self, machine: Machine, portgroup: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> Effect:
        """The same of a portgroup."""
        return NOTHING
