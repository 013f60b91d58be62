"""Machines that clients fight for: nodes, some with providers below them that may be claimed by themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from tests.processes import Client
from tests.waiting import wait_until

CLASSES = ("gold", "silver")
#: The group of each conductor.
GROUPS = {"c1": "rack1", "c2": "rack2"}
SLOT = "CUSTOM_SLOT"
_MACHINES = 12


@dataclass
class Machine:
    """A place for a node, which may be replaced. ``slots`` is a provider below one that is not, or empty."""

    number: int
    uuid: str = ""
    slots: str = ""

    @property
    def parts(self) -> list[str]:
        """The providers of the machine."""
        return [self.uuid, *filter(None, [self.slots])]


@dataclass
class Fleet:
    """All machines. ``owners`` are the nodes, replaced ones too, by the providers that are theirs for good."""

    machines: Sequence[Machine] = field(default_factory=lambda: [Machine(number) for number in range(_MACHINES)])
    owners: dict[str, str] = field(default_factory=dict)

    def enrol(self, client: Client) -> None:
        """Make all machines, every third with slots, and wait until they can be given out."""
        assert client.placement("PUT", f"/resource_classes/{SLOT}").status_code in (201, 204)
        for machine in self.machines:
            assert self.replace(client, machine)
            if machine.number % 3 == 0:
                machine.slots = str(uuid4())
                self.owners[machine.slots] = machine.uuid
                assert add_child(client, machine.slots, machine.uuid)
        offered = "/allocation_candidates?limit=1000&resources=CUSTOM_GOLD:1"

        def all_offered() -> bool:
            return len(client.placement("GET", offered).json()["provider_summaries"]) >= len(self.machines)

        wait_until(all_offered, "all machines to be offered")

    def replace(self, client: Client, machine: Machine) -> bool:
        """Make a node in the place; return whether that is certain. It is offered when its conductor has switched it
        on."""
        uuid = str(uuid4())
        # Below 1.11 nodes are created available.
        created = client.baremetal("POST", "/nodes", {"uuid": uuid, "driver": "fake-hardware"}, "1.10")
        if created.status_code != 201:
            return False
        machine.uuid, self.owners[uuid] = uuid, uuid
        named = [{"op": "add", "path": "/resource_class", "value": CLASSES[0]}]
        return (
            client.baremetal("PATCH", f"/nodes/{uuid}", named).status_code == 200
            and client.baremetal("PUT", f"/nodes/{uuid}/states/power", {"target": "power on"}).status_code == 202
        )


def add_child(client: Client, uuid: str, parent: str) -> bool:
    """Make a provider with two slots below ``parent``; return whether that is certain."""
    body = {"uuid": uuid, "name": uuid, "parent_provider_uuid": parent}
    stocks = {"resource_provider_generation": 0, "inventories": {SLOT: {"total": 2}}}
    return (
        client.placement("POST", "/resource_providers", body).status_code == 200
        and client.placement("PUT", f"/resource_providers/{uuid}/inventories", stocks).status_code == 200
    )
