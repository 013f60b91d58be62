"""The node and its ports as documents, which hooks and rules change; nothing is stored here."""

import uuid as uuid_module
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from baremetal_sched.baremetal.inspection.rules.limits import Budget, RuleFailed


@dataclass(frozen=True)
class ApiCall:
    """A GET that a rule asks for: made by the conductor when all rules have been applied, before the node changes."""

    url: str
    headers: Mapping[str, str] | None = None
    proxies: Mapping[str, str] | None = None
    timeout: float = 5
    retries: int = 3
    backoff_factor: float = 0.3


@dataclass
class Subject:
    """The subject of hooks and rules: a node's document (``read_only`` has the fields that rules see but do not set),
    its traits, its ports by UUID (``addresses``: UUIDs by MAC address), the results of the inspection, and the
    inventory of the inspection before, if there was one.

    ``blank_port`` is the document of a new port; ``budget`` limits the rules.
    """

    node: dict[str, Any]
    traits: list[str]
    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    inventory_before: Mapping[str, Any] | None = None
    ports: dict[str, dict[str, Any]] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    blank_port: Mapping[str, Any] = field(default_factory=dict)
    read_only: Mapping[str, Any] = field(default_factory=dict)
    calls: list[ApiCall] = field(default_factory=list)
    budget: Budget = field(default_factory=Budget)

    def port(self, port_id: Any) -> dict[str, Any]:
        """Return the document of a port by its UUID or MAC address. Raises RuleFailed."""
        key = str(port_id).lower()
        uuid = key if key in self.ports else self.addresses.get(key)
        if uuid is None:
            raise RuleFailed(message=f"Port {port_id} could not be found.")
        return self.ports[uuid]

    def add_port(self, address: str, **values: Any) -> None:
        """Add a port with this MAC address (in lower case), which the node does not have yet."""
        uuid = str(uuid_module.uuid4())
        self.ports[uuid] = {**deepcopy(dict(self.blank_port)), **values}
        self.addresses[address] = uuid

    def remove_port(self, address: str) -> None:
        """Remove the port with this MAC address."""
        del self.ports[self.addresses.pop(address)]
