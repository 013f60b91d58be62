"""Networks that are managed elsewhere."""

from collections.abc import Mapping
from typing import Any

from baremetal_sched.drivers.interfaces.network import NetworkInterface
from baremetal_sched.machines.machine import NOTHING, Effect, Machine


class NoopNetwork(NetworkInterface):
    """The network is managed elsewhere: attached interfaces are ignored."""

    def validate(self, machine: Machine) -> None:
        pass

    def vif_list(self, machine: Machine) -> list[dict[str, str]]:
        return []

    def vif_attach(self, machine: Machine, vif: Mapping[str, Any]) -> Effect:
        return NOTHING

    def vif_detach(self, machine: Machine, vif_id: str) -> Effect:
        return NOTHING
