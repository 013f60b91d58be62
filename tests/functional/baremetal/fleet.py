"""A fleet that several projects share, and its tenants."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from webtest import TestResponse

from tests.built_once import built_once
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
    """The service with the nodes, each with a port, a portgroup, a connector and a target: their UUIDs, by node."""

    def __init__(self, service: Service) -> None:
        self.service = service
        made = built_once(service, _build)
        self.uuids, self.ports, self.portgroups, self.connectors, self.targets = made

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
        """The resources in a list, by name."""
        (rows,) = (value for value in self.ask("GET", path, **asked).json.values() if isinstance(value, list))
        return {row[key] for row in rows}

    def patch(self, path: str, place: str, value: Any, **asked: Any) -> TestResponse:
        return self.ask("PATCH", path, [{"op": "add", "path": place, "value": value}], **asked)


def _build(service: Service) -> tuple[dict[str, str], ...]:
    def made(path: str, **body: Any) -> str:
        uuid: str = service.baremetal("POST", path, body).json["uuid"]
        return uuid

    uuids, ports, portgroups, connectors, targets = found = tuple(dict[str, str]() for _ in range(5))
    for number, (name, (owner, lessee)) in enumerate(NODES.items()):
        uuid = uuids[name] = service.add_node(name, resource_class="gold", shard=f"shard-{name}")
        for field, value in (("owner", owner), ("lessee", lessee)):
            if value is not None:
                service.patch(uuid, ("add", f"/{field}", value))
        address = f"52:54:00:00:00:0{number}"
        ports[name] = made("/ports", node_uuid=uuid, address=address, name=f"port-{name}")
        portgroups[name] = made("/portgroups", node_uuid=uuid, name=f"group-{name}")
        connector = {"type": "iqn", "connector_id": f"iqn.{name}"}
        connectors[name] = made("/volume/connectors", node_uuid=uuid, **connector)
        target = {"volume_type": "iscsi", "volume_id": name, "boot_index": 0, "properties": {"iqn": f"iqn.{name}"}}
        targets[name] = made("/volume/targets", node_uuid=uuid, **target)
    return found


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
