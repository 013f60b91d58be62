"""A fleet that several projects share, and its tenants."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from webtest import TestResponse

from tests.service import Service

MANAGERS = "admin,manager,member,reader"

#: Of each node: who owns it, and who leases it.
NODES = {
    "mine": ("ours", None),
    "leased": ("theirs", "ours"),
    "lent": ("ours", "theirs"),
    "foreign": ("theirs", None),
    "ownerless": (None, None),
}
#: What project "ours" sees, and what it does not.
SEEN = {"mine", "leased", "lent"}
SECRETS = set(NODES) - SEEN


class Fleet:
    """The service with the nodes, each with a port, a portgroup, a connector, a target, and a runbook."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.uuids: dict[str, str] = {}
        self.ports: dict[str, str] = {}
        self.portgroups: dict[str, str] = {}
        self.connectors: dict[str, str] = {}
        self.targets: dict[str, str] = {}
        for number, (name, (owner, lessee)) in enumerate(NODES.items()):
            uuid = self.uuids[name] = service.add_node(name, resource_class="gold", shard=f"shard-{name}")
            for field, value in (("owner", owner), ("lessee", lessee)):
                if value is not None:
                    service.patch(uuid, ("add", f"/{field}", value))
            address = f"52:54:00:00:00:0{number}"
            self.ports[name] = self.made("/ports", node_uuid=uuid, address=address, name=f"port-{name}")
            self.portgroups[name] = self.made("/portgroups", node_uuid=uuid, name=f"group-{name}")
            connector = {"type": "iqn", "connector_id": f"iqn.{name}"}
            self.connectors[name] = self.made("/volume/connectors", node_uuid=uuid, **connector)
            target = {"volume_type": "iscsi", "volume_id": name, "boot_index": 0, "properties": {"iqn": f"iqn.{name}"}}
            self.targets[name] = self.made("/volume/targets", node_uuid=uuid, **target)

    def made(self, path: str, **body: Any) -> str:
        uuid: str = self.service.baremetal("POST", path, body).json["uuid"]
        return uuid

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        project: str = "ours",
        roles: str = MANAGERS,
        status: int | None = None,
        **headers: str,
    ) -> TestResponse:
        """A request of someone of ``project``."""
        given = {"X-Auth-Token": f"user:{project}", "X-Roles": roles, "OpenStack-System-Scope": "", **headers}
        return self.service.baremetal(method, path, body, headers=given, status=status)

    def listed(self, path: str, key: str = "name", **asked: Any) -> set[str]:
        """What a list shows, by name."""
        (rows,) = (value for value in self.ask("GET", path, **asked).json.values() if isinstance(value, list))
        return {row[key] for row in rows}

    def patch(self, path: str, place: str, value: Any, **asked: Any) -> TestResponse:
        return self.ask("PATCH", path, [{"op": "add", "path": place, "value": value}], **asked)


@contextmanager
def shared(database_url: str, **options: dict[str, Any]) -> Iterator[Fleet]:
    """The fleet, with these options."""
    options.setdefault("api", {})["auth_strategy"] = "noauth2"
    with Service(database_url, **options) as service:
        service.add_conductor("host")
        yield Fleet(service)


@contextmanager
def customized(database_url: str, folder: Path, rule: str, check: str) -> Iterator[Fleet]:
    """The fleet, with another check for a rule; its policy file is written to ``folder``."""
    file = folder / "policy.yaml"
    file.write_text(f'"baremetal:{rule}": "{check}"\n')
    with shared(database_url, oslo_policy={"policy_file": str(file)}) as fleet:
        yield fleet
